"""Gemini CLI sessions: parsed content, replay of a log, and the bytes of edits."""

import json
from io import BytesIO
from typing import Any

import pytest
from harness import read, run
from test_gemini_contents import ANSWER, SUMMARY, inserted
from writers.gemini_cli import calls_in_content

from ctxtrim.formats.reading import open_reading
from ctxtrim.model import Media, Message, Part, Transcript
from ctxtrim.model.request import Usage

Entry = dict[str, Any]


def user(name: str, content: Any, **more: Any) -> Entry:
    return {"id": name, "timestamp": "2026-01-01", "type": "user", "content": content} | more


def gemini(name: str, content: Any = "", **more: Any) -> Entry:
    return user(name, content) | {"type": "gemini", "model": "gemini-3-pro"} | more


def response(call: str, text: Any, **more: Any) -> Entry:
    response = text if isinstance(text, dict) else {"output": text}
    return {"functionResponse": {"id": call, "name": "look", "response": response}} | more


def call(name: str, *result: Any, **more: Any) -> Entry:
    fields = {
        "id": name,
        "name": "look",
        "args": {"at": 1},
        "status": "success",
        "resultDisplay": "for the screen",
    }
    return fields | ({"result": list(result)} if result else {}) | more


def session(*entries: Entry) -> bytes:
    return json.dumps(
        {"sessionId": "s", "projectHash": "p", "messages": entries}, indent=2
    ).encode()


def log(*entries: Entry) -> bytes:
    lines = [{"sessionId": "s", "projectHash": "p", "messages": []}, *entries]
    return b"".join(json.dumps(entry).encode() + b"\n" for entry in lines)


def transcript(data: bytes) -> Transcript:
    return read(data)[0].transcripts[0]


def role_texts(data: bytes) -> list[tuple[str, list[str]]]:
    return [
        (message.role, [part.text for part in message.parts])
        for message in transcript(data).messages
    ]


STEP = gemini(
    "b",
    "Looking.",
    toolCalls=[call("c1", response("c1", "one")), call("c2", response("c2", "two"))],
)
TALK = (user("a", "go"), STEP, gemini("c", "Done."))
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
        (log(*TALK), "events"),
        (json.dumps(TALK).encode(), "conversation"),
        (json.dumps([{"sessionId": "s", "messages": TALK}]).encode(), "conversation"),
    ],
)
def test_every_layout_gives_the_same_messages(data: bytes, layout: str) -> None:
    reading = open_reading(BytesIO(data))
    assert (reading.format and reading.format.name, reading.layout) == ("gemini-cli", layout)
    assert role_texts(data) == EXPECTED


def test_a_bare_message_is_a_session_with_a_single_message() -> None:
    assert role_texts(json.dumps(TALK[0]).encode()) == [("user", ["go"])]


@pytest.mark.parametrize(
    "value",
    [
        {"type": "user", "content": "no id"},
        {"id": "a", "type": "assistant", "content": "x"},
        {"id": "a", "type": "user", "message": {"content": "x"}, "content": "x"},
        {"id": 1, "type": "user", "content": "x"},
        {"sessionId": "s", "messages": [{"role": "user", "parts": [{"text": "x"}]}]},
    ],
)
def test_other_formats_are_not_detected_as_this_format(value: Any) -> None:
    detected = open_reading(BytesIO(json.dumps(value).encode())).format
    assert detected is None or detected.name != "gemini-cli"


@pytest.mark.parametrize(
    ("entry", "texts"),
    [
        (user("a", [{"text": "one"}, "two"]), ["one", "two"]),
        (user("a", {"text": "one"}), ["one"]),
        (user("a", "one", displayContent="something else"), ["one"]),
        (gemini("a", [{"text": "one"}, {"text": "why", "thought": True}]), ["one", "why"]),
        (
            gemini("a", "one", thoughts=[{"subject": "Plan", "description": "do it"}]),
            ["**Plan** do it", "one"],
        ),
        (gemini("a", "one", thoughts=[{"description": "do it"}]), ["do it", "one"]),
        ({"id": "a", "type": "model", "parts": [{"text": "one"}]}, ["one"]),
    ],
)
def test_every_shape_of_content_is_read(entry: Entry, texts: list[str]) -> None:
    assert [text for _, texts in role_texts(session(entry)) for text in texts] == texts


@pytest.mark.parametrize(
    ("result", "texts"),
    [
        ("as a string", ["as a string"]),
        (response("c1", "one"), ["one"]),
        ([response("c1", "one"), {"text": "more"}], ["one", "more"]),
        (["one"], ["one"]),
        ([{"inlineData": {"mimeType": "image/png", "data": "AAAA"}}], ["", ""]),
        ([response("c1", "one"), response("c2", "of another call")], ["one"]),
        ([response("c1", {"output": "one", "exit": 1})], ["one", '{"output":"","exit":1}']),
    ],
)
def test_every_shape_of_result_is_read(result: Any, texts: list[str]) -> None:
    entry = gemini("b", toolCalls=[call("c1") | {"result": result}])
    assert role_texts(session(user("a", "go"), entry))[2] == ("tool", texts)


