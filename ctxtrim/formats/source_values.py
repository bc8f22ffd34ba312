"""The JSON values of the lines of a transcript, as read."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from ctxtrim.model import Line, Span
from ctxtrim.text.records import value_in, value_of

_REMEMBERED = 64  # values; those of all lines of a session need several times its bytes


class SourceValues(Sequence[Any]):
    """The JSON values of some lines, parsed when they are needed. Some of the last are kept."""

    def __init__(self, lines: Sequence[Line]) -> None:
        self.lines = lines
        self._value = lru_cache(_REMEMBERED)(lambda index: value_of(lines[index].data))
        self._inside = lru_cache(_REMEMBERED)(value_in)

    def __len__(self) -> int:
        return len(self.lines)

    def __getitem__(self, index: Any) -> Any:
        return self._value(range(len(self.lines))[index])

    def at(self, span: Span) -> Any:
        """The value at a span, also inside a string that contains JSON; None if there is none."""
        value = self._value(span.line)
        for key in span.path:
            try:
                value = (self._inside(value) if isinstance(value, str) else value)[key]
            except (KeyError, IndexError, TypeError):
                return None
        return value
