"""Reads fields of JSON objects that most formats write alike."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import chain
from typing import Any

from ctxtrim.conversation.tool_results import METADATA
from ctxtrim.model import Role, Span
from ctxtrim.text.json_paths import Path

_METADATA = frozenset(METADATA)
PAIRED_TYPES = ("tool_use", "tool_result", "toolRequest", "toolResponse", "function_result")
"""Types of blocks that are calls or results of Anthropic, Goose, or Gemini's Interactions."""
# of Genkit and of Haystack
_PAIRED_MEMBERS = frozenset(("toolRequest", "toolResponse", "tool_call", "tool_call_result"))
_CHAT_ROLES = ("system", "developer", "tool", "function")
_CHAT_MEMBERS = frozenset(("tool_calls", "tool_call_id", "function_call"))


def string(value: object) -> str | None:
    """The value if it is a string, else None."""
    return value if isinstance(value, str) else None


def identifier(value: object) -> str | None:
    """The id of a conversation as a text, else None. Data sets number their rows."""
    return str(value) if type(value) is int else string(value)


def boolean(value: object) -> bool | None:
    """The value if it is a boolean, else None."""
    return value if isinstance(value, bool) else None


Located = tuple[Any, Span]
"""A value as read, and its span."""


def located(values: Any, span: Span) -> list[Located]:
    """The elements of a list at a span, with their spans; none for another value."""
    return [(value, span.inside(index)) for index, value in enumerate(elements(values))]


def first_string(values: Iterable[object]) -> str | None:
    """The first string among some values, or None."""
    return next((value for value in values if isinstance(value, str)), None)


def members(value: Any) -> dict[str, Any]:
    """The value if it is an object, else an empty object."""
    return value if isinstance(value, dict) else {}


def elements(value: Any) -> list[Any]:
    """The value if it is a list, else an empty list."""
    return value if isinstance(value, list) else []


def has_chat_messages(items: Iterable[Any], roles: Sequence[str] = _CHAT_ROLES) -> bool:
    """Whether some elements have a member that only messages of OpenAI's Chat Completions have, or
    one of its `roles`: those that the API of the other elements lacks.
    """
    return any(
        members(item).get("role") in roles or not _CHAT_MEMBERS.isdisjoint(members(item))
        for item in items
    )


def is_paired_by_member(block: Any) -> bool:
    """Whether a block is a call or a result of Bedrock, Genkit or Haystack, without a type."""
    if not isinstance(block, dict):
        return False
    if "toolUse" in block or "toolResult" in block:
        return True
    return "type" not in block and not _PAIRED_MEMBERS.isdisjoint(block)


def member_names(items: Iterable[Any]) -> Iterator[str]:
    """The names of the members of all objects among some values."""
    return chain.from_iterable([item for item in items if isinstance(item, dict)])


def role_in(value: Any, key: str, roles: Mapping[object, Role]) -> Role | None:
    """The role under a key of an object; None if there is none or it is unknown."""
    name = value.get(key) if isinstance(value, dict) else None
    return roles.get(name) if isinstance(name, str) else None


def metadata_in(value: Mapping[str, Any]) -> tuple[tuple[str, int], ...]:
    """The metadata that a stage wrote next to a tool result."""
    if _METADATA.isdisjoint(value):
        return ()
    return tuple((key, value[key]) for key in METADATA if type(value.get(key)) is int)


def inside(span: Span, key: str | int) -> Span:
    """The span of a member or element. The paths of all lines share their memory."""
    return Span(span.line, _longer(span.path, key))


def is_in(span: Span, outer: Span) -> bool:
    """Whether a value is in another one, or is that value."""
    return span.line == outer.line and span.path[: len(outer.path)] == outer.path


@lru_cache(512)
def _longer(path: Path, key: str | int) -> Path:
    return (*path, key)


def stream_session(value: Mapping[str, Any]) -> str | None:
    """The id of the session in the first event of a program's stream; None for other events."""
    is_first = "init" in (value.get("type"), value.get("subtype"))
    return string(value.get("session_id")) if is_first else None
