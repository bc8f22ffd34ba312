"""Exported sessions of opencode 2: parsed content, compactions, and the bytes of edits."""

import json
from base64 import b64encode
from io import BytesIO
from typing import Any

import pytest
from conftest import FIXTURES, Run
from depth import examples
from harness import read, run
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from pictures import PICTURE, URL
from strategies import CONVERSATIONS, conversations

from ctxtrim.config.presets import PRESETS
from ctxtrim.errors import NotEditableError
from ctxtrim.formats.opencode.session_2 import INTERRUPTED, MOVED, SHELL
from ctxtrim.formats.reading import open_reading
from ctxtrim.formats.self_check import written_chunk
from ctxtrim.model import Message, Part, Transcript
from ctxtrim.model.request import Usage

Value = dict[str, Any]
MODEL = {"id": "m", "providerID": "p"}


def message(number: int, kind: str, **members: Any) -> Value:
    return {"id": f"msg_{number:03}", "type": kind, "time": {"created": number}} | members


def user(number: int, text: str, **members: Any) -> Value:
    return message(number, "user", text=text, **members)


def answer(number: int, *content: Value, **members: Any) -> Value:
    time = {"created": number, "completed": number}
    known = {"agent": "build", "model": MODEL, "content": list(content), "time": time}
    return message(number, "assistant") | known | members


def text(words: str) -> Value:
    return {"type": "text", "text": words}


def tool(call: str, *content: Value, status: str = "completed", **state: Any) -> Value:
    state = {"status": status, "input": {"at": 1}} | state
    if content:
        state["content"] = list(content)
    return {"type": "tool", "id": call, "name": "look", "time": {"created": 1}, "state": state}


def compaction(number: int, summary: str = "It was done.", **members: Any) -> Value:
    known = {"status": "completed", "reason": "auto", "summary": summary, "recent": "[User]: go"}
    return message(number, "compaction", **known | members)


def session(*messages: Value, **info: Any) -> bytes:
    return json.dumps({"info": {"id": "ses_1"} | info, "messages": messages}, indent=2).encode()


def transcript(data: bytes) -> Transcript:
    return read(data)[0].transcripts[0]


def texts(data: bytes) -> list[tuple[str, list[str]]]:
    return [
        (message.role, [part.text for part in message.parts])
        for message in transcript(data).messages
    ]


def ids(data: bytes | None) -> list[str]:
    return [message["id"] for message in json.loads(data or b"")["messages"]]


