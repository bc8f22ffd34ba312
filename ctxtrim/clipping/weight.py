"""The weight of a text: its tokens, counted no further than a limit needs."""

from dataclasses import dataclass, field

from ctxtrim.tokens import Tokenizer

WIDEST = 64
"""Characters per token, an upper bound for most texts: longer texts are counted in parts."""

_FURTHER = 8  # each counted beginning is this much longer
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
        length = WIDEST * max(limit, 1)
        while length < len(self.text):
            if self._of(length) > limit + _LAST:
                return False
            length *= _FURTHER
        return self._of(len(self.text)) <= limit

    def characters(self, tokens: int) -> int:
        """The characters that weigh so many tokens, on average in the longest counted beginning."""
        length = max(self._tokens, default=0)
        return tokens * length // max(self._tokens.get(length, 0), 1)

    @property
    def tokens(self) -> int:
        """The tokens of the longest counted beginning."""
        return max(self._tokens.values(), default=0)

    def _of(self, length: int) -> int:
        if length not in self._tokens:
            self._tokens[length] = self.tokenizer.count(self.text[:length])
        return self._tokens[length]
