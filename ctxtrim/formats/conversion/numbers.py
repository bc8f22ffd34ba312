"""Numbers that Python's parser accepts and JSON does not have: NaN, infinity, 1e999."""

import json
import math
from collections.abc import Iterator
from typing import Any

from ctxtrim.text.records import dump


def json_text(value: Any) -> str:
    """The JSON text of a value; NaN and infinity stay words, where `dump` has null."""
    text = dump(value)
    if "null" not in text or is_finite(value):
        return text
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def is_finite(value: Any) -> bool:
    """Whether all numbers in a value are finite."""
    return all(math.isfinite(inner) for inner in values_in(value) if isinstance(inner, float))


def values_in(value: Any) -> Iterator[Any]:
    """The value, and all values inside it."""
    stack = [value]
    while stack:
        inner = stack.pop()
        yield inner
        if isinstance(inner, dict):
            stack += inner.values()
        elif isinstance(inner, list):
            stack += inner
