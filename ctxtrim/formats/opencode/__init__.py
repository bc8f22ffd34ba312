"""Sessions of opencode 1 and 2, and the output of `opencode run --format json`.

A format that is defined here loads its reader for files of that format only.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from ctxtrim.formats.base import Format, Insertion, Site, layout_of_events
from ctxtrim.formats.fields import members, string
from ctxtrim.formats.message_lists import Dialect, Element, Envelope, ListContents
from ctxtrim.loading import lazy_function
from ctxtrim.model import Message, Span
from ctxtrim.text.json_paths import Path

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


_MEMBERS_2: dict[str, tuple[str, type]] = {
    **dict.fromkeys(("user", "synthetic", "system", "skill"), ("text", str)),
    "assistant": ("content", list),
    "shell": ("command", str),
    "compaction": ("status", str),
    "agent-switched": ("agent", str),
    "model-switched": ("model", dict),
    "location-switched": ("location", dict),
    "idle": ("outcome", str),
}
"""A member that each type of message of opencode 2 has, and its type."""


def knows_2(value: object) -> bool:
    """Whether a value is a message of opencode 2, with an id, a time and a known type."""
    message = members(value)
    kind = message.get("type")
    if not isinstance(kind, str) or kind not in _MEMBERS_2 or not has_id_2(message):
        return False
    key, type_of_value = _MEMBERS_2[kind]
    return isinstance(message.get(key), type_of_value)


def has_id_2(message: dict[str, Any]) -> bool:
    """Whether an object has the id and the time of a message of opencode 2."""
    name, created = message.get("id"), members(message.get("time")).get("created")
    return isinstance(name, str) and name.startswith("msg_") and isinstance(created, (int, float))


def knows_any(value: object) -> bool:
    """Whether a value is a message of either version."""
    return knows(value) or knows_2(value)


def info_of(value: Any) -> dict[str, Any]:
    """The `info` of a message or session."""
    return members(members(value).get("info"))


def envelope(value: dict[str, Any], span: Span) -> Envelope:
    """The id of the session. Its messages name the model."""
    return Envelope(id=string(info_of(value).get("id")))


_SESSION = "ctxtrim.formats.opencode.session"
_EDITS = "ctxtrim.formats.opencode.session_edits"
_SESSION_2 = "ctxtrim.formats.opencode.session_2"
_read, _insert = lazy_function(f"{_SESSION}:read"), lazy_function(f"{_EDITS}:insert")
_read_2, _insert_2 = lazy_function(f"{_SESSION_2}:read"), lazy_function(f"{_SESSION_2}:insert")


def read(items: Iterable[Element], contents: ListContents) -> None:
    """Read the messages of a session, all of which are of one version."""
    items = list(items)
    is_new = any(knows_2(item.value) for item in items)
    (_read_2 if is_new else _read)(items, contents)


def insert(run: Sequence[Message], site: Site) -> Sequence[Insertion]:
    """New messages of the version of the session."""
    span = site.last.spans[0]
    values = (site.value_of(outer) for outer in (span, span.outer.outer))
    new: Sequence[Insertion] = (_insert_2 if any(map(knows_2, values)) else _insert)(run, site)
    return new


def owner(array: Path) -> Path | None:
    """A message is removed with the last of its parts or its content; a result stays."""
    if array[-1] not in ("parts", "content") or array[-2:-1] == ("state",):
        return None
    return array[:-1]


OPENCODE = Dialect(
    "opencode",
    knows_any,
    read,
    insert,
    envelope=envelope,
    owner=owner,
    relink=lazy_function(f"{_EDITS}:relink"),
    resolved=lazy_function("ctxtrim.formats.opencode.sent_messages:before_revert"),
)
