"""Sessions of opencode, and the output of `opencode run --format json`.

A format that is defined here loads its reader for files of that format only.
"""

from typing import Any

from ctxtrim.formats.base import Format, layout_of_events, parts_owner
from ctxtrim.formats.fields import members, string
from ctxtrim.formats.message_lists import Dialect, Envelope
from ctxtrim.loading import lazy_function
from ctxtrim.model import Span

_PARTS = {
    "text": "text",
    "reasoning": "reasoning",
    "tool_use": "tool",
    "step_start": "step-start",
    "step_finish": "step-finish",
}
"""The type of the part of each event."""


def knows_run(value: object) -> bool:
    """Whether a value is an event with a part of a message."""
    event = members(value)
    kind, part = event.get("type"), members(event.get("part"))
    if not isinstance(kind, str) or not isinstance(event.get("sessionID"), str):
        return False
    return kind in _PARTS and part.get("type") == _PARTS[kind]


_RUN = "ctxtrim.formats.opencode.run_events"
OPENCODE_RUN = Format(
    "opencode-run",
    layout_of_events(knows_run),
    lazy_function(f"{_RUN}:read"),
    lazy_function(f"{_RUN}:insert"),
)


def knows(value: object) -> bool:
    """Whether a value is a message of a session, with an id, a known role and parts."""
    info = info_of(value)
    is_message = isinstance(info.get("id"), str) and info.get("role") in ("user", "assistant")
    return is_message and isinstance(members(value).get("parts"), list)


def info_of(value: Any) -> dict[str, Any]:
    """The `info` of a message or session."""
    return members(members(value).get("info"))


def envelope(value: dict[str, Any], span: Span) -> Envelope:
    """The id of the session. Its messages name the model."""
    return Envelope(id=string(info_of(value).get("id")))


_EDITS = "ctxtrim.formats.opencode.session_edits"
OPENCODE = Dialect(
    "opencode",
    knows,
    lazy_function("ctxtrim.formats.opencode.session:read"),
    lazy_function(f"{_EDITS}:insert"),
    envelope=envelope,
    owner=parts_owner,
    relink=lazy_function(f"{_EDITS}:relink"),
    resolved=lazy_function("ctxtrim.formats.opencode.sent_messages:before_revert"),
)
