"""Exported sessions of opencode: parsed content, compactions, and the bytes of edits."""

import json
from io import BytesIO
from typing import Any

import pytest
from conftest import FIXTURES, Run
from harness import read, run
from msgspec.structs import replace
from pictures import URL

from ctxtrim.formats.opencode.session import CLEARED, INTERRUPTED, SUBTASK
from ctxtrim.formats.reading import open_reading
from ctxtrim.formats.self_check import written_chunk
from ctxtrim.model import Message, Transcript
from ctxtrim.model import Part as MessagePart
from ctxtrim.model.request import Usage

Part = dict[str, Any]


def text(words: str, **more: Any) -> Part:
    return {"type": "text", "text": words} | more


def tool(call: str, status: str = "completed", **state: Any) -> Part:
    state = {"status": status, "input": {"at": 1}} | state
    return {"type": "tool", "callID": call, "tool": "look", "state": state}


def message(number: int, role: str, *parts: Part, **info: Any) -> dict[str, Any]:
    """A message of which all parts have ids."""
    name = f"msg_{number:03}"
    known = {"id": name, "sessionID": "ses_1", "role": role, "time": {"created": number}}
    ids = [
        {"id": f"prt_{number:03}{place}", "messageID": name, "sessionID": "ses_1"}
        for place in range(len(parts))
    ]
    return {
        "info": known | info,
        "parts": [own | part for own, part in zip(ids, parts, strict=True)],
    }


def user(number: int, *parts: Part, **info: Any) -> dict[str, Any]:
    return message(number, "user", *parts, **info)


def answer(number: int, *parts: Part, **info: Any) -> dict[str, Any]:
    return message(number, "assistant", *parts, **({"modelID": "m", "finish": "stop"} | info))


def marker(number: int, tail: str | None = None) -> dict[str, Any]:
    start = {"tail_start_id": tail} if tail else {}
    return user(number, {"type": "compaction", "auto": True} | start)


def summary(number: int, words: str) -> dict[str, Any]:
    return answer(number, text(words), summary=True, parentID=f"msg_{number - 1:03}")


def session(*messages: dict[str, Any]) -> bytes:
    return json.dumps({"info": {"id": "ses_1"}, "messages": messages}, indent=2).encode()


def transcript(data: bytes) -> Transcript:
    return read(data)[0].transcripts[0]


def texts(data: bytes) -> list[tuple[str, list[str]]]:
    return [
        (message.role, [part.text for part in message.parts])
        for message in transcript(data).messages
    ]


def ids(data: bytes | None) -> list[str]:
    return [message["info"]["id"] for message in json.loads(data or b"")["messages"]]


STEP, DONE = {"type": "step-start"}, {"type": "step-finish", "reason": "stop"}
TALK = (
    user(1, text("go")),
    answer(2, STEP, text("Looking."), tool("c1", output="one"), tool("c2", output="two"), DONE),
    answer(3, STEP, text("Done."), DONE),
)
EXPECTED = [
    ("user", ["go"]),
    ("assistant", ["Looking.", '{"at":1}', '{"at":1}']),
    ("tool", ["one"]),
    ("tool", ["two"]),
    ("assistant", ["Done."]),
]


@pytest.mark.parametrize(
    ("data", "layout"),
    [
        (session(*TALK), "conversation"),
        (json.dumps(TALK).encode(), "conversation"),
        (b"".join(json.dumps(value).encode() + b"\n" for value in TALK), "events"),
    ],
)
def test_every_layout_gives_the_same_messages(data: bytes, layout: str) -> None:
    reading = open_reading(BytesIO(data))
    assert (reading.format and reading.format.name, reading.layout) == ("opencode", layout)
    assert texts(data) == EXPECTED
    assert (transcript(data).id, transcript(data).model) == ("ses_1", "m")


@pytest.mark.parametrize(
    "value",
    [
        {"id": "msg_1", "sessionID": "ses_1", "role": "user", "time": {"created": 1}},
        {"id": "prt_1", "messageID": "msg_1", "type": "text", "text": "a part of a storage folder"},
        {"info": {"role": "user"}, "parts": []},
        {"info": {"id": "msg_1", "role": "user"}},
    ],
)
def test_other_values_are_not_messages(value: dict[str, Any]) -> None:
    assert open_reading(BytesIO(json.dumps(value).encode())).format is None


