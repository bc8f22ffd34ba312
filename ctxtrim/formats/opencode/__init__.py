"""Sessions of opencode, and the output of `opencode run --format json`.

A format that is defined here loads its reader for files of that format only.
"""

from ctxtrim.formats.base import Format, layout_of_events
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
