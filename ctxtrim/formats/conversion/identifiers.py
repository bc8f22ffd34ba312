"""Call ids and tool names that a target accepts."""

import re

from ctxtrim.tokens.tokenizer import without_lone_surrogates


class Identifiers:
    """Valid identifiers for those of the source.

    `invalid` matches characters that the target refuses; `longest` is the most characters. An
    identifier that is missing or empty becomes `fallback` with a number.
    """

    def __init__(self, invalid: re.Pattern[str] | None, longest: int, fallback: str) -> None:
        self._invalid, self._longest, self._fallback = invalid, longest, fallback
        self._identifiers: set[str] = set()
        self._numbers: dict[str, int] = {}  # the last number that a stem got
        self._by_text: dict[str, str] = {}

    def unique(self, text: str | None) -> str:
        """A valid identifier that was not returned before: the text itself where possible."""
        stem = self._valid(text or "") or self._fallback
        number = self._numbers.get(stem, 1 if text else 0)
        identifier = stem if text else ""
        while not identifier or identifier in self._identifiers:
            number += 1
            ending = f"_{number}"
            identifier = stem[: self._longest - len(ending)] + ending
        self._numbers[stem] = number
        self._identifiers.add(identifier)
        return identifier

    def same(self, text: str | None) -> str:
        """A valid identifier, always the same for the same text."""
        key = text or ""
        if key not in self._by_text:
            self._by_text[key] = self.unique(key) if key else self._fallback
        return self._by_text[key]

    def _valid(self, text: str) -> str:
        identifier = self._invalid.sub("_", text) if self._invalid is not None else text
        return without_lone_surrogates(identifier)[: self._longest]
