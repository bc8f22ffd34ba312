"""pi's sessions: live entries, the content that compactions keep, and repairs after drops and
insertions.
"""

import json
from typing import Any

import pytest
from builders_pi import (
    HEADER,
    PI,
    STEP,
    Value,
    calls,
    compaction,
    entry,
    lines,
    of,
    old,
    result,
    role_texts,
    says,
    session,
    text,
    transcript,
    trimmed_file,
    user,
)
from harness import read
from hypothesis import given
from hypothesis import strategies as st
from insertions import SUMMARY, insert_positions, starts, written
from msgspec.structs import replace
from strategies import conversations
from writers import pi

from ctxtrim.conversation.turns import shape
from ctxtrim.model import Message, Part
from ctxtrim.model.request import Usage

LONG = (
    entry("a", None, user("one")),
    entry("b", "a", says("two", usage={"input": 900, "output": 1})),
    entry("c", "b", user("three")),
    entry("d", "c", says("four", usage={"input": 990, "output": 1})),
    compaction("k", "d", "so far", firstKeptEntryId="c"),
    entry("n", "k", user("five")),
    entry("o", "n", says("six", usage={"input": 90, "output": 4, "cacheRead": 7, "cacheWrite": 3})),
)
OLD = (*old(*LONG[:4]), *old(compaction("k", "", "so far", firstKeptEntryIndex=3)), *old(*LONG[5:]))
KEPT = [
    ("user", "so far"),
    ("user", "three"),
    ("assistant", "four"),
    ("user", "five"),
    ("assistant", "six"),
]


@pytest.mark.parametrize("data", [session(*LONG), session(*OLD)], ids=["linked", "old"])
def test_a_compaction_comes_first_and_its_kept_entries_follow(data: bytes) -> None:
    parsed = transcript(data)
    assert role_texts(parsed) == KEPT
    assert [message.is_summary for message in parsed.messages] == [True, False, False, False, False]


@pytest.mark.parametrize("data", [session(*LONG), session(*OLD)], ids=["linked", "old"])
def test_usage_recorded_before_the_compaction_is_stale(data: bytes) -> None:
    assert transcript(data).usages == (Usage(100, 4, 4, "claude-opus-4-6"),)


def test_usage_older_than_the_compaction_is_stale_at_any_position() -> None:
    entries = [*LONG[:6], LONG[6] | {"timestamp": "j"}]
    assert transcript(session(*entries)).usages == ()
    messages = [
        user("[Previous conversation summary] so", timestamp=20),
        says("a", timestamp=20),
        says("b"),
    ]
    counted = [message | {"usage": {"input": 5, "output": 1}} for message in messages]
    counted[2]["timestamp"] = 21
    assert [usage.message for usage in of(*counted).usages] == [2]


@pytest.mark.parametrize(
    "keeps", [{"firstKeptEntryId": "k"}, {"firstKeptEntryId": "nowhere"}, {}, {"retainedTail": []}]
)
def test_a_compaction_can_keep_nothing(keeps: Value) -> None:
    data = session(*LONG[:4], compaction("k", "d", "so far", **keeps), *LONG[5:])
    assert role_texts(transcript(data)) == [KEPT[0], *KEPT[3:]]


@pytest.mark.parametrize("position", [5, 9])
def test_an_old_compaction_can_keep_itself_or_nothing(position: int) -> None:
    data = session(*OLD[:4], OLD[4] | {"firstKeptEntryIndex": position}, *OLD[5:])
    assert role_texts(transcript(data)) == [KEPT[0], *KEPT[3:]]


def test_positions_of_entries_count_values_not_lines() -> None:
    glued = session(*OLD).replace(b'}}\n{"type": "message"', b'}}{"type": "message"', 1)
    assert glued.count(b"\n") == len(OLD)
    assert role_texts(transcript(glued.replace(b"\n", b"\n\n"))) == KEPT


