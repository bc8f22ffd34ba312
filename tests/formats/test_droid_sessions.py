"""Droid's sessions: messages for the person only, notes of the program, and compactions."""

import json
from typing import Any

import pytest
from conftest import Run
from harness import read
from insertions import SUMMARY, written
from msgspec.structs import replace

from ctxtrim.conversation.tasks import current_task
from ctxtrim.errors import NotEditableError
from ctxtrim.formats import FORMATS
from ctxtrim.model import Message, Part, Transcript

Value = dict[str, Any]
START = {"type": "session_start", "id": "s", "cwd": "/quay", "version": 2}


def row(name: str, parent: str | None, role: str, *blocks: Value | str, **more: Any) -> Value:
    content = [{"type": "text", "text": each} if isinstance(each, str) else each for each in blocks]
    link = {"parentId": parent} if parent else {}
    message = {"role": role, "content": content} | more
    return {"type": "message", "id": name, "timestamp": "T", "message": message} | link


def call(name: str) -> Value:
    return {"type": "tool_use", "id": name, "name": "LS", "input": {}}


def result(name: str) -> Value:
    return {"type": "tool_result", "tool_use_id": name, "content": "two ropes"}


def compaction(summary: str, anchor: str | None, **more: Any) -> Value:
    body = {"type": "compaction_state", "id": f"c{anchor}", "summaryText": summary}
    return body | ({"anchorMessage": {"id": anchor, "index": 0}} if anchor else {}) | more


def lines(*values: Value) -> bytes:
    return b"".join(json.dumps(value).encode() + b"\n" for value in (START, *values))


def parsed(data: bytes) -> Transcript:
    (transcript,) = read(data)[0].transcripts
    return transcript


def texts(transcript: Transcript) -> list[str]:
    return ["|".join(part.text for part in message.parts) for message in transcript.messages]


def edited(data: bytes, *messages: Message) -> list[Value]:
    """The lines of a session with other messages."""
    chunk = read(data)[0]
    meant = replace(chunk.transcripts[0], messages=messages)
    out = written(chunk, FORMATS["anthropic"], meant)
    return [json.loads(line) for line in out.splitlines()]


def test_messages_for_the_person_are_not_sent_and_notes_are_never_the_task() -> None:
    data = lines(
        row("h1", None, "user", visibility="user_only", hookEventName="SessionStart"),
        row("x1", None, "user", "The date is known.", visibility="llm_only"),
        row("m1", "x1", "user", "Count the ropes."),
        row("m2", "m1", "assistant", call("t1"), modelId="claude-opus-4-5"),
        row("h2", "m2", "user"),
        row("m3", "h2", "user", result("t1")),
        row("m4", "m3", "user", "Error: no connection", visibility="user_only"),
        row("x2", "m4", "user", "Be brief.", hiddenFromUserViews=True),
    )
    found = parsed(data)
    assert found.model == "claude-opus-4-5"
    assert texts(found) == [
        "The date is known.",
        "Count the ropes.",
        "{}",
        "two ropes",
        "Be brief.",
    ]
    assert [message.is_injected for message in found.messages] == [True, *[False] * 3, True]
    assert current_task(found.messages) == 1
    out = edited(data, *found.messages[:2], found.messages[4])
    assert [value["id"] for value in out] == ["s", "h1", "x1", "m1", "h2", "m4", "x2"]
    assert [value.get("parentId") for value in out[4:]] == ["m1", "h2", "m4"]


OLD = (
    row("m1", None, "user", "Count the ropes."),
    row("m2", "m1", "assistant", call("t1")),
    row("m3", "m2", "user", result("t1")),
    row("m4", "m3", "assistant", "Two."),
)
NEW = (row("m5", "m4", "user", "And the sails?"), row("m6", "m5", "assistant", "One."))
SPOKEN = compaction("They counted.", "m2", systemInfoText="Linux.")


