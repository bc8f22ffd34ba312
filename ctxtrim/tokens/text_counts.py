"""A cache of the tokens of texts."""

_TEXTS = 8_000_000  # characters of cached texts


class TextCounts(dict[str, int]):
    """The tokens of texts that recur, such as the common start of logged requests.

    It holds texts of at most eight million characters in total; a full cache is cleared.
    """

    _size = 0

    def add(self, text: str, tokens: int) -> int:
        """Store the tokens of a text, and return them."""
        self._size += len(text)
        if self._size > _TEXTS:
            self.clear()
            self._size = len(text)
        if len(text) <= _TEXTS:
            self[text] = tokens
        return tokens