def test_a_compaction_can_contain_its_kept_entries() -> None:
    tail = compaction(
        "k", "d", "so far", retainedTail=[user("three"), says("four"), {"role": "oracle"}, 5]
    )
    data = session(*LONG[:4], tail, *LONG[5:])
    assert role_texts(transcript(data)) == KEPT
    out = trimmed_file(data, 0, 1, 3, 4, last=Message("user", (Part("text", "more"),)))
    assert out[5]["retainedTail"] == [user("three"), {"role": "oracle"}, 5]
    assert [event["id"] for event in out[1:8]] == ["a", "b", "c", "d", "k", "n", "o"]
    assert role_texts(transcript(lines(*trimmed_file(data, *range(5), first=SUMMARY)))) == [
        ("user", SUMMARY.parts[0].text),
        *KEPT,
    ]


def test_an_older_compaction_among_kept_entries_is_not_sent() -> None:
    data = session(
        *LONG[:5],
        LONG[5],
        compaction("p", "n", "by now", firstKeptEntryId="d"),
        entry("q", "p", user("seven")),
    )
    parsed = transcript(data)
    assert role_texts(parsed) == [
        ("user", "by now"),
        ("assistant", "four"),
        ("user", "five"),
        ("user", "seven"),
    ]
    assert [message.is_summary for message in parsed.messages] == [True, False, False, False]
    kept = trimmed_file(data, 0, 3)
    assert [event["id"] for event in kept[1:]] == ["a", "b", "c", "k", "p", "q"]
    assert role_texts(transcript(lines(*kept))) == [("user", "by now"), ("user", "seven")]


def ids(out: list[Value]) -> list[tuple[str, str | None]]:
    return [(event["id"], event["parentId"]) for event in out if event["type"] != "session"]


def test_children_of_a_dropped_entry_are_linked_to_its_parent() -> None:
    data = session(
        *STEP, entry("m", "d"), entry("e", "m", user("go on")), entry("x", "b", user("abandoned"))
    )
    data += lines(entry("l", "e", type="label", targetId="d", label="here"))
    out = trimmed_file(data, 0, 4)
    assert ids(out) == [("a", None), ("m", "a"), ("e", "m"), ("x", "a"), ("l", "e")]
    assert out[-1]["targetId"] == "a"


def test_an_abandoned_branch_never_becomes_live() -> None:
    data = session(
        *STEP[:1], entry("y", "a", type="model_change", modelId="m"), entry("b", "a", says("live"))
    )
    assert ids(trimmed_file(data, 0)) == [("a", None)]
    dead = session(
        entry("z", None, user("dead")), entry("a", None, user("live")), entry("b", "a", says("so"))
    )
    assert ids(trimmed_file(dead, 1)) == [("z", None), ("b", None)]


@pytest.mark.parametrize(
    ("stay", "first"),
    [((0, 2, 3), "d"), ((0, 1, 4), "c"), ((0, 3, 4), "k"), ((0,), "k")],
)
def test_a_compaction_keeps_from_the_next_entry_if_its_first_is_dropped(
    stay: tuple[int, ...], first: str
) -> None:
    data = session(*LONG)
    out = trimmed_file(data, *stay)
    assert (
        next(event for event in out if event["type"] == "compaction")["firstKeptEntryId"] == first
    )
    same = trimmed_file(session(*OLD), *stay)
    kept_index = next(event for event in same if event["type"] == "compaction")[
        "firstKeptEntryIndex"
    ]
    wanted = next(event for event in out if event["id"] == first)
    assert [same[kept_index].get(key) for key in ("type", "message")] == [
        wanted.get(key) for key in ("type", "message")
    ]


def test_a_compaction_that_keeps_nothing_keeps_nothing_in_a_session_joined_to_itself() -> None:
    talk = (*LONG[:4], compaction("k", "d", "so far", firstKeptEntryId="k"), *LONG[5:])
    twice = session(*talk, *talk)
    assert role_texts(transcript(twice)) == [KEPT[0], *KEPT[3:]]
    assert role_texts(transcript(lines(*trimmed_file(twice, 0, 2)))) == [KEPT[0], KEPT[4]]


