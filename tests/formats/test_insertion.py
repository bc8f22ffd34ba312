"""Inserted messages: the file is written with the new messages of a stage and reads back the
same.
"""

import json

import pytest
from harness import read
from hypothesis import given
from hypothesis import strategies as st
from insertions import SUMMARY, format_of, insert_positions, role_parts, starts, written
from msgspec.structs import replace
from strategies import files

from ctxtrim.conversation.turns import shape
from ctxtrim.errors import NotEditableError
from ctxtrim.formats import FORMATS
from ctxtrim.model import Message, Part, Transcript

NO_MESSAGE = "takes no new message"
REFUSED = {
    **dict.fromkeys(("copilot-cli", "crush", "opencode"), ("before the summary of a compaction",)),
    "openai-chat": ("between results that are in one message",),
    "swe-agent-web": ("before or after a step of the history",),
    "kiro": ("between the results and the prompt of an entry",),
    "adk-eval": ("no place for a prompt between a result and the answer",),
    "atif": ("between its results", "before the summary of a compaction"),
    "bedrock": (NO_MESSAGE, "sends its pinned messages and summary first"),
    **dict.fromkeys(("langfuse", "langsmith", "litellm", "opentelemetry"), (NO_MESSAGE,)),
}
"""What a format that cannot hold a message says, by format: one of these texts."""


@given(files(), st.data())
def test_a_message_is_inserted_before_an_exchange_while_others_are_dropped(
    data: bytes, draw: st.DataObject
) -> None:
    chunk = next(iter(read(data)), None)
    transcripts = (
        [transcript for transcript in chunk.transcripts if transcript.messages] if chunk else []
    )
    if chunk is None or not transcripts:
        return
    file_format = format_of(data)
    meant = []
    for transcript in transcripts:
        turn_shape = shape(transcript.messages)
        position = draw.draw(st.sampled_from(insert_positions(transcript)))
        gone = set(draw.draw(st.lists(st.sampled_from(starts(transcript)), max_size=4)))
        gone -= {
            position
            for position, message in enumerate(transcript.messages)
            if not message.agent_visible
        }  # they always stay
        before = [
            message
            for message in transcript.messages[:position]
            if turn_shape.exchange[message.index or 0] not in gone
        ]
        after = [
            message
            for message in transcript.messages[position:]
            if turn_shape.exchange[message.index or 0] not in gone
        ]
        meant.append(replace(transcript, messages=(*before, SUMMARY, *after)))
    try:
        out = written(chunk, file_format, *meant)
    except NotEditableError as error:
        assert any(reason in str(error) for reason in REFUSED[file_format.name])
        return
    again = [
        transcript for chunk in read(out) for transcript in chunk.transcripts if transcript.messages
    ]
    assert [role_parts(transcript) for transcript in again] == [
        role_parts(transcript) for transcript in meant
    ]


@given(files())
def test_an_answer_is_inserted_after_each_unanswered_call(data: bytes) -> None:
    chunk = next(iter(read(data)), None)
    if chunk is None or not chunk.transcripts:
        return
    file_format = format_of(data)
    meant = []
    for transcript in chunk.transcripts:
        turn_shape = shape(transcript.messages)
        if transcript.messages:
            meant.append(replace(transcript, messages=answered(transcript, turn_shape.unanswered)))
    if any(transcript.messages != transcript.source.messages for transcript in meant):
        out = written(chunk, file_format, *meant)
        again = [
            transcript
            for chunk in read(out)
            for transcript in chunk.transcripts
            if transcript.messages
        ]
        assert all(not shape(transcript.messages).unanswered for transcript in again)


def answered(transcript: Transcript, missing: tuple[tuple[int, Part], ...]) -> tuple[Message, ...]:
    """The messages with an answer for each unanswered call, after the results that follow the
    call.
    """
    turn_shape = shape(transcript.messages)
    calls: dict[int, list[Part]] = {}
    for at, call in missing:
        calls.setdefault(turn_shape.exchange[at], []).append(call)
    messages: list[Message] = []
    for index, message in enumerate(transcript.messages):
        messages.append(message)
        home = turn_shape.exchange[index]
        if turn_shape.exchange[index + 1 : index + 2] != (home,):
            for call in calls.pop(home, ()):
                part = Part("tool_result", "[no result recorded]", call.call_id, call.name)
                messages.append(
                    Message("tool", (part,), call.name if call.call_id is None else None)
                )
    return tuple(messages)


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_has_a_unique_name(name: str) -> None:
    assert FORMATS[name].name == name


def test_an_inserted_event_of_claude_code_is_linked_into_the_chain() -> None:
    events = [
        {
            "type": "user",
            "uuid": "a",
            "parentUuid": None,
            "sessionId": "s",
            "cwd": "/x",
            "message": {"content": "go"},
        },
        {
            "type": "assistant",
            "uuid": "b",
            "parentUuid": "a",
            "sessionId": "s",
            "message": {"content": "so"},
        },
    ]
    data = b"".join(json.dumps(event).encode() + b"\n" for event in events)
    chunk = read(data)[0]
    transcript = chunk.transcripts[0]
    lines = written(
        chunk, format_of(data), replace(transcript, messages=(SUMMARY, *transcript.messages[1:]))
    ).splitlines()
    new, old = map(json.loads, lines)
    assert (new["parentUuid"], old["parentUuid"]) == (None, new["uuid"])
    assert (new["sessionId"], new["isCompactSummary"], new["message"]["role"]) == (
        "s",
        True,
        "user",
    )
