"""Reads fields of JSON objects that most formats write alike."""

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

from ctxtrim.conversation.tool_results import METADATA
from ctxtrim.model import Role, Span
from ctxtrim.text.json_paths import Path

_METADATA = frozenset(METADATA)


def string(value: object) -> str | None:
    """The value if it is a string, else None."""
    return value if isinstance(value, str) else None


def first_string(values: Iterable[object]) -> str | None:
    """The first string among some values, or None."""
    return next((value for value in values if isinstance(value, str)), None)


def members(value: Any) -> dict[str, Any]:
    """The value if it is an object, else an empty object."""
    return value if isinstance(value, dict) else {}


def elements(value: Any) -> list[Any]:
    """The value if it is a list, else an empty list."""
    return value if isinstance(value, list) else []


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


@lru_cache(512)
def _longer(path: Path, key: str | int) -> Path:
    return (*path, key)