def test_a_compaction_without_its_summary_still_hides_earlier_history() -> None:
    for data in (session(*LONG), session(*OLD)):
        out = trimmed_file(data, 3, 4)
        assert [event["summary"] for event in out if event["type"] == "compaction"] == [""]
        assert len(out) == 1 + 2 + 1 + 2
        assert role_texts(transcript(lines(*out))) == KEPT[3:]


def test_a_new_summary_replaces_the_dropped_summary() -> None:
    for data in (session(*LONG), session(*OLD)):
        out = trimmed_file(data, 2, 3, first=SUMMARY)
        assert [event["summary"] for event in out if event["type"] == "compaction"] == [
            SUMMARY.parts[0].text
        ]
        again = transcript(lines(*out))
        assert role_texts(again) == [("user", SUMMARY.parts[0].text), *KEPT[2:4]]
        assert again.messages[0].is_summary
        assert again.usages == ()


def test_a_new_summary_can_precede_a_kept_summary() -> None:
    for data in (session(*LONG), session(*OLD)):
        again = transcript(lines(*trimmed_file(data, *range(5), first=SUMMARY)))
        assert role_texts(again) == [("user", SUMMARY.parts[0].text), *KEPT]
        none_kept = transcript(lines(*trimmed_file(data, 0, 3, 4, first=SUMMARY)))
        assert role_texts(none_kept) == [("user", SUMMARY.parts[0].text), KEPT[0], *KEPT[3:]]


TAIL = compaction("k", "d", "so far", retainedTail=[user("three"), says("four")])


@pytest.mark.parametrize(
    "data",
    [session(*LONG), session(*OLD), session(*LONG[:4], TAIL, *LONG[5:])],
    ids=["linked", "old", "tail"],
)
@pytest.mark.parametrize(
    "staying", [range(5), [0, 3, 4], [0]], ids=["all", "none kept", "nothing else"]
)
@pytest.mark.parametrize(
    "news",
    [
        (
            SUMMARY,
            Message("assistant", (Part("text", "I see."),)),
            Message("user", (Part("text", "Well?"),)),
        ),
        (
            Message("assistant", (Part("text", "I see."),)),
            Message("user", (Part("text", "Well?"),)),
        ),
    ],
    ids=["a summary first", "an answer first"],
)
def test_several_messages_can_precede_a_kept_summary(
    data: bytes, staying: list[int], news: tuple[Message, ...]
) -> None:
    chunk = read(data)[0]
    parsed = chunk.transcripts[0]
    meant = replace(parsed, messages=(*news, *(parsed.messages[index] for index in staying)))
    again = transcript(written(chunk, PI, meant))
    assert role_texts(again) == [
        (message.role, message.parts[0].text) for message in meant.messages
    ]


def test_the_first_inserted_summary_is_a_compaction_that_keeps_nothing() -> None:
    out = trimmed_file(session(*STEP), 3, first=SUMMARY)
    new, last = out[1:]
    assert (new["type"], new["parentId"], last["parentId"]) == ("compaction", None, new["id"])
    assert (new["firstKeptEntryId"], new["timestamp"]) == (new["id"], "d")
    new, last = trimmed_file(session(*old(*STEP)), 3, first=SUMMARY)[1:]
    assert (new["type"], new["firstKeptEntryIndex"], "id" in new) == ("compaction", 1, False)


def test_an_inserted_answer_follows_its_call() -> None:
    data = session(
        entry("a", None, user("go")),
        entry("b", "a", calls("c1")),
        entry("x", "a", user("abandoned")),
    )
    data += lines(entry("c", "b", user("well?")))
    chunk = read(data)[0]
    transcript = chunk.transcripts[0]
    answer = Message("tool", (Part("tool_result", "[no result recorded]", "c1"),))
    meant = replace(transcript, messages=(*transcript.messages[:2], answer, transcript.messages[2]))
    out = [json.loads(line) for line in written(chunk, PI, meant).splitlines()]
    assert [message["message"]["role"] for message in out[1:]] == [
        "user",
        "assistant",
        "toolResult",
        "user",
        "user",
    ]
    assert [event["parentId"] for event in out[4:]] == ["a", out[3]["id"]]
    assert out[3]["parentId"] == "b"


