"""Results of which the user repeats at least 40 consecutive characters.

Windows of 40 characters of what the user wrote are remembered by their hash. To try every window of the results would
take minutes, so they are first searched for shorter stretches: of any 40 characters, 20 stand at a place that is
divisible by 21. So only every 21st place of a result is looked up, among all stretches of 20 characters that the user
wrote. Where the user wrote much, it is every 7th there and every 3rd here, which takes less memory: by the Chinese
remainder theorem two such places meet in any 40 characters.
"""

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field

from ctxtrim.evidence.paths_in_text import run_says

_RUN = 40  # characters that are a quotation
_STRETCH = 20
_MUCH = 1 << 18  # characters that the user wrote
_END = "\0"  # between texts


def quoted_runs(
    results: Mapping[int, str], said: Mapping[int, str], named: Mapping[int, tuple[str, ...]]
) -> dict[int, tuple[int, int]]:
    """Where the first such run stands in each result, as long as it is.

    All by position: the texts of the results, what the user said, and the paths that a result's own call named.
    """
    newest = sorted(said, reverse=True)
    unheard = deque(newest)
    speech = _Speech(_END.join(said[position] for position in newest))
    found = {}
    for position in sorted(results, reverse=True):
        while unheard and unheard[0] > position:
            speech.hear(len(said[unheard.popleft()]))
        run = speech.run_in(results[position], named.get(position, ()))
        if run:
            found[position] = run
    return found


@dataclass
class _Speech:
    """What the user wrote, the newest first, and an index of as much of it as was heard."""

    text: str
    heard: int = 0
    stretches: set[int] = field(default_factory=set)
    windows: dict[int, int] = field(default_factory=dict)  # from the hash of 40 characters to a place where they stand

    @property
    def strides(self) -> tuple[int, int]:
        """Of how many places one is looked at: here, and in results."""
        return (3, 7) if len(self.text) > _MUCH else (1, 21)

    def hear(self, length: int) -> None:
        """Take one more message into the index."""
        start, end = self.heard, min(self.heard + length, len(self.text))
        text, (mine, _) = self.text, self.strides
        first = -(-start // mine) * mine
        self.stretches.update(hash(text[place : place + _STRETCH]) for place in range(first, end - _STRETCH + 1, mine))
        self.windows.update((hash(text[place : place + _RUN]), place) for place in range(start, end - _RUN + 1))
        self.heard += length + len(_END)

    def run_in(self, text: str, paths: tuple[str, ...]) -> tuple[int, int] | None:
        """The first run in a text that says something."""
        if not self.windows:
            return None
        stretches, (_, theirs) = self.stretches, self.strides
        tried = 0  # the window from which on none was tried
        for place in range(0, len(text) - _STRETCH + 1, theirs):
            if hash(text[place : place + _STRETCH]) in stretches:
                for start in range(max(tried, place - _RUN + _STRETCH), min(place, len(text) - _RUN) + 1):
                    there = self.windows.get(hash(text[start : start + _RUN]))
                    if there is not None and run_says(text, start, start + _RUN, paths):
                        run = self._grown(text, start, there)
                        if run:
                            return run
                tried = max(tried, place + 1)
        return None

    def _grown(self, text: str, start: int, there: int) -> tuple[int, int] | None:
        """A run as long as it is, None where only the hashes were the same."""
        said, end = self.text, start + _RUN
        shift = there - start
        if said[there : there + _RUN] != text[start:end]:
            return None
        while start and start + shift and said[start + shift - 1] == text[start - 1] != _END:
            start -= 1
        while end < len(text) and end + shift < len(said) and said[end + shift] == text[end] != _END:
            end += 1
        return start, end
