"""Codex CLI rollouts: one event per line. `codex_replay` reads them.

Rollouts of mid-2025 are bare items after a header line; older ones contain messages, and calls
without ids.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from ctxtrim.formats.base import Edit, Format, Insertion, Site, layout_of_events
from ctxtrim.formats.fields import members, string
from ctxtrim.formats.openai.item_kinds import NO_MESSAGE, kind_of
from ctxtrim.loading import lazy_function
from ctxtrim.model import Message, Span
from ctxtrim.text.json_paths import Path

_TYPES = (
    "session_meta", "turn_context", "response_item", "event_msg", "compacted", "world_state",
    "inter_agent_communication", "inter_agent_communication_metadata", "token_usage_record",
    "retained_context", "security_risk_score", "realtime_item",
)  # fmt: skip
_HEADER = {"id", "timestamp", "instructions", "git", "cwd", "originator", "cli_version"}
SUMMARY: Path = ("payload", "message")
"""The JSON path of the summary in a compaction event."""


def knows(value: object) -> bool:
    """Whether a value is an event, the header or a state of a bare rollout, or an early call or
    result.
    """
    if not isinstance(value, dict):
        return False
    kind = value.get("type")
    if kind in _TYPES:
        return isinstance(value.get("payload"), dict)
    if kind is None and "role" not in value:
        is_header = {"id", "timestamp", "instructions"} <= value.keys() <= _HEADER
        return is_header or value.get("record_type") == "state"
    if "timestamp" not in value and "created_at" not in value:
        return False
    is_call = kind in ("tool_call", "function_call") and isinstance(value.get("function"), dict)
    is_result = kind in ("tool_result", "function_result") and "name" in value and "result" in value
    is_message = kind is None and "created_at" in value and isinstance(value.get("message"), str)
    return is_call or is_result or is_message


def admits(value: object) -> bool:
    """The same, and items or messages without an envelope, which other formats write too."""
    if knows(value):
        return True
    is_plain = isinstance(value, dict) and not value.get("tool_calls")
    return is_plain and kind_of(value) not in NO_MESSAGE


def owner(array: Path) -> Path | None:
    """An item, or its line, is removed with the last block of its content."""
    if array[-1] != "content":
        return None
    return () if array[:-1] == ("payload",) else array[:-1]


def insert(run: Sequence[Message], site: Site) -> Sequence[Insertion]:
    """Each message as a line, or as an item inside a compaction."""
    from ctxtrim.formats.openai.item_insert import insert_items  # for edits only

    insertions = []
    for insertion in insert_items(run, site):
        path = insertion.span.path
        span = insertion.span if path and isinstance(path[-1], int) else Span(insertion.span.line)
        value = _line(insertion.value, span, site.value_of(Span(span.line)))
        insertions.append(replace(insertion, value=value, span=span))
    return insertions


def _line(item: dict[str, Any], span: Span, neighbour: Any) -> dict[str, Any]:
    """An item as a line with the time of its neighbour; inside a list, the item itself."""
    if span.path:
        return item
    time = {key: neighbour[key] for key in ("timestamp", "created_at") if key in neighbour}
    if "payload" in neighbour:
        return time | {"type": "response_item", "payload": item}
    return time | item


def relink(edit: Edit) -> Edit:
    """The edit with consecutive ordinals and parallel metadata.

    A dropped summary becomes empty: its line still ends the history before it.
    """
    from ctxtrim.formats.openai.codex_edits import valid  # for edited rollouts only

    summaries = {span for span in edit.removed if span.path == SUMMARY}
    return valid(edit.with_value(summaries, ""))


def session_of(value: Mapping[str, Any]) -> str | None:
    """The id of the session that a line begins."""
    if value.get("type") == "session_meta":
        return string(members(value.get("payload")).get("id"))
    is_header = "type" not in value and {"id", "timestamp", "instructions"} <= value.keys()
    return string(value["id"]) if is_header else None


FORMAT = Format(
    "codex",
    layout_of_events(knows),
    lazy_function("ctxtrim.formats.openai.codex_replay:read"),
    insert,
    takes=layout_of_events(admits),
    owner=owner,
    relink=relink,
    session_of=session_of,
    repeats_headers=True,
)
