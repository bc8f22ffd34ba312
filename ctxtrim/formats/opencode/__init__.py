"""Sessions of opencode, and the output of `opencode run --format json`.

A format that is defined here loads its reader for files of that format only.
"""

from ctxtrim.formats.base import Format, Layout
from ctxtrim.formats.fields import members
from ctxtrim.loading import lazy_function

_PARTS = {
    "text": "text",
    "reasoning": "reasoning",
    "tool_use": "tool",
    "step_start": "step-start",
    "step_finish": "step-finish",
}
"""The type of the part of each event."""


def sniff_run(value: object) -> Layout | None:
    """Whether a value is an event with a part of a message."""
    event = members(value)
    kind, part = event.get("type"), members(event.get("part"))
    if not isinstance(kind, str) or not isinstance(event.get("sessionID"), str):
        return None
    is_part = kind in _PARTS and part.get("type") == _PARTS[kind]
    return "events" if is_part else None


_RUN = "ctxtrim.formats.opencode.run_events"
OPENCODE_RUN = Format(
    "opencode-run",
    sniff_run,
    lazy_function(f"{_RUN}:read"),
    lazy_function(f"{_RUN}:insert"),
)
