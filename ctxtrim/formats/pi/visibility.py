"""The visibility of pi messages, recorded in the `metadata` of a message.

::

    {"role": "user", "content": …,
     "metadata": {"agentVisible": false, "userVisible": true, "kind": "…"}}

The default is visible. Some agents use underscores in the names; an edited file keeps its style.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from ctxtrim.formats.base import Site
from ctxtrim.formats.fields import string
from ctxtrim.model import VISIBLE, Message, Span

Names = tuple[str, str]

_NAMES: tuple[Names, ...] = (("agentVisible", "userVisible"), ("agent_visible", "user_visible"))


def names_in(metadata: object) -> Names | None:
    """The visibility keys that some metadata uses; None if it has none."""
    if not isinstance(metadata, dict):
        return None
    return next((names for names in _NAMES if names[0] in metadata or names[1] in metadata), None)


def with_visibility(message: Message, value: Mapping[str, Any]) -> Message:
    """The message with its visibility.

    A message hidden from the person was not written by the person.
    """
    metadata = value.get("metadata")
    if not isinstance(metadata, dict):
        return message
    agent, user = names_in(metadata) or _NAMES[0]
    is_shown, kind = metadata.get(user) is not False, metadata.get("kind")
    return replace(
        message,
        agent_visible=metadata.get(agent) is not False,
        user_visible=is_shown,
        kind=string(kind),
        is_injected=message.is_injected or (message.role == "user" and not is_shown),
    )


def visibility(
    changes: Sequence[tuple[Message, Message]],
    messages: Sequence[Message],
    value_of: Callable[[Span], Any],
) -> Iterator[tuple[Span, Mapping[str, Any]]]:
    """The changed metadata members of some messages, which are added where missing.

    A system prompt outside the list and a compaction cannot record it.
    """
    names = _names_of_file(messages, value_of)
    for old, new in changes:
        owner, value = _metadata_owner(old, value_of)
        if not isinstance(value, dict) or value.get("type") == "compaction":
            continue
        metadata = value.get("metadata")
        if metadata is None:
            yield owner, {"metadata": _json_value(new, names)}
        elif isinstance(metadata, dict):
            keys = (*(names_in(metadata) or names), "kind")
            rows = zip(keys, old.visibility, new.visibility, strict=True)
            members = {
                key: new_value for key, old_value, new_value in rows if new_value != old_value
            }
            yield owner.inside("metadata"), members


def metadata_member(message: Message, site: Site) -> dict[str, Any]:
    """The metadata member of a new message; empty if everyone sees the message."""
    if message.visibility == VISIBLE:
        return {}
    return {"metadata": _json_value(message, _names_of_file(site.messages, site.value_of))}


def _json_value(message: Message, names: Names) -> dict[str, Any]:
    agent, user, kind = message.visibility
    return {names[0]: agent, names[1]: user} | ({} if kind is None else {"kind": kind})


def _names_of_file(messages: Sequence[Message], value_of: Callable[[Span], Any]) -> Names:
    """The visibility keys that the file uses, taken from the first message that has them."""
    first = next(
        (message for message in messages if not (message.agent_visible and message.user_visible)),
        None,
    )
    if first is None:
        return _NAMES[0]
    _, value = _metadata_owner(first, value_of)
    return names_in(value.get("metadata")) or _NAMES[0]


def _metadata_owner(message: Message, value_of: Callable[[Span], Any]) -> tuple[Span, Any]:
    """The object with the metadata of a message: the message itself, which in a session is inside
    an entry.
    """
    owner = message.spans[0]
    value = value_of(owner)
    if (
        isinstance(value, dict)
        and value.get("type") == "message"
        and isinstance(value.get("message"), dict)
    ):
        return owner.inside("message"), value["message"]
    return owner, value