def test_an_inserted_assistant_message_has_the_fields_pi_displays() -> None:
    message = Message("assistant", (Part("text", "so"),))
    new = trimmed_file(session(*STEP), 0, 1, 2, 3, last=message)[-1]["message"]
    assert (new["model"], new["stopReason"], new["usage"]["input"]) == (
        "claude-opus-4-6",
        "stop",
        0,
    )


def sent_by_pi(data: bytes) -> list[tuple[str, str]]:
    """The messages that pi sends of a session, by its own rules in short form: give old entries
    ids, then follow parents from the last entry.
    """
    entries = [json.loads(line) for line in data.splitlines()]
    before = None
    for position, event in enumerate(entries[1:], 1):
        if "id" not in event:
            event |= {"id": f"#{position}", "parentId": before}
            before = event["id"]
            if "firstKeptEntryIndex" in event:
                event["firstKeptEntryId"] = (
                    dict(enumerate(entries)).get(event["firstKeptEntryIndex"], {}).get("id")
                )
    by_id = {entry["id"]: entry for entry in entries[1:]}
    path: list[Value] = []
    event = entries[-1] if entries[1:] else None
    while event is not None:
        path.insert(0, event)
        assert len(path) <= len(entries), "pi would walk in a circle"
        event = by_id.get(event["parentId"])
    newest = max(
        (position for position, event in enumerate(path) if event["type"] == "compaction"),
        default=None,
    )
    if newest is not None:
        named = [event["id"] for event in path[:newest]]
        first = path[newest].get("firstKeptEntryId")
        start = named.index(first) if first in named else newest
        kept = [event for event in path[start:newest] if event["type"] != "compaction"]
        path = [path[newest], *kept, *path[newest + 1 :]]
    return [message for event in path for message in sent(event)]


def sent(event: Value) -> list[tuple[str, str]]:
    if event["type"] == "compaction":
        return [("user", event["summary"])] if event["summary"] else []
    if event["type"] != "message":
        return []
    role, content = event["message"]["role"], event["message"].get("content")
    if role == "compactionSummary":
        return [("user", event["message"]["summary"])]
    words = (
        content if isinstance(content, str) else "".join(block.get("text", "") for block in content)
    )
    return [({"toolResult": "tool"}.get(role, role), words)]


def sent_texts(messages: tuple[Message, ...]) -> list[tuple[str, str]]:
    texts = ("text", "tool_result")
    return [
        (message.role, "".join(part.text for part in message.parts if part.kind in texts))
        for message in messages
    ]


@given(conversations(), st.sampled_from([pi.sessions, pi.old_sessions]), st.data())
def test_pi_reads_the_intended_messages(
    talk: list[Value], spelling: Any, draw: st.DataObject
) -> None:
    data = lines(*spelling(talk))
    transcript = next(
        (transcript for chunk in read(data) for transcript in chunk.transcripts), None
    )
    if transcript is None:
        return
    assert sent_texts(transcript.messages) == sent_by_pi(data)
    turn_shape = shape(transcript.messages)
    gone = set(draw.draw(st.lists(st.sampled_from(starts(transcript)), max_size=5)))
    stay = [
        message
        for message in transcript.messages
        if turn_shape.exchange[message.index or 0] not in gone
    ]
    if draw.draw(st.booleans()):
        position = draw.draw(st.sampled_from(insert_positions(transcript)))
        stay.insert(sum((message.index or 0) < position for message in stay), SUMMARY)
    out = written(read(data)[0], PI, replace(transcript, messages=tuple(stay)))
    assert sent_by_pi(out) == sent_texts(tuple(stay))


def changed(name: str, parent: str, target: str, content: Any) -> Value:
    """An entry that gives another one a new content; None leaves that one out."""
    replacement = None if content is None else {"content": content}
    return entry(name, parent, type="context_edit", targetId=target, replacement=replacement)


