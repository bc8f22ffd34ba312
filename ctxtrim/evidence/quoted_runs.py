"""Results of which the user repeats at least 40 consecutive characters.

All windows of 40 typed characters are indexed by hash. Looking up every window of the results would
take minutes, so they are first searched for shorter pieces: any 40 characters contain a piece of 20
characters that starts at a multiple of 21. So only every 21st position of a result is looked up,
among all typed pieces of 20 characters. For long typed text, every 7th position of results and
every 3rd typed position are used, which takes less memory: by the Chinese remainder theorem, two
such positions coincide in any 40 characters.
"""

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial

from ctxtrim.evidence.paths_in_text import Named, run_has_content

_RUN = 40  # minimum characters of a quotation
_STRETCH = 20
_MUCH = 1 << 18  # typed characters that count as long
_END = "\0"  # separates texts


def quoted_runs(
    results: Mapping[int, str], typed: Mapping[int, str], named: Named
) -> dict[int, tuple[int, int]]:
    """The range of the first quoted run of each result, extended as far as it matches.

    `results` and `typed` are texts by position.
    """
    newest = sorted(typed, reverse=True)
    pending = deque(newest)
    index = _TypedText(_END.join(typed[position] for position in newest))
    runs = {}
    for position in sorted(results, reverse=True):
        while pending and pending[0] > position:
            index.add(len(typed[pending.popleft()]))
        run = index.run_in(results[position], partial(named, position))
        if run:
            runs[position] = run
    return runs


@dataclass
class _TypedText:
    """The typed text, newest message first, and an index of the messages added so far.

    Windows are indexed when the first piece of a result is found.
    """

    text: str
    indexed: int = 0
    stretches: set[int] = field(default_factory=set)
    _windows: dict[int, int] = field(default_factory=dict)
    _pending: list[tuple[int, int]] = field(default_factory=list)

    @property
    def strides(self) -> tuple[int, int]:
        """The step between indexed positions: in typed text, and in results."""
        return (3, 7) if len(self.text) > _MUCH else (1, 21)

    def add(self, length: int) -> None:
        """Add one more message to the index."""
        start, end = self.indexed, min(self.indexed + length, len(self.text))
        text, (mine, _) = self.text, self.strides
        first = -(-start // mine) * mine
        if end - start >= _RUN:
            self.stretches |= {
                hash(text[position : position + _STRETCH])
                for position in range(first, end - _STRETCH + 1, mine)
            }
            self._pending.append((start, end - _RUN + 1))
        self.indexed += length + len(_END)

    @property
    def windows(self) -> dict[int, int]:
        """From the hash of 40 typed characters to their last position."""
        text = self.text
        for start, end in self._pending:
            self._windows |= {
                hash(text[position : position + _RUN]): position for position in range(start, end)
            }
        self._pending.clear()
        return self._windows

    def run_in(self, text: str, named: Callable[[], tuple[str, ...]]) -> tuple[int, int] | None:
        """The first run in a text that has content other than the named paths."""
        stretches, (_, theirs) = self.stretches, self.strides
        if not stretches:
            return None
        positions = range(0, len(text) - _STRETCH + 1, theirs)
        pieces = [hash(text[position : position + _STRETCH]) for position in positions]
        if stretches.isdisjoint(pieces):
            return None
        windows, paths = self.windows, named()
        tried = 0  # the first window that was not tried yet
        for position, piece in zip(positions, pieces, strict=True):
            if piece in stretches:
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
