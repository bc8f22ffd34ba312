"""The weight of a text: its tokens, counted no further than a limit needs."""

from dataclasses import dataclass, field

from ctxtrim.tokens.tokenizer import Tokenizer

WIDEST = 64
"""Characters per token, an upper bound for most texts: longer texts are counted in parts."""

_FURTHER = 8  # each counted beginning is this many times as long as the one before
_LAST = 50  # tokens at the end of a beginning that more text may merge with


@dataclass(frozen=True)
class Weight:
    """The tokens of the beginnings of a text that were counted, by their length."""

    text: str
    tokenizer: Tokenizer
    _tokens: dict[int, int] = field(default_factory=dict)

    def fits(self, limit: int) -> bool:
        """Whether the text has at most `limit` tokens.

        Only a beginning of a much longer text is counted.
        """
        length = self._beginning(limit)
        return length == len(self.text) and self._tokens_of(length) <= limit

    def characters(self, tokens: int, limit: int) -> int:
        """The characters that weigh so many tokens, on average in the beginning counted for a
        limit.
        """
        length = self._beginning(limit)
        return tokens * length // max(self._tokens_of(length), 1)

    def tokens(self, limit: int) -> int:
        """The tokens of the beginning counted for a limit."""
        return self._tokens_of(self._beginning(limit))

    def _beginning(self, limit: int) -> int:
        """The length of a beginning that exceeds a limit, or of the whole text."""
        length = WIDEST * max(limit, 1)
        while length < len(self.text) and self._tokens_of(length) <= limit + _LAST:
            length *= _FURTHER
        return min(length, len(self.text))

    def _tokens_of(self, length: int) -> int:
        if length not in self._tokens:
            self._tokens[length] = self.tokenizer.count(self.text[:length])
        return self._tokens[length]
