"""Gemini CLI logs with patches: what they change, and edits of patched messages."""

import json
from typing import Any

import pytest
from harness import read, run
from insertions import written
from msgspec.structs import replace
from test_gemini_cli import (
    EXPECTED,
    TALK,
    Entry,
    call,
    gemini,
    log,
    response,
    role_texts,
    transcript,
    user,
)
from test_gemini_contents import ANSWER, SUMMARY

from ctxtrim.formats import FORMATS
from ctxtrim.model import Message

LONG = "the lock is full " * 200
FORMAT = FORMATS["gemini-cli"]


def patch(**fields: Any) -> Entry:
    return {"$patch": fields}


def update(name: str, **fields: Any) -> Entry:
    return {"id": name} | fields


def late(call_id: str, *result: Any) -> Entry:
    return {"id": call_id, "result": list(result)}


def records(data: bytes | None) -> list[Entry]:
    return [json.loads(line) for line in (data or b"").splitlines()][1:]


def edited(data: bytes, *messages: Message) -> list[Entry]:
    """The records with these messages, which they read back as."""
    (chunk,) = read(data)
    return records(written(chunk, FORMAT, replace(chunk.transcripts[0], messages=messages)))


BARE = gemini("b", "Looking.", toolCalls=[call("c1"), call("c2")])
RESULTS = [late("c1", response("c1", "one")), late("c2", response("c2", "two"))]


@pytest.mark.parametrize(
    "patches",
    [
        [patch(id="b", toolCalls=RESULTS)],
        [patch(updates=[update("b", toolCalls=RESULTS)])],
        [patch(id="b", toolCalls=RESULTS[1:]), patch(updates=[update("b", toolCalls=RESULTS[:1])])],
        [patch(updates=[update("b", toolCalls=RESULTS, content="Looking."), update("x")])],
        [patch(id="gone", content="x"), patch(id="b", toolCalls=[*RESULTS, late("c9", "x"), 7])],
    ],
)
def test_patches_add_results_to_calls(patches: list[Entry]) -> None:
    assert role_texts(log(TALK[0], BARE, *patches, TALK[2])) == EXPECTED


def test_a_patch_replaces_contents_and_results() -> None:
    new = [update("a", content=[{"text": "stop"}]), update("b", toolCalls=RESULTS[:1])]
    old = gemini("b", "Looking.", toolCalls=[call("c1", response("c1", LONG))])
    data = log(TALK[0], old, patch(updates=new))
    assert role_texts(data)[::2] == [("user", ["stop"]), ("tool", ["one"])]
    assert role_texts(log(TALK[0], patch(id="a", content="x"), TALK[0])) == [("user", ["go"])]


def test_a_patch_drops_and_orders_messages() -> None:
    talk = [user(name, name) for name in "abcd"]
    data = log(*talk, patch(removeIds=["b"], orderIds=["c", "b", "a"]), user("e", "e"))
    assert [texts for _, texts in role_texts(data)] == [["d"], ["c"], ["a"], ["e"]]


def test_a_result_is_shortened_in_the_patch_that_has_it() -> None:
    old = gemini("b", toolCalls=[call("c1", response("c1", "old"))])
    data = log(TALK[0], old, patch(id="b", toolCalls=[late("c1", response("c1", LONG))]), TALK[2])
    out = run(data, [("truncate", {"max_tokens": 50})]).data
    *others, changed, last = records(out)
    assert [*others, last] == [TALK[0], old, TALK[2]]
    assert "truncated" in json.dumps(changed)
    assert transcript(out or b"").messages[2].parts[0].text.startswith("the lock")


def test_a_dropped_message_is_dropped_with_its_patches() -> None:
    single = patch(id="b", toolCalls=[late("c1", response("c1", LONG))])
    several = patch(
        updates=[update("b", content="Look."), update("a", content="go!")], orderIds=["b", "a"]
    )
    mixed = patch(id="b", content=LONG, removeIds=["x"])
    data = log(TALK[0], BARE, single, several, mixed, user("c", "now"))
    left = records(run(data, [("trim", {})], limit=20).data)
    assert left == [
        TALK[0],
        patch(updates=[update("a", content="go!")], orderIds=["b", "a"]),
        patch(id="b", removeIds=["x"]),
        user("c", "now"),
    ]


