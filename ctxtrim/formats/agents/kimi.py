"""Sessions of Kimi Code (`wire.jsonl`): one record per line. `kimi_replay` reads them."""

from collections.abc import Mapping
from typing import Any

from ctxtrim.formats.base import Format, layout_of_events
from ctxtrim.loading import lazy_function
from ctxtrim.text.json_paths import Path

_TYPES = (
    "context.append_message", "context.append_loop_event", "context.apply_compaction",
    "context.clear", "context.undo", "turn.prompt", "turn.steer", "turn.ended", "turn.cancel",
    "config.update", "profile.bind", "tools.set_active_tools", "llm.request",
    "llm.tools_snapshot", "usage.record", "permission.set_mode",
)  # fmt: skip


def knows(value: object) -> bool:
    """Whether a value is a record of a session."""
    if not isinstance(value, dict):
        return False
    kind = value.get("type")
    if kind == "metadata":
        return {"protocol_version", "created_at"} <= value.keys()
    if kind == "context.append_message" and not isinstance(value.get("message"), dict):
        return False
    return isinstance(kind, str) and kind in _TYPES


def owner(array: Path) -> Path | None:
    """A record is removed with the last part of its message."""
    return () if array == ("message", "content") else None


def session_of(value: Mapping[str, Any]) -> str | None:
    """The time at which the session began that a line begins; the line has no id."""
    is_first = value.get("type") == "metadata" and "created_at" in value
    return str(value["created_at"]) if is_first else None


_EDITS = "ctxtrim.formats.agents.kimi_edits"
FORMAT = Format(
    "kimi",
    layout_of_events(knows),
    lazy_function("ctxtrim.formats.agents.kimi_replay:read"),
    lazy_function(f"{_EDITS}:insert"),
    owner=owner,
    relink=lazy_function(f"{_EDITS}:relink"),
    session_of=session_of,
)
