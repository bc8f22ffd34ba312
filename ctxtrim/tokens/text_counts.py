"""A cache of the tokens of texts."""

from ctxtrim.tokens.tokenizer import Tokenizer

_TEXTS = 8_000_000  # characters of cached texts


class TextCounts:
    """The tokens of texts that recur, such as the common start of logged requests.

    It holds texts of at most eight million characters in total; a full cache is cleared.
    """

    def __init__(self) -> None:
        self._tokens: dict[str, int] = {}
        self._size = 0

    def count(self, text: str, tokenizer: Tokenizer) -> int:
        """The tokens of a text."""
        tokens = self._tokens.get(text)
        if tokens is None:
            tokens = tokenizer.count(text)
            self._size += len(text)
            if self._size > _TEXTS:
                self._tokens.clear()
                self._size = len(text)
            if len(text) <= _TEXTS:
                self._tokens[text] = tokens
        return tokens
