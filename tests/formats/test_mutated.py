"""Transcripts of every format with one or more odd values: stages never fail, and the output reads
back as intended.
"""

import json
from copy import deepcopy
from typing import Any

import pytest
from depth import examples
from harness import read, run, unpaired
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import CONVERSATIONS, EVENTS, as_json, conversations

from ctxtrim.config.presets import PRESETS
from ctxtrim.text.records import dump, split

ODD: tuple[Any, ...] = (
    None, True, 0, -1, 7, 1.5, 2**63, 10**30, -(10**30), float("inf"), "", "\ud800", "x\udc80", [],
    [[]], [None], {}, {"a": {"b": [1, None]}}, {"type": "text", "text": "hi"},
    [{"type": "text", "text": "hi"}], "user", "assistant",
)  # fmt: skip
PIPELINES: tuple[list[tuple[str, dict[str, Any]]], ...] = (
    [("count", {})],
    [("truncate", {"max_age": 0, "max_tokens": 20, "keep_small": 0})],
    [
        (
            "truncate",
            {"max_age": 0, "replace": "head", "assign_ids": True, "metadata": True, "dedupe": True},
        )
    ],
    [("trim", {})],
    [("trim", {"strategy": "oldest", "summarize": True})],
    [("summarize", {"keep_recent_turns": 0, "keep_recent_messages": 1})],
    [(name, dict(settings)) for name, settings in PRESETS["compact"].stages.items()],
    [("compact", {"session_tokens": 10, "keep_recent_messages": 2, "tool_cutoff": 1})],
    [("repair", {}), ("check", {"profile": "strict"})],
)


def value_paths(value: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The paths of all values inside a value."""
    keys = (
        value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    )
    return [path for key in keys for path in ((*at, key), *value_paths(value[key], (*at, key)))]


@st.composite
def mutated(draw: st.DrawFn) -> bytes:
    """A file of any format, of which some values are replaced, removed, repeated, or wrapped."""
    talk = draw(conversations())
    if draw(st.booleans()):
        values = EVENTS[draw(st.sampled_from(sorted(EVENTS)))](talk)
    else:
        values = [CONVERSATIONS[draw(st.sampled_from(sorted(CONVERSATIONS)))](talk, 0)]
    values = json.loads(json.dumps(values))
    for _ in range(draw(st.integers(1, 3))):
        paths = value_paths(values)
        if not paths:
            break
        *home, key = draw(st.sampled_from(paths))
        holder = values
        for step in home:
            holder = holder[step]
        how = draw(st.sampled_from(["odd", "odd", "odd", "gone", "twice", "wrapped", "string"]))
        if how == "odd":
            holder[key] = deepcopy(draw(st.sampled_from(ODD)))
        elif how == "gone":
            del holder[key]
        elif how == "twice" and isinstance(holder, list):
            holder.insert(key, json.loads(json.dumps(holder[key])))
        elif how == "wrapped":
            holder[key] = [holder[key]]
        elif how == "string":
            holder[key] = json.dumps(holder[key])
    return b"".join(as_json(value, {}) + b"\n" for value in values)


@settings(max_examples=examples(150))
@given(mutated(), st.sampled_from(PIPELINES), st.sampled_from([5, 30, 100, 300, 1000]))
def test_no_stage_fails_on_odd_values(
    data: bytes, pipeline: list[tuple[str, dict[str, Any]]], budget: int
) -> None:
    ran = run(data, pipeline, limit=budget)
    assert [
        finding.message for finding in ran.findings if finding.code in ("not-handled", "self-check")
    ] == []
    for row in ran.rows:
        assert not row.is_written or row.is_handled
        assert row.fits or row.overflows or pipeline[0][0] != "trim" or not row.is_handled


TEXT, LONG = {"type": "text", "text": "some words in between"}, "several words " * 200


def result(of: str, text: Any = LONG) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": of, "content": text}


def tool_use(of: str, **arguments: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": of, "name": "bash", "input": arguments}


MIXED: dict[str, list[list[Any] | None]] = {
    "text, result, text": [[tool_use("a")], [TEXT, result("a"), TEXT]],
    "result, text, result": [[tool_use("a"), tool_use("b")], [result("a"), TEXT, result("b")]],
    "texts around two results": [
        [tool_use("a"), tool_use("b")],
        [TEXT, result("a"), TEXT, result("b"), TEXT],
    ],
    "texts around calls": [
        [TEXT, tool_use("a"), TEXT, tool_use("b"), TEXT],
        [result("a"), result("b")],
    ],
    "results without calls": [[TEXT], [result("a"), TEXT, result("b")]],
    "several texts in a result": [
        [tool_use("a")],
        [result("a", [TEXT, {"type": "text", "text": LONG}, TEXT]), TEXT],
    ],
    "no contents": [
        None,
        [],
        [tool_use("a")],
        [result("a", None), result("a", 7), result("a", [])],
    ],
    "long integers": [[tool_use("a", x=10**30, y=-(2**64))], [result("a"), TEXT]],
}


@pytest.mark.parametrize("layout", ["conversation", "events", "claude-code"])
@pytest.mark.parametrize("name", MIXED)
def test_elements_that_mix_texts_calls_and_results_can_be_edited(name: str, layout: str) -> None:
    roles = ["assistant", "user"] * 3
    middle = [
        {"role": role, "content": content}
        for role, content in zip(roles, MIXED[name], strict=False)
    ]
    opening = {"role": "user", "content": "go on please " * 20}
    ending = [
        {"role": "assistant", "content": [tool_use("z")]},
        {"role": "user", "content": [result("z", "done")]},
    ]
    messages = [opening, *middle, {"role": "user", "content": "and now?"}, *ending]
    if layout == "conversation":
        data = as_json({"messages": messages}, {}) + b"\n"
    elif layout == "events":
        data = b"".join(as_json(message, {}) + b"\n" for message in messages)
    else:
        links = [
            {"uuid": f"u{at}", "parentUuid": f"u{at - 1}" if at else None}
            for at in range(len(messages))
        ]
        events = [
            {"type": message["role"], "sessionId": "s", "message": message} | link
            for message, link in zip(messages, links, strict=True)
        ]
        data = b"".join(as_json(event, {}) + b"\n" for event in events)
    whole = read(data)[0].transcripts[0]
    for pipeline in PIPELINES:
        for budget in (10, 30, 60, 100, 150, 200, 300, 500, 800):
            ran = run(data, pipeline, limit=budget)
            assert ran.findings == ()
            if ran.data is not None and ran.data != data:
                (row,) = ran.rows
                (transcript,) = (
                    transcript
                    for chunk in read(ran.data)
                    for transcript in chunk.transcripts
                    if transcript.messages
                )
                assert len(transcript.messages) == row.messages
                assert unpaired(transcript) <= unpaired(whole)
                assert run(ran.data, limit=budget).rows[0].count.tokens == row.count.tokens


@pytest.mark.parametrize("number", [2**64, -(2**63) - 1, 10**30, 10**400])
def test_long_integers_keep_their_digits(number: int) -> None:
    (record,) = split(b'{"a": [1.5, %d]}' % number, 1)
    assert record.value == {"a": [1.5, number]}
    assert dump(record.value) == f'{{"a":[1.5,{number}]}}'


@pytest.mark.parametrize("number", [2**64 - 1, -(2**63)])
def test_integers_of_64_bits_are_integers(number: int) -> None:
    (record,) = split(b'{"a": [1.5, %d]}' % number, 1)
    assert record.value == {"a": [1.5, number]}
    assert isinstance(record.value["a"][1], int)
