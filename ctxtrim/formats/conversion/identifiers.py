"""Call ids and tool names that a target accepts."""

import re

_SURROGATES = re.compile("[\ud800-\udfff]")


class Identifiers:
    """Valid identifiers for those of the source.

    `invalid` matches characters that the target refuses; `longest` is the most characters. An
    identifier that is missing or empty becomes `fallback` with a number.
    """

    def __init__(self, invalid: re.Pattern[str] | None, longest: int, fallback: str) -> None:
        self._invalid, self._longest, self._fallback = invalid, longest, fallback
        self._used: set[str] = set()
        self._numbers: dict[str, int] = {}  # the last number that a stem got
        self._known: dict[str, str] = {}

    def unique(self, text: str | None) -> str:
        """A valid identifier that was not returned before: the text itself where possible."""
        stem = self._valid(text or "") or self._fallback
        number = self._numbers.get(stem, 1 if text else 0)
        found = stem if text else ""
        while not found or found in self._used:
            number += 1
            ending = f"_{number}"
            found = stem[: self._longest - len(ending)] + ending
        self._numbers[stem] = number
        self._used.add(found)
        return found

    def same(self, text: str | None) -> str:
        """A valid identifier, always the same for the same text."""
        key = text or ""
        if key not in self._known:
            self._known[key] = self.unique(key) if key else self._fallback
        return self._known[key]

    def _valid(self, text: str) -> str:
        valid = self._invalid.sub("_", text) if self._invalid is not None else text
        return _SURROGATES.sub("\ufffd", valid)[: self._longest]