@pytest.mark.parametrize("result", [None, [], 7])
def test_a_call_can_lack_a_result(result: Any) -> None:
    entry = gemini("b", toolCalls=[call("c1") | {"result": result}])
    assert [role for role, _ in role_texts(session(user("a", "go"), entry))] == [
        "user",
        "assistant",
    ]


def test_a_failed_or_cancelled_call_is_an_error() -> None:
    calls = [
        call("c1", response("c1", "x"), status="error"),
        call("c2", response("c2", "x"), status="cancelled"),
        call("c3", response("c3", {"error": "x"})),
        call("c4", response("c4", "x")),
    ]
    parsed = transcript(session(user("a", "go"), gemini("b", toolCalls=calls)))
    assert [message.parts[0].is_error for message in parsed.messages[2:]] == [
        True,
        True,
        True,
        None,
    ]


def test_a_failed_call_is_an_error_whose_result_is_in_a_user_message() -> None:
    calls = [
        call("c1", response("c1", "x"), status="error"),
        call("c2", response("c2", "x"), status="cancelled"),
        call("c3", response("c3", "x")),
    ]
    sent = user("c", [response(name, "x") for name in ("c1", "c2", "c3")])
    data = session(user("a", "go"), gemini("b", toolCalls=calls), sent, gemini("d", "Hm."))
    results = [message.result for message in transcript(data).messages if message.result]
    assert [part.is_error for part in results] == [True, True, None]
    long = user("c", [response(name, "x " * 500) for name in ("c1", "c2", "c3")])
    data = session(user("a", "go"), gemini("b", toolCalls=calls), long, gemini("d", "Hm."))
    out = run(data, [("truncate", {"max_tokens": 50})]).data or b""
    assert len(out) < len(data)


def test_display_data_is_not_context_and_is_kept() -> None:
    notes = [user(kind, "note " * 99) | {"type": kind} for kind in ("info", "warning", "error")]
    data = session(user("a", "old " * 99), notes[0], gemini("b", "x"), *notes[1:], user("c", "now"))
    left = json.loads(run(data, [("trim", {})], limit=20).data or b"")["messages"]
    assert left == [*notes, user("c", "now")]
    assert run(data).rows[0].findings == ()


def test_commands_and_client_messages_are_not_tasks() -> None:
    entries = [
        user("a", "real"),
        *(user("b", text) for text in ("/stats model", "?", "<session_context>\nx")),
    ]
    parsed = transcript(session(*entries, user("c", "/home/me is full")))
    assert [message.is_injected for message in parsed.messages] == [False, True, True, True, False]


def test_a_call_repeated_in_the_content_is_a_single_call() -> None:
    for entry in (
        calls_in_content(STEP),
        calls_in_content(STEP | {"toolCalls": STEP["toolCalls"]}),
    ):
        assert role_texts(session(TALK[0], entry, TALK[2])) == EXPECTED
    nameless = json.loads(json.dumps(calls_in_content(STEP)))
    for part in nameless["content"][1:]:
        del part["functionCall"]["id"]
    assert role_texts(session(TALK[0], nameless, TALK[2])) == EXPECTED
    assert run(session(TALK[0], nameless, TALK[2]), [("check", {})]).rows[0].findings == ()


def test_results_repeated_in_a_user_message_are_counted_once() -> None:
    again = user("r", [response("c1", "one!"), response("c2", "two!")])
    twice = user("t", [response("c1", "one?")])
    data = session(TALK[0], STEP, again, twice, TALK[2])
    assert role_texts(data)[2:4] == [("tool", ["one!"]), ("tool", ["two!"])]
    assert len(transcript(data).messages) == 5
    left = run(
        session(user("x", "old"), user("y", "old"), STEP, again, twice, user("c", "now")),
        [("trim", {})],
        limit=20,
    )
    assert [entry["id"] for entry in json.loads(left.data or b"")["messages"]] == ["x", "c"]


def test_usage_and_model_come_from_messages_and_the_id_from_the_first_line() -> None:
    tokens = {"input": 90, "output": 5, "cached": 80, "thoughts": 3, "tool": 0, "total": 98}
    for data in (
        session(TALK[0], gemini("b", "x", tokens=tokens)),
        log(TALK[0], gemini("b", "x", tokens=tokens)),
    ):
        parsed = transcript(data)
        assert (parsed.id, parsed.model, parsed.usages) == (
            "s",
            "gemini-3-pro",
            (Usage(90, 8, 1, "gemini-3-pro"),),
        )


