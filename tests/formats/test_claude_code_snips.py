"""Messages that Claude Code keeps in a session and no longer sends."""

import json

import pytest
from builders_claude import (
    Event,
    answers,
    call_line,
    line,
    role_texts,
    says,
    session,
    transcript,
)
from conftest import Run
from harness import read
from insertions import SUMMARY, written
from msgspec.structs import replace

from ctxtrim.formats import FORMATS

USED = {"input_tokens": 900, "output_tokens": 5}


def answered(uuid: str, parent: str | None, text: str) -> Event:
    value = says(uuid, parent, uuid, type="text", text=text)
    value["message"]["usage"] = USED
    return value


def snip(uuid: str, parent: str, *names: object) -> Event:
    details = {"removedUuids": list(names)}
    return line(uuid, parent, "system", subtype="snip_boundary", snipMetadata=details)


EVENTS = (
    line("u1", None, "user", "Count the buoys."),
    answered("a1", "u1", "Seven."),
    line("u2", "a1", "user", "And the piers?"),
    answered("a2", "u2", "Two."),
    line("u3", "a2", "user", "And the lamps?"),
    answered("a3", "u3", "Nine."),
    snip("k1", "a3", "u2", "a2"),
    line("u4", "k1", "user", "Thanks."),
    answered("a4", "u4", "Ahoy."),
)
LEFT = [
    ("user", "Count the buoys."),
    ("assistant", "Seven."),
    ("user", "And the lamps?"),
    ("assistant", "Nine."),
    ("user", "Thanks."),
    ("assistant", "Ahoy."),
]


def test_removed_messages_are_not_sent_and_those_before_them_are() -> None:
    parsed = transcript(*EVENTS)
    assert role_texts(parsed) == LEFT
    assert [usage.message for usage in parsed.usages] == [5]  # the other prompts had more messages


@pytest.mark.parametrize("names", [[], ["unknown", 7, None], ["u2", ["a2"]]])
def test_names_of_no_event_remove_none(names: list[object]) -> None:
    events = [event if event["uuid"] != "k1" else snip("k1", "a3", *names) for event in EVENTS]
    known = {"u2"} & {name for name in names if isinstance(name, str)}
    assert len(transcript(*events).messages) == 8 - len(known)


def test_the_first_messages_and_parents_in_a_circle_are_removed() -> None:
    first = [event if event["uuid"] != "k1" else snip("k1", "a3", "u1", "a1") for event in EVENTS]
    assert role_texts(transcript(*first))[0] == ("user", "And the piers?")
    circle = [event | {"parentUuid": "a2"} if event["uuid"] == "u2" else event for event in EVENTS]
    assert role_texts(transcript(*circle)) == LEFT[2:]


def test_removed_messages_keep_their_bytes() -> None:
    data = session(*EVENTS)
    (chunk,) = read(data)
    (talk,) = chunk.transcripts
    meant = replace(talk, messages=talk.messages[2:])
    rows = written(chunk, FORMATS["claude-code"], meant).splitlines()
    assert rows[:2] == data.splitlines()[2:4]
    assert [json.loads(row)["uuid"] for row in rows[2:]] == ["u3", "a3", "k1", "u4", "a4"]
    assert json.loads(rows[2])["parentUuid"] is None
    assert rows[3:] == data.splitlines()[5:]


def test_a_new_message_follows_the_one_before_the_removed_ones() -> None:
    (chunk,) = read(session(*EVENTS))
    (talk,) = chunk.transcripts
    meant = replace(talk, messages=(*talk.messages[:2], SUMMARY, *talk.messages[2:]))
    rows = list(map(json.loads, written(chunk, FORMATS["claude-code"], meant).splitlines()))
    new = next(row for row in rows if row["uuid"] not in {event["uuid"] for event in EVENTS})
    parents = {row["uuid"]: row["parentUuid"] for row in rows}
    assert (new["parentUuid"], parents["u3"], parents["u2"]) == ("a1", new["uuid"], "a1")


def test_messages_for_the_screen_are_not_sent(ctxtrim: Run) -> None:
    events = (
        line("u1", None, "user", "Count the buoys."),
        call_line("a1", "u1", "m1", "c1") | {"isVirtual": True},
        answers("r1", "a1", "c1", "buoy " * 90) | {"isVirtual": True},
        answered("a2", "r1", "Seven.") | {"isVirtual": False},
    )
    assert role_texts(transcript(*events)) == [LEFT[0], LEFT[1]]
    data = session(*events)
    assert ctxtrim("truncate", "--max-tokens", "20", stdin=data).out == data
