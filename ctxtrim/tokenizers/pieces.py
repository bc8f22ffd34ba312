"""Pieces of a long text that are counted one by one, with the same result."""

from collections.abc import Iterator

from ctxtrim.loading import lazy_pattern

PIECE = 1 << 20  # characters counted at a time

# The last character of a word in any context, for both patterns. A space starts a new word after
# anything but a blank. So do ASCII digits after letters or the reverse, and signs and line breaks
# after either or after an ideograph. An apostrophe may belong to the word before it.
_BEFORE_SPACE = lazy_pattern(r"\S(?= )")
_SIGNS = r"\n!-&(-/:-@\[-`{-~\u3001\u3002\uff0c"
_IDEOGRAPHS = r"\u3041-\u3096\u30a1-\u30fa\u4e00-\u9fa5\uac00-\ud7a3"
_OTHER_END = lazy_pattern(
    rf"[A-Za-z0-9{_IDEOGRAPHS}](?:(?<=[A-Za-z])(?=[0-9{_SIGNS}])|(?<=[0-9])(?=[A-Za-z{_SIGNS}])"
    rf"|(?<=[{_IDEOGRAPHS}])(?=[{_SIGNS}]))"
)


def pieces(text: str) -> Iterator[str]:
    """A text in pieces of about a million characters, cut at certain word ends: their counts add up
    to its count.
    """
    start = 0
    while len(text) - start > PIECE and (end := _word_end(text, start + PIECE)):
        yield text[start:end]
        start = end
    yield text[start:]


def _word_end(text: str, start: int) -> int | None:
    """The first certain end of a word after a position; None if there is none, as in signs only.

    One search looks for spaces, the other for letters and digits. Both skip other characters fast.
    """
    for begin in range(start, len(text), PIECE):
        end = begin + PIECE
        has_space = text.find(" ", begin, end + 1) >= 0
        last = _BEFORE_SPACE.search(text, begin, end + 1) if has_space else None
        last = _OTHER_END.search(text, begin, last.end() if last else end + 1) or last
        if last is not None:
            return last.end()
    return None
