"""Who sees a message of pi's kind, which the `metadata` beside its role tells.

::

    {"role": "user", "content": …, "metadata": {"agentVisible": false, "userVisible": true, "kind": "…"}}

What is not told is visible. Some agents spell the names with underscores; a file goes on as it began.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ctxtrim.formats.base import Site
from ctxtrim.formats.visibility import PLAIN, seen
from ctxtrim.model import Message, Span

Names = tuple[str, str]

_NAMES: tuple[Names, ...] = (("agentVisible", "userVisible"), ("agent_visible", "user_visible"))


def names_in(metadata: object) -> Names | None:
    """How some metadata names who sees its message, None where it does not say."""
    if not isinstance(metadata, dict):
        return None
    return next((names for names in _NAMES if names[0] in metadata or names[1] in metadata), None)


def with_visibility(message: Message, value: Mapping[str, Any]) -> Message:
    """A message with what its value says of who sees it. What the person is not shown, the person did not write."""
    metadata = value.get("metadata")
    if not isinstance(metadata, dict):
        return message
    agent, user = names_in(metadata) or _NAMES[0]
    is_shown, kind = metadata.get(user) is not False, metadata.get("kind")
    return replace(
        message,
        agent_visible=metadata.get(agent) is not False,
        user_visible=is_shown,
        kind=kind if isinstance(kind, str) else None,
        is_injected=message.is_injected or (message.role == "user" and not is_shown),
    )


def visibility(
    changed: Sequence[tuple[Message, Message]], messages: Sequence[Message], value_of: Callable[[Span], Any]
) -> Iterator[tuple[Span, Mapping[str, Any]]]:
    """What changes in the metadata of some messages, which get some where they have none.

    A system prompt beside the list and a compaction have no place for it.
    """
    usual = _usual(messages, value_of)
    for old, new in changed:
        home, value = _home(old, value_of)
        if not isinstance(value, dict) or value.get("type") == "compaction":
            continue
        metadata = value.get("metadata")
        if metadata is None:
            yield home, {"metadata": _spelled(new, usual)}
        elif isinstance(metadata, dict):
            keys = (*(names_in(metadata) or usual), "kind")
            both = zip(keys, seen(old), seen(new), strict=True)
            yield home.inside("metadata"), {key: now for key, before, now in both if now != before}


def spelled_for(message: Message, site: Site) -> dict[str, Any]:
    """The member that says who sees a new message; none where that is everyone."""
    return {} if seen(message) == PLAIN else {"metadata": _spelled(message, _usual(site.messages, site.value_of))}


def _spelled(message: Message, names: Names) -> dict[str, Any]:
    agent, user, kind = seen(message)
    return {names[0]: agent, names[1]: user} | ({} if kind is None else {"kind": kind})


def _usual(messages: Sequence[Message], value_of: Callable[[Span], Any]) -> Names:
    """How a file names who sees its messages, as the first that not everyone sees tells."""
    first = next((message for message in messages if not (message.agent_visible and message.user_visible)), None)
    return (names_in(_home(first, value_of)[1].get("metadata")) if first else None) or _NAMES[0]


def _home(message: Message, value_of: Callable[[Span], Any]) -> tuple[Span, Any]:
    """The object that has a message's metadata: the message, which in a session is inside an entry."""
    home = message.spans[0]
    value = value_of(home)
    if isinstance(value, dict) and value.get("type") == "message" and isinstance(value.get("message"), dict):
        return home.inside("message"), value["message"]
    return home, value