def test_a_log_is_replayed() -> None:
    early = STEP | {"toolCalls": [call("c1"), call("c2")]}
    data = log(
        user("0", "never mind"),
        {"$set": {"messages": [user("a", "go")]}},
        early,
        {"$set": {"lastUpdated": "now"}},
        user("m", "a mistake"),
        gemini("n", "indeed"),
        {"$rewindTo": "m"},
        STEP,
        TALK[2],
    )
    assert role_texts(data) == EXPECTED
    assert transcript(data).id == "s"
    assert role_texts(log(user("a", "go"), {"$rewindTo": "unknown"}, user("b", "again"))) == [
        ("user", ["again"])
    ]


def test_an_empty_list_replaces_no_messages() -> None:
    data = log(user("a", "go"), gemini("b", "Gone."), {"$set": {"messages": []}})
    assert role_texts(data) == [("user", ["go"]), ("assistant", ["Gone."])]


def test_dropping_a_message_of_a_log_drops_all_its_records() -> None:
    early = gemini("b", "half " * 99)
    data = log(
        user("x", "go"), user("y", "old"), early, gemini("b", "whole " * 99), user("c", "now")
    )
    lines = (run(data, [("trim", {})], limit=20).data or b"").splitlines()
    assert [json.loads(line).get("id") for line in lines] == [None, "x", "c"]


def test_only_the_response_is_edited() -> None:
    data = session(
        TALK[0], gemini("b", toolCalls=[call("c1", response("c1", "long " * 500))]), TALK[2]
    )
    ran = run(data, [("truncate", {"max_tokens": 50, "metadata": True})])
    before, after = json.loads(data)["messages"][1], json.loads(ran.data or b"")["messages"][1]
    shortened = after["toolCalls"][0]["result"][0]
    assert (
        shortened["_originalLength"],
        shortened["functionResponse"]["response"]["output"][:5],
    ) == (
        2500,
        "long ",
    )
    shortened["functionResponse"]["response"] = {"output": "long " * 500}
    assert after["toolCalls"][0].pop("result") == [shortened]
    assert before["toolCalls"][0].pop("result") == [response("c1", "long " * 500)]
    assert before == after


@pytest.mark.parametrize("result", ["long " * 500, ["long " * 500], response("c1", "long " * 500)])
def test_a_result_in_any_shape_is_shortened_and_gets_metadata(result: Any) -> None:
    data = session(TALK[0], gemini("b", toolCalls=[call("c1") | {"result": result}]), TALK[2])
    ran = run(data, [("truncate", {"max_tokens": 50, "metadata": True})])
    assert ran.findings == ()
    assert transcript(ran.data or b"").messages[2].metadata == (
        ("_originalLength", 2500),
        ("_truncatedAt", 0),
    )


def test_an_inserted_answer_is_a_user_message_after_the_call() -> None:
    data = session(
        user("a", "go"), gemini("b", toolCalls=[call("c1"), call("c2")]), user("c", "so?")
    )
    message = Message("tool", (Part("tool_result", "none", "c1", "look"),))
    two = Message("tool", (Part("tool_result", "none", "c2", "look"),))
    out = inserted(data, 0, 1, message, two, 2)["messages"]
    assert [entry["id"] for entry in out if len(entry["id"]) == 1] == ["a", "b", "c"]
    assert (out[2]["type"], out[2]["content"]) == (
        "user",
        [response("c1", "none"), response("c2", "none")],
    )
    assert out[2]["timestamp"] == "2026-01-01"


def test_an_unanswered_call_is_removed_from_every_copy() -> None:
    half = STEP | {"toolCalls": [STEP["toolCalls"][0], call("c9")]}
    for entry in (half, calls_in_content(half)):
        ran = run(session(TALK[0], entry, TALK[2], user("d", "so?")), [("repair", {})])
        left = json.loads(ran.data or b"")["messages"][1]
        assert [event["id"] for event in left["toolCalls"]] == ["c1"]
        assert "c9" not in json.dumps(left)


def test_an_answer_without_an_id_is_inserted() -> None:
    nameless = call("c1")
    del nameless["id"]
    data = session(
        user("a", "go"), gemini("b", toolCalls=[nameless | {"name": "b"}]), user("c", "so?")
    )
    assert (
        "id" not in inserted(data, 0, 1, ANSWER, 2)["messages"][2]["content"][0]["functionResponse"]
    )


def test_a_summary_is_a_user_message() -> None:
    new, old = inserted(session(*TALK), SUMMARY, 4)["messages"]
    assert (new["type"], new["content"], old) == ("user", [{"text": "so far"}], TALK[2])


def test_an_image_in_a_result_has_its_size() -> None:
    pixel = {"inlineData": {"mimeType": "image/png", "data": "AAAA"}}
    entry = gemini("b", toolCalls=[call("c1", response("c1", "one"), pixel)])
    assert transcript(session(user("a", "go"), entry)).messages[2].parts[1].media == Media(
        "image", size=3
    )