EDITED = (
    entry("a", None, user("list all")),
    entry("b", "a", calls("c1", usage={"input": 90, "output": 1})),
    entry("c", "b", result("c1", "a very long listing of the harbour")),
    changed("d", "c", "c", "an edit that another one replaces"),
    changed("e", "d", "c", "a short listing"),
    entry("f", "e", says("Listed.", usage={"input": 70, "output": 2})),
)


def test_an_edit_of_the_context_replaces_the_content_of_its_target() -> None:
    parsed = transcript(session(*EDITED))
    assert [text for _, text in role_texts(parsed)][2:] == ["a short listing", "Listed."]
    assert parsed.messages[2].result is not None and parsed.messages[2].result.call_id == "c1"
    assert [usage.message for usage in parsed.usages] == [3]
    blocks = changed("g", "f", "f", [text("Done.")])
    assert role_texts(transcript(session(*EDITED, blocks)))[3] == ("assistant", "Done.")
    without = transcript(session(*EDITED, changed("g", "f", "a", None)))
    assert [message.role for message in without.messages] == ["assistant", "tool", "assistant"]
    injected = entry("h", "f", type="custom_message", content="long", customType="x")
    parsed = transcript(session(*EDITED, injected, changed("i", "h", "h", "short")))
    assert role_texts(parsed)[4] == ("user", "short")
    assert parsed.messages[4].is_injected


def test_a_result_with_an_edit_is_shortened_in_the_edit_and_dropped_with_it() -> None:
    (chunk,) = read(session(*EDITED))
    (talk,) = chunk.transcripts
    first, call, answer, last = talk.messages
    shorter = replace(answer, parts=(replace(answer.parts[0], text="short"),))
    meant = replace(talk, messages=(first, call, shorter, last))
    events = list(map(json.loads, written(chunk, PI, meant).splitlines()))
    assert events[5]["replacement"] == {"content": "short"}
    assert events[:5] + events[6:] == [HEADER, *EDITED[:4], EDITED[5]]
    meant = replace(talk, messages=(first, last))
    events = list(map(json.loads, written(chunk, PI, meant).splitlines()))
    assert [event["id"] for event in events] == ["s", "a", "f"]
    assert events[2]["parentId"] == "a"


def test_a_reset_ends_the_context_before_it() -> None:
    reset = entry("r", "d", type="reset", reason="daily")
    after = entry("n", "r", user("five"))
    assert role_texts(transcript(session(*LONG[:4], reset, after))) == [("user", "five")]
    kept = session(*LONG[:4], reset | {"firstKeptEntryId": "c"}, after)
    assert role_texts(transcript(kept)) == [
        ("user", "three"),
        ("assistant", "four"),
        ("user", "five"),
    ]
    (chunk,) = read(kept)
    (talk,) = chunk.transcripts
    for messages in (talk.messages[1:], talk.messages[2:], (SUMMARY, *talk.messages[2:])):
        meant = replace(talk, messages=messages)
        assert role_texts(transcript(written(chunk, PI, meant))) == role_texts(meant)


def test_an_entry_next_to_the_path_is_not_the_last_one() -> None:
    side = entry("x", "d", user("hidden"), appendMode="side")
    assert role_texts(transcript(session(*LONG[:4], side))) == role_texts(
        transcript(session(*LONG[:4]))
    )
    (chunk,) = read(session(*LONG[:4], side))
    (talk,) = chunk.transcripts
    meant = replace(talk, messages=talk.messages[2:])
    events = list(map(json.loads, written(chunk, PI, meant).splitlines()))
    assert [event["id"] for event in events] == ["s", "c", "d", "x"]
    leaf = entry("y", "x", type="leaf", targetId="x", appendMode="side")
    assert role_texts(transcript(session(*LONG[:4], side, leaf)))[-1] == ("user", "hidden")


def test_context_that_openclaw_adds_is_not_typed() -> None:
    added = "<<<BEGIN_OPENCLAW_INTERNAL_CONTEXT>>>\nharbour\n<<<END_OPENCLAW_INTERNAL_CONTEXT>>>"
    parsed = of(user("Moor."), user("knots", runtimeContextCarrier=True), user(added), says("ok"))
    assert [message.is_injected for message in parsed.messages] == [False, True, True, False]