def test_a_message_whose_patched_content_is_dropped_leaves_the_log() -> None:
    old = user("a", [{"text": "old"}])
    changed = patch(updates=[update("a", content=[{"text": LONG}, {"text": LONG}])])
    data = log(old, changed, gemini("b", "Yes."), user("c", "now"))
    *_, now = transcript(data).messages
    assert edited(data, now) == [patch(updates=[]), user("c", "now")]


def test_an_unanswered_call_is_removed_from_a_patched_content() -> None:
    copy = {"functionCall": {"id": "c1", "name": "look", "args": {"at": 1}}}
    content = [{"text": "Look."}, copy]
    asked = gemini("b", "Look.", toolCalls=[call("c1")])
    data = log(TALK[0], asked, patch(id="b", content=content), user("d", "so?"))
    out = run(data, [("repair", {})]).data
    _, entry, changed, _ = records(out)
    assert entry["toolCalls"] == []
    assert changed == patch(id="b", content=content[:1])


def test_a_patch_after_a_new_version_changes_the_calls_of_that_version() -> None:
    new = gemini("b", "Looking.", toolCalls=[call("c2"), call("c1")])
    patches = [patch(id="b", toolCalls=[each]) for each in RESULTS]
    data = log(TALK[0], BARE, *patches, new, *patches, user("d", "so?"))
    answers = [message.result for message in transcript(data).messages]
    assert [(part.call_id, part.text) for part in answers if part] == [("c2", "two"), ("c1", "one")]


def test_the_content_of_a_patch_without_parts_stays_as_an_empty_one() -> None:
    copy = {"functionCall": {"id": "c1", "name": "look", "args": {"at": 1}}}
    asked = gemini("b", "An older text.", toolCalls=[call("c1"), call("c2", response("c2", "two"))])
    data = log(TALK[0], asked, patch(id="b", content=[copy]), user("d", "so?"))
    out = run(data, [("repair", {})]).data
    assert records(out)[2] == patch(id="b", content=[])
    assert "An older text." not in str(role_texts(out or b""))


@pytest.mark.parametrize("place", [1, 2, 3, 4])
def test_new_messages_have_their_place_in_a_later_order(place: int) -> None:
    talk = [user("a", "one"), gemini("b", "two"), user("c", "three"), gemini("d", "four")]
    order = patch(updates=[update("c", content="3")], orderIds=["b", "c", "d"])
    data = log(*talk, order)
    messages = list(transcript(data).messages)
    messages.insert(place, SUMMARY)
    out = edited(data, *messages)
    names = out[-1]["$patch"]["orderIds"]
    assert len(names.pop(place - 1)) > 1
    assert names == ["b", "c", "d"]


def test_an_answer_to_a_patched_message_is_a_message_after_it() -> None:
    waiting = patch(updates=[update("b", content="Look!")])
    data = log(TALK[0], gemini("b", "Look.", toolCalls=[call("c1")]), TALK[2], waiting)
    first, question, *others = transcript(data).messages
    names = [entry.get("id") for entry in edited(data, first, question, ANSWER, *others)]
    assert names[:2] == ["a", "b"]
    assert names[3:] == ["c", None]


THOUGHT = {"text": "**Plan** do it", "thought": True}
THOUGHTS = [{"subject": "Plan", "description": "do it"}]


@pytest.mark.parametrize(
    ("content", "texts"),
    [
        ([THOUGHT, {"text": "Done."}], ["**Plan** do it", "Done."]),
        ([{"text": "Done."}], ["**Plan** do it", "Done."]),
        ("Done.", ["**Plan** do it", "Done."]),
        ([{"functionCall": {"name": "look", "args": {}}}], ["{}"]),
    ],
)
def test_thoughts_count_once(content: Any, texts: list[str]) -> None:
    assert role_texts(log(gemini("a", content, thoughts=THOUGHTS))) == [("assistant", texts)]
