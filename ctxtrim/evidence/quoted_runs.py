"""Results of which the user repeats at least 40 consecutive characters.

All windows of 40 typed characters are indexed by hash. Looking up every window of the results would
take minutes, so they are first searched for shorter pieces of 20 characters: every n-th position of
a result is looked up among every m-th typed position. If m and n have no common divisor and m × n
is at most 21, two such positions coincide in any 40 characters, by the Chinese remainder theorem.
So the steps follow from the lengths of the texts, and what is found does not depend on them.
"""

from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from ctxtrim.evidence.paths_in_text import Named, run_has_content

_RUN = 40  # minimum characters of a quotation
_STRETCH = 20
_STEPS = ((1, 21), (2, 9), (3, 7), (4, 5), (5, 4), (7, 3), (9, 2), (21, 1))  # m and n
_MANY = 1 << 19  # of more typed characters, every second or third one is indexed to limit memory
_SEARCHES = 1000  # pieces to search in the typed text; after them, all of it is indexed
_END = "\0"  # separates texts


def quoted_runs(
    results: Mapping[int, str], typed: Mapping[int, str], named: Named
) -> dict[int, tuple[int, int]]:
    """The range of the first quoted run of each result, extended as far as it matches.

    `results` and `typed` are texts by position.
    """
    newest = sorted(typed, reverse=True)
    pending = deque(newest)
    text = _END.join(typed[position] for position in newest)
    index = _TypedText(text, _steps(len(text), sum(map(len, results.values()))))
    runs = {}
    for position in sorted(results, reverse=True):
        while pending and pending[0] > position:
            index.add(len(typed[pending.popleft()]))
        run = index.run_in(results[position], partial(named, position))
        if run:
            runs[position] = run
    return runs


def _steps(typed: int, shown: int) -> tuple[int, int]:
    """The steps with the least work for so many characters of typed text and of results."""
    least = min(1 + typed // _MANY, 3)
    steps = [pair for pair in _STEPS if pair[0] >= least]
    return min(steps, key=lambda pair: typed / pair[0] + shown / pair[1])


@dataclass
class _TypedText:
    """The typed text, newest message first, and an index of the messages added so far.

    `steps`: between indexed positions in typed text, and in results. Windows need much memory, so
    only messages are indexed that have a piece of a result.
    """

    text: str
    steps: tuple[int, int]
    indexed: int = 0
    stretches: set[int] = field(default_factory=set)
    _windows: dict[int, int] = field(default_factory=dict)
    _starts: list[int] = field(default_factory=list)  # of the messages, in order
    _pending: dict[int, int] = field(default_factory=dict)  # by start, the end of the windows
    _searched: dict[str, int] = field(default_factory=dict)  # by piece, where its search ended

    def add(self, length: int) -> None:
        """Add one more message to the index."""
        start, end = self.indexed, min(self.indexed + length, len(self.text))
        text, (mine, _) = self.text, self.steps
        first = -(-start // mine) * mine
        if end - start >= _RUN:
            positions = range(first, end - _STRETCH + 1, mine)
            self.stretches.update([hash(text[at : at + _STRETCH]) for at in positions])
            self._pending[start] = end - _RUN + 1
        self._starts.append(start)
        self.indexed += length + len(_END)

    def windows(self, piece: str) -> dict[int, int]:
        """From the hash of 40 typed characters to their last position, at least for the messages
        that have a piece.
        """
        if self._pending and self._searched.get(piece, 0) < self.indexed:
            is_searched = len(self._searched) < _SEARCHES
            for start in list(self._with_piece(piece) if is_searched else self._pending):
                self._add_windows(start)
            self._searched[piece] = self.indexed
        return self._windows

    def _with_piece(self, piece: str) -> Iterator[int]:
        """The starts of the pending messages that have a piece."""
        position = self.text.find(piece, self._searched.get(piece, 0), self.indexed)
        while position >= 0:
            number = bisect_right(self._starts, position)
            if self._starts[number - 1] in self._pending:
                yield self._starts[number - 1]
            if number == len(self._starts):
                return
            position = self.text.find(piece, self._starts[number], self.indexed)

    def _add_windows(self, start: int) -> None:
        text, known = self.text, self._windows
        positions = range(start, self._pending.pop(start))
        new = {hash(text[position : position + _RUN]): position for position in positions}
        later = {key: known[key] for key in new.keys() & known.keys() if known[key] > new[key]}
        known |= new | later

    def run_in(self, text: str, named: Callable[[], tuple[str, ...]]) -> tuple[int, int] | None:
        """The first run in a text that has content other than the named paths."""
        stretches, (_, theirs) = self.stretches, self.steps
        if not stretches:
            return None
        positions = range(0, len(text) - _STRETCH + 1, theirs)
        pieces = [hash(text[position : position + _STRETCH]) for position in positions]
        if stretches.isdisjoint(pieces) or not self._may_run(text, positions, pieces):
            return None
        paths = named()
        tried = 0  # the first window that was not tried yet
        for position, piece in zip(positions, pieces, strict=True):
            if piece in stretches:
                windows = self.windows(text[position : position + _STRETCH])
                for start in range(
                    max(tried, position - _RUN + _STRETCH), min(position, len(text) - _RUN) + 1
                ):
                    match = windows.get(hash(text[start : start + _RUN]))
                    if match is not None and run_has_content(text, start, start + _RUN, paths):
                        run = self._extended(text, start, match)
                        if run:
                            return run
                tried = max(tried, position + 1)
        return None

    def _may_run(self, text: str, positions: Sequence[int], pieces: Sequence[int]) -> bool:
        """Whether a run may contain one of the pieces.

        If all typed positions are indexed, half of a piece further or before is typed too.
        """
        if self.steps[0] > 1:
            return True
        half = _STRETCH // 2
        for position, piece in zip(positions, pieces, strict=True):
            if piece in self.stretches:
                for start in (position - half, position + half):
                    if start >= 0 and hash(text[start : start + _STRETCH]) in self.stretches:
                        return True
        return False

    def _extended(self, text: str, start: int, match: int) -> tuple[int, int] | None:
        """The run extended in both directions; None if only the hashes are equal."""
        typed, end = self.text, start + _RUN
        shift = match - start
        if typed[match : match + _RUN] != text[start:end]:
            return None
        while start and start + shift and typed[start + shift - 1] == text[start - 1] != _END:
            start -= 1
        while (
            end < len(text) and end + shift < len(typed) and typed[end + shift] == text[end] != _END
        ):
            end += 1
        return start, end
