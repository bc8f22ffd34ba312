"""Reads fields of JSON objects that most formats write alike."""

from typing import Any


def string(value: object) -> str | None:
    """The value if it is a string, else None."""
    return value if isinstance(value, str) else None


def objects(value: Any) -> list[Any]:
    """The elements of a list; none for other values."""
    return value if isinstance(value, list) else []
