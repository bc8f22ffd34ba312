"""Results of which the user repeats at least 40 consecutive characters.

All windows of 40 typed characters are indexed by hash. Looking up every window of the results would
take minutes, so they are first searched for shorter words of their UTF-8 form: the words at every
n-th position of a result are looked up among those at every m-th typed position. A run has at least
33 words of 8 bytes, and 25 of 16 bytes. If m and n have no common divisor and m × n is at most that
number, two of the positions coincide in it, by the Chinese remainder theorem. So the steps follow
from the lengths of the texts, and what is found does not depend on them.
"""

from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from functools import partial
from itertools import accumulate, compress
from operator import xor
from struct import unpack_from
from typing import NamedTuple

from ctxtrim.evidence.paths_in_text import CallPaths, run_has_content
from ctxtrim.text import Range

SHORT = 1 << 11  # characters of typed text that are searched faster than indexed
_LITTLE = 4  # an index is faster for results of more than so many times the typed text
_RUN = 40  # minimum characters of a quotation
_EIGHT = 8  # bytes of a number
_PIECE = 20  # characters of a run on one side of a place, at least
_FEW = 1 << 15  # typed characters among which words of 8 bytes are rare enough
_MANY = 1 << 18  # typed characters of which not every position is indexed, to limit memory
_SEARCHES = 1000  # pieces to search in the typed text; after them, all of it is indexed
_BLOCK = 1 << 16  # characters of results that are searched together
_END = "\0"  # separates texts
_INSIDE = bytes(range(0x80, 0xC0))  # bytes of a character after its first one


class Steps(NamedTuple):
    """The bytes of a word, and the steps between the positions in typed text and in results."""

    width: int
    typed: int
    shown: int


# steps by 8 are the fastest
_STEPS = (Steps(8, 1, 32), Steps(16, 1, 24), Steps(16, 3, 8), Steps(16, 8, 3), Steps(16, 24, 1))


def quoted_runs(
    results: Mapping[int, str], prompts: Mapping[int, str], call_paths: CallPaths
) -> dict[int, Range]:
    """The range of the first quoted run of each result, extended as far as it matches.

    `results` and `prompts` are texts by position.
    """
    positions = sorted(prompts, reverse=True)
    queue = deque(positions)
    text = _END.join(prompts[position] for position in positions)
    if len(text) <= SHORT and sum(map(len, results.values())) <= _LITTLE * len(text):
        results = {
            position: result for position, result in results.items() if _has_piece(result, text)
        }
        if not results:  # as in most conversations
            return {}
    steps = _steps(len(text), sum(map(len, results.values())))
    index = _TypedText(text, steps, _typed_words(text, steps))
    runs = {}
    for position, places in index.places_in(results):
        while queue and queue[0] > position:
            index.add(len(prompts[queue.popleft()]))
        run = index.run_in(results[position], places, partial(call_paths, position))
        if run:
            runs[position] = run
    return runs


def _has_piece(result: str, text: str) -> bool:
    """Whether the text of a result may have a run: one of some pieces is in the typed text.

    Every run contains one of these pieces. In a short text they are found without an index.
    """
    starts = range(0, len(result) - _RUN + _PIECE + 1, _RUN - _PIECE + 1)
    return any(result[start : start + _PIECE] in text for start in starts)


def _steps(prompt_size: int, result_size: int) -> Steps:
    """The steps with the least work for so many characters of typed text and of results."""
    if prompt_size < _FEW:
        return _STEPS[0]
    steps = _STEPS[1:] if prompt_size < _MANY else _STEPS[2:]
    return min(steps, key=lambda steps: prompt_size / steps.typed + result_size / steps.shown)


def _words(data: bytes, width: int, step: int) -> Iterator[tuple[int, int, list[int]]]:
    """The words at every `step`-th position, as numbers: the first position of some words, the
    distance between two of them, and the words.
    """
    starts = range(0, _EIGHT * step, step)
    if step % _EIGHT == 0:
        starts, step = range(1), step // _EIGHT
    for start in starts:
        end = len(data) - (len(data) - start) % _EIGHT
        if end - start >= width:
            numbers = memoryview(data)[start:end].cast("Q")
            if width == _EIGHT:
                words = numbers[::step].tolist()
            else:
                words = list(map(xor, numbers[:-1:step], numbers[1::step]))
            yield start, _EIGHT * step, words


def _word(data: bytes, width: int, position: int) -> int:
    """The word at a position."""
    numbers: tuple[int, ...] = unpack_from("Q" if width == _EIGHT else "2Q", data, position)
    return numbers[0] if width == _EIGHT else numbers[0] ^ numbers[1]


