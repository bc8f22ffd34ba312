"""A cache of the tokens of texts."""

from collections.abc import Callable

_KEPT = 1_000_000  # characters after which a new transcript starts a new generation
_MOST = 8_000_000  # characters of a generation


class TextCounts(dict[str, int]):
    """The tokens of texts that recur, such as the common start of logged requests.

    It holds the texts of this generation and finds those of the generation before. A transcript
    starts a new generation after a million characters, so that texts which do not recur make room
    in the caches of the processor. A generation has at most eight million characters.
    """

    _size = 0
    _before: dict[str, int] = {}  # noqa: RUF012 - replaced, never changed

    def counted(self, text: str, count: Callable[[str], int]) -> int:
        """The tokens of a text that this generation does not hold. It holds the text afterwards."""
        tokens = self._before.get(text)
        if tokens is None:
            tokens = count(text)
        size = self._size + len(text)
        if size > _MOST:
            self._renew()
            size = len(text)
        if size <= _MOST:
            self[text] = tokens
            self._size = size
        return tokens

    def next_transcript(self) -> None:
        """Start a new generation if the present one is large enough."""
        if self._size >= _KEPT:
            self._renew()

    def _renew(self) -> None:
        self._before = self.copy()
        self.clear()
        self._size = 0
