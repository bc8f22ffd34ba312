"""Keeps the ordinals and the parallel lists of Codex rollouts valid after an edit.

Checked against openai/codex: codex-rs/rollout/src/ordinal.rs,
codex-rs/thread-store/src/local/thread_history_materialization.rs and
codex-rs/history/src/rollout_payload.rs.
"""

from typing import Any

from msgspec.structs import replace

from ctxtrim.formats.base import Edit, Insertion
from ctxtrim.formats.fields import members
from ctxtrim.model import Span

_PAYLOAD = ("payload",)
_HISTORY = ("payload", "replacement_history")
_METADATA = ("payload", "replacement_history_metadata")
_START = "subagent_history_start_ordinal"
"""The ordinal of the first line of a subagent, after the lines that repeat its parent's history."""


def valid(edit: Edit) -> Edit:
    """The edit with parallel metadata of compacted items and consecutive ordinals.

    Codex cannot read a compaction with fewer or more entries of metadata than items, and rejects a
    rollout whose ordinals have a gap.
    """
    return _renumbered(edit.with_parallel(_HISTORY, _METADATA, {"client_authored": False}))


def _renumbered(edit: Edit) -> Edit:
    """The edit with consecutive ordinals, from the first one of the rollout on."""
    ordinals = [_ordinal(value) for value in edit.values]
    number = next((ordinal for ordinal in ordinals if ordinal is not None), None)
    if number is None:
        return edit
    around = edit.around
    changes: dict[Span, dict[str, Any]] = {}
    insertions: dict[int, Insertion] = {}  # with their ordinals, by identity
    pairs: list[tuple[int, int]] = []  # old and new ordinals
    for line, ordinal in enumerate(ordinals):
        span = Span(line)
        for insertion in around.get((span, False), ()):
            insertions[id(insertion)] = _with_ordinal(insertion, number)
            number += 1
        if ordinal is not None and span not in edit.removed:
            pairs.append((ordinal, number))
            if ordinal != number:
                changes[span] = {"ordinal": number}
            number += 1
        for insertion in around.get((span, True), ()):
            insertions[id(insertion)] = _with_ordinal(insertion, number)
            number += 1
    changes |= _starts(edit, pairs, number)
    return replace(
        edit,
        inserted=[insertions.get(id(insertion), insertion) for insertion in edit.inserted],
        members={
            span: {**edit.members.get(span, {}), **changes.get(span, {})}
            for span in (*edit.members, *changes)
        },
    )


def _ordinal(value: Any) -> int | None:
    """The ordinal of a line; None in rollouts without ordinals."""
    ordinal = members(value).get("ordinal")
    return ordinal if type(ordinal) is int else None


def _with_ordinal(insertion: Insertion, number: int) -> Insertion:
    return replace(insertion, value=insertion.value | {"ordinal": number})


def _starts(edit: Edit, pairs: list[tuple[int, int]], end: int) -> dict[Span, dict[str, Any]]:
    """The new starts of a subagent's own lines, by the span of their object."""
    starts = {}
    for line, value in enumerate(edit.values):
        start = members(members(value).get("payload")).get(_START)
        if type(start) is int and members(value).get("type") == "session_meta":
            new_start = next((new for old, new in pairs if old >= start), end)
            if new_start != start:
                starts[Span(line, _PAYLOAD)] = {_START: new_start}
    return starts