def test_steps_that_share_a_message_are_messages() -> None:
    parts = (STEP, text("First."), tool("c1", output="one"), DONE, STEP, text("Second."), DONE)
    assert texts(session(user(1, text("go")), answer(2, *parts))) == [
        ("user", ["go"]),
        ("assistant", ["First.", '{"at":1}']),
        ("tool", ["one"]),
        ("assistant", ["Second."]),
    ]


@pytest.mark.parametrize(
    ("part", "words", "is_error"),
    [
        (tool("c", output="one"), "one", None),
        (tool("c", output="one", time={"compacted": 9}), CLEARED, None),
        (tool("c", "error", error="no such lamp"), "no such lamp", True),
        (tool("c", "error", metadata={"interrupted": True, "output": "on"}), "on", None),
        (tool("c", "running"), INTERRUPTED, True),
        (tool("c", "pending"), INTERRUPTED, True),
    ],
)
def test_a_result_is_what_opencode_sends(part: Part, words: str, is_error: bool | None) -> None:
    (*_, result) = transcript(session(user(1, text("go")), answer(2, part))).messages
    assert (result.parts[0].text, result.parts[0].is_error) == (words, is_error)


def test_a_cleared_result_stays_in_the_file_when_others_are_edited() -> None:
    long, old = "word " * 500, "kept " * 500
    parts = (tool("c1", output=old, time={"compacted": 9}), tool("c2", output=long))
    data = session(user(1, text("go")), answer(2, *parts))
    short = run(data, [("truncate", {"max_tokens": 20, "max_age": 9})]).data or b""
    states = [part["state"] for part in json.loads(short)["messages"][1]["parts"]]
    assert states[0]["output"] == old
    assert len(states[1]["output"]) < len(long)
    assert short.replace(json.dumps(states[1]["output"]).encode(), b"") == data.replace(
        json.dumps(long).encode(), b""
    )


def test_unsent_parts_and_failed_answers_are_not_read() -> None:
    prompt = user(
        1,
        text("go"),
        text("for the screen", ignored=True),
        {"type": "file", "mime": "text/plain", "url": "file:///a"},
        {"type": "file", "mime": "image/png", "url": URL},
        {"type": "agent", "name": "x"},
    )
    failed = answer(2, STEP, text("half"), error={"name": "APIError"})
    aborted = answer(3, STEP, text("stopped"), error={"name": "MessageAbortedError"})
    data = session(prompt, failed, aborted)
    assert texts(data) == [("user", ["go", ""]), ("assistant", ["stopped"])]
    media = transcript(data).messages[0].parts[1].media
    assert media is not None and (media.kind, media.width, media.height) == ("image", 1024, 768)


def test_a_notice_in_an_answer_is_not_sent_and_is_removed_with_its_step() -> None:
    """Kilo Code writes its warnings into answers."""
    notice = text("The network is lost.", ignored=True)
    data = session(
        user(1, text("go")),
        answer(2, STEP, notice, text("Ready."), STEP, notice, tool("c1", output="out")),
        answer(3, notice),
    )
    assert texts(data) == [
        ("user", ["go"]),
        ("assistant", ["Ready."]),
        ("assistant", ['{"at":1}']),
        ("tool", ["out"]),
    ]
    parts = [span.path[3] for span in transcript(data).messages[1].spans]
    assert parts == [0, 1, 2]


def test_texts_of_the_client_are_not_the_task() -> None:
    data = session(
        user(1, text("go")),
        user(2, text("Called the Read tool", synthetic=True)),
        user(3, {"type": "subtask", "prompt": "p", "description": "d", "agent": "a"}),
    )
    assert [message.is_injected for message in transcript(data).messages] == [False, True, True]
    assert texts(data)[2] == ("user", [SUBTASK])


def tokens(prompt: int) -> dict[str, Any]:
    return {"input": prompt, "output": 7, "reasoning": 0, "cache": {"read": 5, "write": 1}}


def test_usage_is_that_of_each_step_after_the_last_pruning() -> None:
    two = (text("One."), DONE | {"tokens": tokens(10)}, STEP, text("Two."), DONE)
    data = session(user(1, text("go")), answer(2, *two, tokens=tokens(20)))
    assert transcript(data).usages == (Usage(16, 7, 1, "m"), Usage(26, 7, 2, "m"))
    pruned = tool("c1", output="one", time={"compacted": 5})
    old = answer(3, pruned, tokens=tokens(10))
    data = session(user(1, text("go")), old, answer(6, text("Done."), tokens=tokens(20)))
    assert transcript(data).usages == (Usage(26, 7, 3, "m"),)