@pytest.mark.parametrize(
    ("values", "wanted"),
    [
        ((*OLD, SPOKEN, *NEW), ["They counted.|Linux.", "Two.", "And the sails?", "One."]),
        ((*OLD, compaction("Counted.", "m4"), *NEW), ["Counted.", "And the sails?", "One."]),
        ((compaction("Counted.", None), *NEW), ["Counted.", "And the sails?", "One."]),
        ((*OLD, SPOKEN, *NEW, compaction("Again.", "m5")), ["Again.", "One."]),
        (
            (*OLD, compaction("Counted.", "unknown"), *NEW),
            ["Counted.", "Count the ropes.", "{}", "two ropes", "Two.", "And the sails?", "One."],
        ),
        ((*OLD, compaction("Counted.", "m4")), ["Counted."]),
    ],
    ids=["results", "anchor", "new session", "twice", "unknown anchor", "nothing else"],
)
def test_a_compaction_replaces_the_messages_up_to_its_anchor(
    values: tuple[Value, ...], wanted: list[str]
) -> None:
    data = lines(*values)
    found = parsed(data)
    assert texts(found) == wanted
    first = found.messages[0]
    assert (first.role, first.is_summary, first.is_injected) == ("user", True, True)
    new = Message("user", (Part("text", "Well?"),))
    for place in ((first, new, *found.messages[1:]), (*found.messages, new)):
        out = edited(data, *place)
        inserted = next(value for value in out if "Well?" in json.dumps(value))
        assert inserted["type"] == "message"
        assert not str(inserted["parentId"]).startswith("c")
    with pytest.raises(NotEditableError):
        edited(data, new, *found.messages)


def test_a_summary_is_dropped_with_the_messages_that_it_replaces() -> None:
    data = lines(*OLD, SPOKEN, *NEW, compaction("Again.", "m4"), row("m7", "m6", "user", "Go."))
    found = parsed(data)
    assert texts(found) == ["Again.", "And the sails?", "One.", "Go."]
    out = edited(data, SUMMARY, *found.messages[2:])
    assert [value["type"] for value in out] == ["session_start", *["message"] * 3]
    assert [value.get("parentId") for value in out[2:]] == [out[1]["id"], "m6"]
    out = edited(data, *found.messages[1:])
    assert [value["id"] for value in out] == ["s", "m5", "m6", "m7"]
    out = edited(data, found.messages[0], found.messages[3])
    kept = ["s", "m1", "m2", "m3", "m4", "cm2", "cm4", "m7"]
    assert [value["id"] for value in out] == kept


def test_reasoning_next_to_the_content_counts_once(ctxtrim: Run) -> None:
    thought = "Which rope? " * 30
    member = {"chatCompletionReasoningField": "reasoning_content"}
    member |= {"chatCompletionReasoningContent": thought}
    thinking = {"type": "thinking", "thinking": thought, "signature": "reasoning_content"}
    end = row("m3", "m2", "user", "Thanks.")

    def session(*blocks: Value | str, **more: Any) -> bytes:
        return lines(
            row("m1", None, "user", "Moor."), row("m2", "m1", "assistant", *blocks, **more), end
        )

    alone, both = session("Moored.", **member), session(thinking, "Moored.", **member)
    for data in (alone, both):
        answer = parsed(data).messages[1]
        assert "".join(part.text for part in answer.parts if part.kind == "reasoning") == thought
        (first, _, last) = parsed(data).messages
        without = replace(answer, parts=answer.parts[-1:])
        kept = edited(data, first, without, last)[2]["message"]
        assert kept["content"] == [{"type": "text", "text": "Moored."}]
        assert "chatCompletionReasoningContent" not in kept
    counts = [
        json.loads(ctxtrim("count", "--json", stdin=data).out)["transcripts"][0]["tokens"]
        for data in (alone, both, session(thinking, "Moored."), session("Moored."))
    ]
    assert counts[0] == counts[1] == counts[2] > counts[3] + 90


def test_encrypted_reasoning_next_to_the_content_counts(ctxtrim: Run) -> None:
    sealed = {"openaiReasoningId": "rs_1", "openaiEncryptedContent": "gAAA" * 500}
    with_it, without = (
        lines(row("m1", None, "user", "Moor."), row("m2", "m1", "assistant", call("a"), **more))
        for more in (sealed, {})
    )
    assert [part.sealed for part in parsed(with_it).messages[1].parts] == [2000, 0]
    tokens = [
        json.loads(ctxtrim("count", "--model", "gpt-5", "--json", stdin=data).out)
        for data in (with_it, without)
    ]
    counts = [each["transcripts"][0]["tokens"] for each in tokens]
    assert counts[0] > counts[1] + 100