@dataclass
class _TypedText:
    """The typed text, newest message first, the words of all messages, and the windows of those
    added so far.

    `size`: the number of characters of the messages added so far. Windows need much memory, so only
    messages are indexed that have a piece of a result.
    """

    text: str
    steps: Steps
    words: Set[int]
    size: int = 0
    _windows: dict[int, int] = field(default_factory=dict)
    _starts: list[int] = field(default_factory=list)  # of the messages, in order
    _window_ends: dict[int, int] = field(default_factory=dict)  # by start, the end of the windows
    _search_ends: dict[str, int] = field(default_factory=dict)  # by piece, where its search ended

    def add(self, length: int) -> None:
        """Add one more message."""
        start, end = self.size, min(self.size + length, len(self.text))
        if end - start >= _RUN:
            self._window_ends[start] = end - _RUN + 1
        self._starts.append(start)
        self.size += length + len(_END)

    def _search(self, piece: str) -> None:
        """Add the windows of the messages that have a piece."""
        if self._window_ends and self._search_ends.get(piece, 0) < self.size:
            is_searched = len(self._search_ends) < _SEARCHES
            for start in list(self._with_piece(piece) if is_searched else self._window_ends):
                self._add_windows(start)
            self._search_ends[piece] = self.size

    def _with_piece(self, piece: str) -> Iterator[int]:
        """The starts of the messages that have a piece and no windows yet."""
        position = self.text.find(piece, self._search_ends.get(piece, 0), self.size)
        while position >= 0:
            number = bisect_right(self._starts, position)
            if self._starts[number - 1] in self._window_ends:
                yield self._starts[number - 1]
            if number == len(self._starts):
                return
            position = self.text.find(piece, self._starts[number], self.size)

    def _add_windows(self, start: int) -> None:
        text, windows = self.text, self._windows
        positions = range(start, self._window_ends.pop(start))
        new_windows = {hash(text[position : position + _RUN]): position for position in positions}
        later_windows = {
            key: windows[key]
            for key in new_windows.keys() & windows.keys()
            if windows[key] > new_windows[key]
        }
        windows |= new_windows | later_windows

    def run_in(
        self, text: str, places: Sequence[int], call_paths: Callable[[], tuple[str, ...]]
    ) -> Range | None:
        """The first run in a result that has content other than the named paths.

        `places` are those of `places_in`.
        """
        data, paths = _data(text), call_paths()
        frontier = 0  # the first window that was not tried yet
        last_place, middle = -1, -1  # the place before, and the character at it
        for place in places:
            if not self._may_run(data, place):
                continue
            middle += _characters(data[last_place + 1 : place + 1])
            last_place = place
            windows = self._windows_at(text, middle)
            first_start = max(frontier, middle - _RUN + 1)
            for start in range(first_start, min(middle, len(text) - _RUN) + 1):
                match = windows.get(hash(text[start : start + _RUN]))
                if match is not None and run_has_content(text, start, start + _RUN, paths):
                    run = self._whole_run(text, start, match)
                    if run:
                        return run
            frontier = max(frontier, middle + 1)
        return None

    def places_in(self, results: Mapping[int, str]) -> Iterator[tuple[int, list[int]]]:
        """The position of each result with words of the typed text, newest first, and the bytes at
        which they begin, in order.

        The words of many results are looked up at once. So a word may end in the next result.
        """
        for block in _blocks(results):
            texts = [_data(results[position]) for position in block]
            ends = list(accumulate(len(text) + len(_END) for text in texts))
            places: dict[int, list[int]] = {}
            for place in self._places(_END.encode().join(texts)):
                number = bisect_right(ends, place)
                start = ends[number - 1] if number else 0
                places.setdefault(block[number], []).append(place - start)
            yield from places.items()

    def _places(self, data: bytes) -> list[int]:
        """The bytes at which words of the typed text begin in some data, in order."""
        places: list[int] = []
        for start, distance, words in _words(data, self.steps.width, self.steps.shown):
            if not self.words.isdisjoint(words):
                candidates = range(start, start + len(words) * distance, distance)
                places += compress(candidates, map(self.words.__contains__, words))
        return sorted(places)

    def _may_run(self, data: bytes, place: int) -> bool:
        """Whether a word may be part of a run: the words around it are typed, too."""
        width, step, _ = self.steps
        last_start = len(data) - width
        half = (_RUN - width) // 2 // step * step  # a run goes on so far in one direction
        if not any(
            0 <= start <= last_start and _word(data, width, start) in self.words
            for start in (place - half, place + half)
        ):
            return False
        missing_words = (_RUN - width + 1) // step - 1  # indexed words of a run besides this one
        for direction in (-step, step):
            start = place + direction
            while missing_words > 0 and 0 <= start <= last_start:
                if _word(data, width, start) not in self.words:
                    break
                missing_words -= 1
                start += direction
        return missing_words <= 0

    def _windows_at(self, text: str, middle: int) -> Mapping[int, int]:
        """The windows of at least the messages that have a run with one character of a text.

        Such a run has a piece that begins or ends there.
        """
        for start in (middle - _PIECE, middle):
            piece = text[start : start + _PIECE] if start >= 0 else ""
            if len(piece) == _PIECE:
                self._search(piece)
        return self._windows

    def _whole_run(self, text: str, start: int, match: int) -> Range | None:
        """The run extended in both directions; None if only the hashes are equal."""
        typed_text, end = self.text, start + _RUN
        shift = match - start
        if typed_text[match : match + _RUN] != text[start:end]:
            return None
        while start and start + shift and typed_text[start + shift - 1] == text[start - 1] != _END:
            start -= 1
        while (
            end < len(text)
            and end + shift < len(typed_text)
            and typed_text[end + shift] == text[end] != _END
        ):
            end += 1
        return start, end


def _typed_words(text: str, steps: Steps) -> set[int]:
    """The words of the typed text. Those across two messages are no words of a run."""
    numbers: set[int] = set()
    for _, _, words in _words(_data(text), steps.width, steps.typed):
        numbers.update(words)
    return numbers


def _blocks(results: Mapping[int, str]) -> Iterator[list[int]]:
    """The positions of results, newest first, in groups of about `_BLOCK` characters."""
    block: list[int] = []
    size = 0
    for position in sorted(results, reverse=True):
        block.append(position)
        size += len(results[position])
        if size >= _BLOCK:
            yield block
            block, size = [], 0
    if block:
        yield block


def _data(text: str) -> bytes:
    """The UTF-8 form of a text, also with lone surrogates."""
    return text.encode("utf-8", "surrogatepass")


def _characters(data: bytes) -> int:
    """The number of characters that begin in some bytes."""
    return len(data) if data.isascii() else len(data.translate(None, _INSIDE))