LONG = "words of the harbour " * 60
COMPACTED = (
    user(1, text("long ago")),
    answer(2, text("indeed")),
    user(3, text(f"kept {LONG}")),
    answer(4, text("kept as well")),
    marker(5, "msg_003"),
    summary(6, "What was done."),
    user(7, text("and now?")),
)


def test_a_compaction_replaces_what_it_does_not_keep() -> None:
    plain = [*COMPACTED[:4], marker(5), *COMPACTED[5:]]
    assert texts(session(*plain)) == [("user", ["What was done."]), ("user", ["and now?"])]
    assert [words[:12] for _, (words, *_) in texts(session(*COMPACTED))] == [
        "What was don",
        "kept words o",
        "kept as well",
        "and now?",
    ]
    assert transcript(session(*COMPACTED)).messages[0].is_summary
    unfinished = answer(6, text("Wha"), summary=True, parentID="msg_005", finish=None)
    assert len(texts(session(*COMPACTED[:5], unfinished, COMPACTED[6]))) == 6
    old = [answer(2, text("All of it."), summary=True), user(3, text("and now?"))]
    del old[0]["info"]["finish"]
    assert texts(session(COMPACTED[0], *old)) == [
        ("user", ["All of it."]),
        ("user", ["and now?"]),
    ]


@pytest.mark.parametrize("mode", ["compaction", "build"])
def test_an_interrupted_compaction_replaces_nothing(mode: str) -> None:
    unfinished = summary(9, "Wha")
    del unfinished["info"]["finish"]
    unfinished["info"]["mode"] = mode
    assert len(texts(session(*TALK, marker(8), unfinished))) == len(EXPECTED) + 1
    complete = texts(session(*COMPACTED))
    assert texts(session(*COMPACTED, marker(8), unfinished))[:-1] == complete


def test_what_the_user_undid_is_not_sent_and_stays() -> None:
    talk = [
        user(1, text("One? " * 50)),
        answer(2, text("Yes. " * 50), parentID="msg_001"),
        user(3, text("Two?")),
        answer(4, text("Look."), tool("c", output="sea"), parentID="msg_003"),
        user(5, text("Three?")),
        answer(6, text("No."), parentID="msg_005"),
    ]
    value = json.loads(session(*talk))
    for revert, last in (
        ({"messageID": "msg_005"}, ("tool", ["sea"])),
        ({"messageID": "msg_004", "partID": "prt_0041"}, ("assistant", ["Look."])),
        ({"messageID": "msg_004"}, ("user", ["Two?"])),
        ({"messageID": "msg_900"}, ("assistant", ["No."])),
    ):
        value["info"]["revert"] = revert
        assert texts(json.dumps(value).encode())[-1] == last
    value["info"]["revert"] = {"messageID": "msg_005"}
    out = run(json.dumps(value).encode(), [("trim", {})], limit=40).data
    assert json.loads(out or b"") == value | {"messages": talk[2:]}


def edited(data: bytes, *messages: int | str) -> list[dict[str, Any]]:
    """The messages of a session of which some messages, by position, and new texts are left."""
    (chunk,) = read(data)
    (whole,) = chunk.transcripts
    left = tuple(
        whole.messages[item]
        if isinstance(item, int)
        else Message("user", (MessagePart("text", item),), is_injected=True)
        for item in messages
    )
    written = written_chunk(chunk, [replace(whole, messages=left)], [False]).data
    values: list[dict[str, Any]] = json.loads(written or b"")["messages"]
    return values


def test_a_compaction_keeps_the_next_message_when_its_first_one_is_dropped() -> None:
    values = edited(session(*COMPACTED), 0, 2, 3)
    assert [value["info"]["id"][4:] for value in values] == [
        "001",
        "002",
        "004",
        "005",
        "006",
        "007",
    ]
    assert values[3]["parts"][0]["tail_start_id"] == "msg_004"
    assert "tail_start_id" not in edited(session(*COMPACTED), 0, 3)[2]["parts"][0]