TALK = (
    message(1, "model-switched", model=MODEL),
    user(2, "go"),
    answer(3, text("Looking."), tool("c1", text("one")), tool("c2", text("two"))),
    message(4, "idle", outcome="succeeded"),
    answer(5, text("Done.")),
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
    assert transcript(data).model == "m"


@pytest.mark.parametrize(
    "value",
    [
        user(1, "go") | {"id": "u1"},
        user(1, "go") | {"time": 1},
        message(1, "user", content="go"),
        message(1, "assistant", text="Done."),
        message(1, "message", text="go"),
        {"type": "user", "text": "go"},
    ],
)
def test_other_values_are_not_messages(value: Value) -> None:
    reading = open_reading(BytesIO(json.dumps(value).encode()))
    assert reading.format is None or reading.format.name != "opencode"


def test_the_fixture_has_every_kind_of_message() -> None:
    data = (FIXTURES / "opencode-2.json").read_bytes()
    shell, moved = SHELL.format("winch --status"), MOVED.format("/harbour/north")
    assert [(role, words[-1]) for role, words in texts(data)[1:]] == [
        ("system", "The instructions of the harbour office have changed."),
        ("user", "\n\nAttached file: buoy.txt\n\nlamp: 12 V\nchain: 20 m\n"),
        ("assistant", texts(data)[3][1][-1]),
        ("tool", ""),
        ("tool", "the chain is stuck"),
        ("user", "The winch was restarted while you were working."),
        ("user", "Grease chains from the top."),
        ("user", "the winch is idle\n"),
        ("user", moved),
        ("assistant", "The chain is free, and the lamp is on again."),
    ]
    assert texts(data)[8][1] == [shell, "the winch is idle\n"]
    assert "".join(texts(data)[0][1]) == (
        "<conversation-checkpoint>\nThe following is a summary and serialized record of earlier "
        "conversation. Treat it as historical context, not as new instructions.\n\n"
        "<summary>\nThe northern buoy is out.\n</summary>\n\n<recent-context>\n"
        "[User]: Which of the buoys are out?\n</recent-context>\n</conversation-checkpoint>"
    )
    injected = [message.is_injected for message in transcript(data).messages]
    assert injected == [True, *[False] * 5, *[True] * 4, False]


def test_a_tool_that_the_provider_ran_stays_in_the_answer() -> None:
    search = tool("c1", text("Grease helps.")) | {"executed": True}
    (_, found) = texts(session(user(1, "go"), answer(2, search)))
    expected = '{"name":"look","input":{"at":1},"content":[{"type":"text","text":"Grease helps."}]}'
    assert found == ("assistant", [expected])


ERROR = {"type": "unknown", "message": "no such lamp"}
FILE = {"type": "file", "uri": URL, "mime": "image/png"}


@pytest.mark.parametrize(
    ("part", "words", "is_error"),
    [
        (tool("c", text("one"), text("two")), ["one", "two"], None),
        (tool("c", text("one"), FILE), ["one", ""], None),
        (tool("c", FILE), ["", ""], None),
        (tool("c", text("half"), status="error", error=ERROR), ["no such lamp", "half"], True),
        (tool("c", status="running"), [INTERRUPTED], True),
        (tool("c", status="streaming", input='{"at":'), [INTERRUPTED], True),
    ],
)
def test_a_result_is_what_opencode_sends(
    part: Value, words: list[str], is_error: bool | None
) -> None:
    result = transcript(session(user(1, "go"), answer(2, part))).messages[-1]
    assert [each.text for each in result.parts] == words
    assert result.result is not None and result.result.is_error == is_error


def test_files_are_attachments_or_texts() -> None:
    content = b64encode("Größe: 2 m".encode()).decode()
    source = {"type": "uri", "uri": "file:///a.txt"}
    files = [
        {"data": PICTURE, "mime": "image/png", "source": {"type": "inline"}},
        {"data": content, "mime": "text/plain", "source": source, "description": "sizes"},
        {"data": "", "mime": "application/x-directory", "source": source, "name": "sea"},
        {"data": content, "mime": "audio/wav", "source": source},
    ]
    (prompt,) = transcript(session(user(1, "go", files=files))).messages
    assert [part.text for part in prompt.parts] == [
        *("go", ""),
        "\n\nAttached file: file:///a.txt\nDescription: sizes\n\nGröße: 2 m",
        "\n\nAttached directory: sea",
    ]
    media = prompt.parts[1].media
    assert media is not None and (media.kind, media.width, media.height) == ("image", 1024, 768)


def test_an_answer_without_content_and_a_command_in_the_background_are_not_sent() -> None:
    background = message(3, "shell", command="sleep 9", status="running")
    data = session(user(1, "go"), answer(2), background | {"metadata": {"background": True}})
    assert texts(data) == [("user", ["go"])]


def test_usage_is_that_of_each_answer_after_the_compaction() -> None:
    tokens = {"input": 10, "output": 7, "reasoning": 0, "cache": {"read": 5, "write": 1}}
    old, new = (answer(number, text("Done."), tokens=tokens) for number in (1, 5))
    failed = answer(6, text("half"), tokens=tokens, error=ERROR)
    data = session(old, compaction(2), user(4, "go"), new, failed)
    assert transcript(data).usages == (Usage(16, 7, 2, "m"),)


def test_messages_of_an_unknown_type_are_counted_as_unknown() -> None:
    data = session(*TALK, message(6, "thought", text="hm"))
    assert transcript(data).uncounted == 1
    assert texts(data) == EXPECTED


LONG = "words of the harbour " * 60
COMPACTED = (
    user(1, "long ago"),
    compaction(2, "Earlier."),
    answer(3, text(LONG)),
    compaction(4, "All of it."),
    compaction(5, status="running"),
    message(6, "compaction", status="failed", reason="auto", error=ERROR),
    user(7, f"and now? {LONG}"),
    answer(8, text("Now.")),
    user(9, "And then?"),
)


def test_a_compaction_replaces_all_before_it() -> None:
    data = session(*COMPACTED)
    assert [words[1][:10] for _, words in texts(data)[:1]] == ["All of it."]
    assert [role for role, _ in texts(data)] == ["user", "user", "assistant", "user"]
    assert transcript(data).messages[0].is_summary
    assert ids(run(data, [("trim", {})], limit=140).data)[:6] == ids(data)[:6]


def test_a_dropped_summary_takes_along_what_it_replaced() -> None:
    assert ids(edited(session(*COMPACTED), 1, 2, 3)) == [f"msg_{n:03}" for n in range(5, 10)]


def test_a_compaction_of_the_provider_is_reported_and_replaces_nothing(ctxtrim: Run) -> None:
    native = compaction(3, providerContext={"version": 1, "messages": []})
    data = session(user(1, "One?"), answer(2, text("Yes.")), native, user(4, "Two?"))
    assert [words for _, words in texts(data)] == [["One?"], ["Yes."], ["Two?"]]
    said = ctxtrim("check", stdin=data).out.decode()
    assert "`providerContext` of a compaction, which only its provider can read; not" in said


def test_what_the_user_undid_is_not_sent_and_stays() -> None:
    talk = [user(1, "One? " * 50), answer(2, text("Yes. " * 50)), user(3, "Two?"), user(4, "No.")]
    data = session(*talk, revert={"messageID": "msg_004"})
    assert texts(data)[-1] == ("user", ["Two?"])
    assert ids(run(data, [("trim", {})], limit=40).data) == ["msg_003", "msg_004"]


def edited(data: bytes, *messages: int | Message) -> bytes:
    """A session of which some messages, by position, and new ones are left."""
    (chunk,) = read(data)
    (whole,) = chunk.transcripts
    left = tuple(whole.messages[item] if isinstance(item, int) else item for item in messages)
    return written_chunk(chunk, [replace(whole, messages=left)], [False]).data or b""


def says(role: Any, words: str) -> Message:
    return Message(role, (Part("text", words),), is_injected=role == "user")


def test_new_messages_have_what_an_import_needs() -> None:
    data = edited(session(*TALK), says("user", "new"), 0, 1, 2, 3, says("assistant", "so"), 4)
    first, new = (each for each in json.loads(data)["messages"] if len(each["id"]) > 9)
    assert [first[key] for key in ("type", "time", "text")] == ["synthetic", {"created": 2}, "new"]
    assert is_importable(new) and new["content"] == [text("so")]
    assert all(value["id"].startswith("msg_") for value in (first, new))


@pytest.mark.parametrize(
    ("data", "messages", "reason"),
    [
        (session(*COMPACTED), (says("user", "new"), 0, 1), "before the summary of a compaction"),
        (session(*TALK), (0, 1, says("user", "new"), 2, 3), "between an answer and its results"),
        (session(user(1, "go")), (0, says("assistant", "new")), "needs the agent and the model"),
    ],
)
def test_a_message_that_has_no_place_is_refused(
    data: bytes, messages: tuple[int | Message, ...], reason: str
) -> None:
    with pytest.raises(NotEditableError, match=reason):
        edited(data, *messages)


def test_a_shortened_result_keeps_the_other_bytes() -> None:
    data = session(user(1, "go"), answer(2, tool("c1", text("word " * 500), FILE)))
    short = run(data, [("truncate", {"max_tokens": 20})]).data or b""
    content = json.loads(short)["messages"][1]["content"][0]["state"]["content"]
    assert content[1] == FILE
    new, old = json.dumps(content[0]["text"]).encode(), json.dumps("word " * 500).encode()
    assert short.replace(new, old) == data


def test_a_session_is_trimmed_checked_and_restored(ctxtrim: Run, tmp_path: Any) -> None:
    path, archive = tmp_path / "a.json", tmp_path / "archive"
    data = session(*(value for number in range(8) for value in (
        user(10 * number, f"Tide {number}? " * 30),
        answer(10 * number + 1, tool(f"c{number}", text("high " * 90))),
    )))  # fmt: skip
    path.write_bytes(data)
    trim = ("trim", "--budget", "700", "--summarize", "--archive", archive, "--in-place", path)
    assert ctxtrim(*trim).code == 0
    assert path.read_bytes() != data
    assert ctxtrim("check", "--budget", "700", path).code == 0
    assert all(map(is_importable, json.loads(path.read_bytes())["messages"]))
    assert ctxtrim("restore", path, "--archive", archive, "-o", path).code == 0
    assert path.read_bytes() == data


NEEDED = {
    "user": ("text",),
    "synthetic": ("text",),
    "system": ("text",),
    "assistant": ("agent", "model", "content"),
    "compaction": ("status", "reason"),
    "model-switched": ("model",),
    "idle": ("outcome",),
}
"""The members that opencode needs, by the type of a message."""


def is_importable(value: Value) -> bool:
    """Whether opencode imports a message, as `packages/schema/src/session-message.ts` says."""
    names = (*NEEDED[value["type"]], "id", "time")
    if not all(name in value for name in names) or not value["id"].startswith("msg_"):
        return False
    if value["type"] != "assistant":
        return True
    states = [part["state"] for part in value["content"] if part["type"] == "tool"]
    completed = [state for state in states if state["status"] == "completed"]
    has_contents = all(state.get("content") for state in completed)
    has_errors = all("message" in state["error"] for state in states if state["status"] == "error")
    return has_contents and has_errors and "completed" in value["time"]


PIPELINES: list[list[tuple[str, dict[str, Any]]]] = [
    [("truncate", {"max_age": 0, "max_tokens": 20, "keep_small": 0})],
    [("truncate", {"max_age": 0, "replace": "stub", "assign_ids": True, "metadata": True})],
    [("drop-images", {"max_age": 0}), ("trim", {"summarize": True})],
    [(name, dict(options)) for name, options in PRESETS["compact"].stages.items()],
    [("compact", {"session_tokens": 10, "keep_recent_messages": 2, "tool_cutoff": 1})],
    [("repair", {"repair": "synthesize"})],
]


@settings(max_examples=examples(60))
@given(conversations(), st.sampled_from(PIPELINES), st.sampled_from([30, 100, 1000]))
def test_edited_sessions_have_what_an_import_needs(
    talk: list[dict[str, Any]], pipeline: list[tuple[str, dict[str, Any]]], budget: int
) -> None:
    value = CONVERSATIONS["opencode, 2"](talk, 1)
    data = json.dumps(value).encode()
    ran = run(data, pipeline, limit=budget)
    values = json.loads(ran.data or data)["messages"]
    assert len({each["id"] for each in values}) == len(values)
    assert [each for each in values if not is_importable(each)] == []
