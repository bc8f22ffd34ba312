"""The minimum number of vocabulary pieces that cover a stream, from ctok's vocabularies, loaded
quickly.

Imported only if ctok is installed.
"""

import re
from array import array
from collections.abc import Callable, MutableSequence
from importlib.resources import files
from typing import Any, TypeVar

import orjson
from ctok.constants import (
    ATOM_TO_GLYPH,
    BOW_G,
    CAPS_G,
    EOW_G,
    ESCAPED_MARKER_LITERALS,
    MARKER_GLYPHS,
    SHIFT_G,
    L,
)
from ctok.engine import build_vocab
from ctok.main import FAMILIES
from ctok.notation import parse_marked

from ctxtrim.tokenizers.claude_normalization import UNMARKED

_ROOM = 16_000_000  # characters in a memo, plus _ENTRY per text for its overhead; about 30 MB
_ENTRY = 60
_LONGEST = 1000  # maximum characters of a cached text
_LONG = 100_000  # from this length, costs are in an array: objects take ten times the memory
_RUN = re.compile(r"(.)\1{7,}+", re.DOTALL)
_COMPLETE, _WAITING = "complete", "waiting"  # keys of a branch besides characters
_KIND = (
    rf"[{CAPS_G}{SHIFT_G}]*{BOW_G}?[^\0 \t\n0-9{UNMARKED}{BOW_G}{EOW_G}{CAPS_G}{SHIFT_G}]*{EOW_G}?"
    rf"| +|\t+|\n+|[0-9]{{1,3}}|[{UNMARKED}]"
)
_OF_ONE_KIND = re.compile(rf"(?:(?:{_KIND})\0)*+")

V = TypeVar("V")
Branch = dict[str, Any]
"""Pieces by their last character, then by the one before it, and so on: a tree that grows on
demand.
"""


class Memo(dict[str, V]):
    """A cache of results by text. A full cache is cleared; long texts are not stored."""

    def __init__(self, find: Callable[[str], V]) -> None:
        super().__init__()
        self.find = find
        self.size = 0

    def __missing__(self, text: str) -> V:
        result = self.find(text)
        if len(text) <= _LONGEST:
            self.size += len(text) + _ENTRY
            if self.size > _ROOM:
                self.clear()
                self.size = 0
            self[text] = result
        return result


def document(family: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """The data of a family in ctok: its rules, and its pieces by group, with marks as single
    characters.
    """
    data = files("ctok").joinpath("data", FAMILIES[family].pieces).read_bytes()
    for atom, glyph in ATOM_TO_GLYPH.items():
        data = data.replace(atom.encode(), glyph.encode())
    content = orjson.loads(data)
    return {**content["meta"], **dict(FAMILIES[family].meta)}, content["tokens"]


class Pieces:
    """A vocabulary."""

    def __init__(self, tokens: dict[str, Any]) -> None:
        names = (
            name for group, names in tokens.items() if group != "bytes_fallback" for name in names
        )
        self.vocabulary: frozenset[str] = build_vocab(
            (parse_marked(piece) if L in piece else piece for piece in names), tokens
        )
        self.prefixes = frozenset(map(bytes.fromhex, tokens["bytes_fallback"]))
        self.chars = Memo(self._char)
        self.reach = max(map(len, self.vocabulary))
        self.tree: Branch = {_WAITING: self.vocabulary}
        _grow(self.tree)

    def are_of_one_kind(self) -> bool:
        """Whether marks are only at the edges of pieces, and blanks, digits and unmarked characters
        alone.

        One to three digits must be a piece, and the bytes of a character its beginning.
        """
        digits = (f"{number:0{size}}" for size in (1, 2, 3) for number in range(10**size))
        pieces = "".join(f"{piece}\0" for piece in self.vocabulary)
        are_complete = {BOW_G, EOW_G, *digits} <= self.vocabulary and min(self.prefixes) >= b"\xc0"
        return are_complete and _OF_ONE_KIND.fullmatch(pieces) is not None

    def tiles(self, stream: str) -> int:
        """The minimum number of pieces that cover a stream.

        A character without a piece costs its bytes.
        """
        if stream in self.vocabulary:
            return 1
        if not stream:
            return 0
        stream, cost = self.shorten_runs(stream)
        return cost + self._cover(stream)

    def _cover(self, stream: str) -> int:
        """The minimum number of pieces that cover a stream without very long runs."""
        tree, chars = self.tree, self.chars
        costs: MutableSequence[int] = array("q", [0]) if len(stream) > _LONG else [0]
        end = len(stream) - 1
        for position in range(end):
            char = stream[position]
            least = costs[position] + chars[char]
            branch = tree.get(char)
            if branch is not None:
                start = position
                while start:
                    ahead = branch.get(stream[start - 1])
                    if ahead is not None:
                        start -= 1
                        branch = ahead
                        if _COMPLETE in branch and costs[start] < least:
                            least = costs[start] + 1
                    elif _WAITING in branch:
                        _grow(branch)
                    else:
                        break
            costs.append(least)
        # Look up pieces at the end directly: most of the tree would be for pieces that end a word.
        least = costs[end] + chars[stream[end]]
        for start in range(max(0, end + 1 - self.reach), end):
            if costs[start] + 1 < least and stream[start:] in self.vocabulary:
                least = costs[start] + 1
        return least

    def shorten_runs(self, stream: str) -> tuple[str, int]:
        """A stream with its very long runs of one character shortened, and the cost of the removed
        part.

        Let n be the length of the longest piece of such a run. An optimal cover has fewer than n
        shorter pieces: among n of them, some would add up to a multiple of n, which takes fewer. So
        a run of more than (n - 1)² characters contains a piece of n, and every n more characters
        cost one more piece. `reach` is how far a piece may extend into the run from outside.
        """
        if len(stream) <= 2 * self.reach:
            return stream, 0
        parts, cost, done = [], 0, 0
        for run in _RUN.finditer(stream):
            char = run[1]
            length = next(
                (size for size in range(self.reach, 1, -1) if size * char in self.vocabulary), 1
            )
            spare = (len(run[0]) - (length - 1) ** 2 - 2 * self.reach) // length
            if spare > 0:
                parts.append(stream[done : run.end() - spare * length])
                done = run.end()
                cost += spare * (1 if length > 1 else self.chars[char])
        return "".join((*parts, stream[done:])), cost

    def _char(self, char: str) -> int:
        """The tokens of one character: one, or the longest byte prefix that is a token plus its
        other bytes.
        """
        if char in self.vocabulary or char in MARKER_GLYPHS:
            return 1
        data = ESCAPED_MARKER_LITERALS.get(char, char).encode()
        size = next((size for size in range(len(data), 1, -1) if data[:size] in self.prefixes), 1)
        return 1 + len(data) - size


def _grow(branch: Branch) -> None:
    """Add the subbranches of a branch on first use."""
    for piece in branch.pop(_WAITING):
        ahead = branch.setdefault(piece[-1], {})
        if len(piece) == 1:
            ahead[_COMPLETE] = True
        else:
            ahead.setdefault(_WAITING, []).append(piece[:-1])