def test_a_compaction_keeps_a_new_message_before_those_that_it_keeps() -> None:
    values = edited(session(*COMPACTED), 0, "new", 1, 2, 3)
    assert values[2]["parts"][0]["text"] == "new"
    assert values[5]["parts"][0]["tail_start_id"] == values[2]["info"]["id"]


def test_a_dropped_summary_takes_along_what_it_replaced() -> None:
    assert [value["info"]["id"] for value in edited(session(*COMPACTED), 1, 3)] == [
        "msg_003",
        "msg_007",
    ]


def test_an_earlier_compaction_stays_a_text_when_the_last_one_is_dropped() -> None:
    twice = (
        user(1, text("kept")),
        marker(2),
        summary(3, "Earlier."),
        marker(4, "msg_001"),
        summary(5, "Later."),
        user(6, text("and now?")),
    )
    words = [("user", ["kept"]), ("assistant", ["Earlier."]), ("user", ["and now?"])]
    assert texts(session(*twice)) == [("user", ["Later."]), *words]
    assert texts(session(*edited(session(*twice), 1, 2, 3))) == words


def test_answers_get_the_nearest_kept_prompt() -> None:
    talk = (user(1, text("a")), user(2, text("b")), answer(3, text("c"), parentID="msg_002"))
    values = edited(session(*talk), 0, 2)
    assert [value["info"]["id"] for value in values] == ["msg_001", "msg_003"]
    assert values[1]["info"]["parentID"] == "msg_001"


def test_an_answer_is_split_around_a_new_message() -> None:
    parts = [
        part
        for number in range(4)
        for part in (STEP, text(f"Step {number}."), tool(f"c{number}", output=LONG), DONE)
    ]
    data = session(user(1, text("go")), answer(2, *parts), user(3, text("and now?")))
    pinned = {"tool_cutoff": 1, "pin": ("Step 0",)}
    cut = run(data, [("cutoff", pinned)]).data
    values = json.loads(cut or b"")["messages"]
    roles = [value["info"]["role"] for value in values]
    assert roles == ["user", "assistant", "user", "assistant", "user"]
    names = ids(cut)
    assert names == sorted(names) and len(set(names)) == 5
    for value in values:
        assert {part["messageID"] for part in value["parts"]} == {value["info"]["id"]}


def test_a_new_message_has_the_ids_that_opencode_expects() -> None:
    values = edited(session(*TALK), "first", 0, "second", 4)
    names = [value["info"]["id"] for value in values]
    assert names == sorted(names) and all(name.startswith("msg_") for name in names)
    for value, words in ((values[0], "first"), (values[2], "second")):
        (part,) = value["parts"]
        assert value["info"]["role"] == "user" and value["info"]["sessionID"] == "ses_1"
        assert part["id"].startswith("prt_") and part["messageID"] == value["info"]["id"]
        assert (part["type"], part["text"], part["synthetic"]) == ("text", words, True)
    times = [value["info"]["time"]["created"] for value in values]
    assert times == sorted(times)


def test_images_are_replaced_by_texts_with_their_ids() -> None:
    shown = tool("c1", output="a lamp", attachments=[{"mime": "image/png", "url": URL}])
    prompt = user(1, text("go"), {"type": "file", "mime": "image/png", "url": URL})
    data = session(prompt, answer(2, shown), answer(3, tool("c2", output="Lit.")))
    done = json.loads(run(data, [("drop-images", {"max_age": 0})]).data or b"")["messages"]
    new = done[0]["parts"][1]
    assert (new["type"], new["id"], new["messageID"]) == ("text", "prt_0011", "msg_001")
    assert done[1]["parts"][0]["state"]["attachments"] == []
    assert done[1]["parts"][0]["state"]["output"].startswith("a lamp\n")


def test_a_trimmed_session_can_be_restored(ctxtrim: Run, tmp_path: Any) -> None:
    path, kept = tmp_path / "session.json", tmp_path / "kept"
    data = (FIXTURES / "opencode.json").read_bytes()
    path.write_bytes(data)
    words = ("--archive", kept, "--budget", "200", "--in-place", path)
    assert ctxtrim("run", "-s", "truncate", "-s", "trim", *words).code == 0
    assert len(path.read_bytes()) < len(data)
    assert ctxtrim("restore", path, "--archive", kept).out == data
