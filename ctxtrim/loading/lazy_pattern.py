"""Regular expressions that are compiled when they are first used."""

import re
from typing import Any, AnyStr, cast


class _LazyPattern:
    """Has the methods of a pattern, which is compiled for the first of them."""

    def __init__(self, text: str | bytes, flags: int) -> None:
        self._text, self._flags = text, flags

    def __getattr__(self, name: str) -> Any:
        value = getattr(re.compile(self._text, self._flags), name)
        setattr(self, name, value)
        return value


def lazy_pattern(text: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """A pattern to call methods of, not to pass to functions of `re`."""
    return cast("re.Pattern[AnyStr]", _LazyPattern(text, flags))
