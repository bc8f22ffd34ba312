"""How few pieces of a vocabulary cover a stream: ctok's vocabularies, read in a fraction of the time.

Imported only where ctok is installed.
"""

import re
from array import array
from collections.abc import Callable, MutableSequence
from importlib.resources import files
from typing import Any, TypeVar

import orjson
from ctok.constants import ATOM_TO_GLYPH, BOW_G, CAPS_G, EOW_G, ESCAPED_MARKER_LITERALS, MARKER_GLYPHS, SHIFT_G, L
from ctok.engine import build_vocab
from ctok.main import FAMILIES
from ctok.notation import parse_marked

from ctxtrim.tokenizers.claude_normalization import UNMARKED

_ROOM = 16_000_000  # characters of the texts in a memo, each with _ENTRY for what else it takes; about 30 MB
_ENTRY = 60
_LONGEST = 1000  # characters of a text that is worth remembering
_LONG = 100_000  # characters from which on costs are kept in an array: objects would take ten times the room
_RUN = re.compile(r"(.)\1{7,}+", re.DOTALL)
_COMPLETE, _WAITING = "complete", "waiting"  # keys of a branch beside the characters
_KIND = (
    rf"[{CAPS_G}{SHIFT_G}]*{BOW_G}?[^\0 \t\n0-9{UNMARKED}{BOW_G}{EOW_G}{CAPS_G}{SHIFT_G}]*{EOW_G}?"
    rf"| +|\t+|\n+|[0-9]{{1,3}}|[{UNMARKED}]"
)
_OF_ONE_KIND = re.compile(rf"(?:(?:{_KIND})\0)*+")

Value = TypeVar("Value")
Branch = dict[str, Any]
"""Pieces by their last character, then by the one before it, and so on: a tree that grows where it is climbed."""


class Memo(dict[str, Value]):
    """What is found out about texts when first asked for. Full, it begins anew; long texts are not kept."""

    def __init__(self, find: Callable[[str], Value]) -> None:
        super().__init__()
        self.find = find
        self.size = 0

    def __missing__(self, text: str) -> Value:
        found = self.find(text)
        if len(text) <= _LONGEST:
            self.size += len(text) + _ENTRY
            if self.size > _ROOM:
                self.clear()
                self.size = 0
            self[text] = found
        return found


def document(family: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """What ctok has written down of a family: its rules, and its pieces by group, their marks as single characters."""
    data = files("ctok").joinpath("data", FAMILIES[family].pieces).read_bytes()
    for atom, glyph in ATOM_TO_GLYPH.items():
        data = data.replace(atom.encode(), glyph.encode())
    read = orjson.loads(data)
    return {**read["meta"], **dict(FAMILIES[family].meta)}, read["tokens"]


class Pieces:
    """A vocabulary."""

    def __init__(self, tokens: dict[str, Any]) -> None:
        names = (name for group, names in tokens.items() if group != "bytes_fallback" for name in names)
        self.vocabulary: frozenset[str] = build_vocab((parse_marked(one) if L in one else one for one in names), tokens)
        self.prefixes = frozenset(map(bytes.fromhex, tokens["bytes_fallback"]))
        self.chars = Memo(self._char)
        self.reach = max(map(len, self.vocabulary))
        self.tree: Branch = {_WAITING: self.vocabulary}
        _grow(self.tree)

    def are_of_one_kind(self) -> bool:
        """Whether marks are at the edges of a piece only, and blanks, digits and unmarked characters in their own.

        Any one to three digits have to be a piece, and what is part of a character its beginning.
        """
        digits = (f"{number:0{size}}" for size in (1, 2, 3) for number in range(10**size))
        pieces = "".join(f"{piece}\0" for piece in self.vocabulary)
        are_complete = {BOW_G, EOW_G, *digits} <= self.vocabulary and min(self.prefixes) >= b"\xc0"
        return are_complete and _OF_ONE_KIND.fullmatch(pieces) is not None

    def tiles(self, stream: str) -> int:
        """How few pieces cover a stream; a character that is no piece costs its bytes, or what there are of them."""
        if stream in self.vocabulary:
            return 1
        if not stream:
            return 0
        stream, cost = self.shortened(stream)
        tree, chars = self.tree, self.chars
        costs: MutableSequence[int] = array("q", [0]) if len(stream) > _LONG else [0]
        end = len(stream) - 1
        for place in range(end):
            char = stream[place]
            least = costs[place] + chars[char]
            branch = tree.get(char)
            if branch is not None:
                start = place
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
        # At the end each piece is asked for: most of the tree would be for those that end a word.
        least = costs[end] + chars[stream[end]]
        for start in range(max(0, end + 1 - self.reach), end):
            if costs[start] + 1 < least and stream[start:] in self.vocabulary:
                least = costs[start] + 1
        return cost + least

    def shortened(self, stream: str) -> tuple[str, int]:
        """A stream without the better part of its endless runs of one character, and what that part costs.

        Let the longest piece of such a run have n characters. Where pieces are fewest, less than n are shorter: of n
        some would add up to a multiple of n, which takes fewer. So a run of more than (n - 1)² takes one of n, and
        every n characters more are one piece more. `reach` is how far a piece may come into the run from outside.
        """
        if len(stream) <= 2 * self.reach:
            return stream, 0
        parts, cost, done = [], 0, 0
        for run in _RUN.finditer(stream):
            char = run[1]
            length = next((size for size in range(self.reach, 1, -1) if size * char in self.vocabulary), 1)
            spare = (len(run[0]) - (length - 1) ** 2 - 2 * self.reach) // length
            if spare > 0:
                parts.append(stream[done : run.end() - spare * length])
                done = run.end()
                cost += spare * (1 if length > 1 else self.chars[char])
        return "".join((*parts, stream[done:])), cost

    def _char(self, char: str) -> int:
        """A character by itself: one token, or the longest beginning of its bytes that is one, and the rest of them."""
        if char in self.vocabulary or char in MARKER_GLYPHS:
            return 1
        data = ESCAPED_MARKER_LITERALS.get(char, char).encode()
        size = next((size for size in range(len(data), 1, -1) if data[:size] in self.prefixes), 1)
        return 1 + len(data) - size


def _grow(branch: Branch) -> None:
    """Give a branch the branches that were not needed so far."""
    for piece in branch.pop(_WAITING):
        ahead = branch.setdefault(piece[-1], {})
        if len(piece) == 1:
            ahead[_COMPLETE] = True
        else:
            ahead.setdefault(_WAITING, []).append(piece[:-1])
