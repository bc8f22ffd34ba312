"""The text of digests: entries under a title, one for each step, that get shorter with age so that all are bounded.

::

    [Tool summary]
    The assistant did this; the calls and results are left out.
    12 earlier tool results: read_file × 8, bash × 4          the oldest steps, counted
                                                              an empty line between two entries
    > Now the harbour.                                        older steps, briefly
    [✓ bash: ls harbour | 60 lines]

    [✓ bash: make | exit 0 | 3 lines]                         the newest steps, with excerpts
    3 targets built
"""

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

from ctxtrim.evidence import told_by
from ctxtrim.summaries.excerpts import head
from ctxtrim.summaries.markers import DIGEST, STEP

DID = "The assistant did this; the calls and results are left out."
"""The line after the title."""

_BRIEF = 200  # characters of an entry that an LLM wrote, where it is shortened
_TOOLS = 8  # tools that are counted by name
_COUNTS = re.compile(r"(\d+) earlier tool results?: (.+)")
_COUNT = re.compile(r"(.+) × (\d+)")


class Entry(NamedTuple):
    """The digest of a step, or of all steps that a compaction took: its title, and its text without the title."""

    title: str
    text: str

    @property
    def counts(self) -> dict[str, int]:
        """How many results of each tool it replaces, as far as it says so."""
        found: dict[str, int] = {}
        for line in self.text.split("\n"):
            told = told_by(line)
            for tool, number in {told.tool: 1}.items() if told else counted(line).items():
                found[tool] = found.get(tool, 0) + number
        return found

    @property
    def brief(self) -> "Entry":
        """The entry without excerpts of results: the words of the assistant, and a line for each result."""
        lines = self.text.split("\n")
        kept = [line for line in lines if line.startswith("> ") or told_by(line) or counted(line)]
        if all(line.startswith("> ") for line in kept):
            return Entry(self.title, "\n".join((*kept, head(" ".join(lines[len(kept) :]), _BRIEF))))
        return Entry(self.title, "\n".join(kept))


def counted(line: str) -> dict[str, int]:
    """The tools that a line of counts names, each with its number of results; empty for any other line."""
    found = _COUNTS.fullmatch(line)
    pairs = [_COUNT.fullmatch(text) for text in found[2].split(", ")] if found else []
    return {pair[1]: int(pair[2]) for pair in pairs if pair}


def written(entries: Sequence[Entry]) -> str:
    """Entries as one text. Each title is written once for the entries that share it."""
    blocks: list[str] = []
    title = None
    for entry in entries:
        blocks.append(entry.text if entry.title == title else f"{entry.title}\n{DID}\n{entry.text}")
        title = entry.title
    return "\n\n".join(blocks)


def entries_of(text: str) -> list[Entry]:
    """The entries of a text of digests."""
    found: list[Entry] = []
    title = STEP
    for block in text.split("\n\n"):
        first, _, rest = block.partition("\n")
        if first in (STEP, DIGEST):
            title, block = first, rest.removeprefix(DID).removeprefix("\n")
        if block.strip():
            found.append(Entry(title, block))
    return found


def bounded(entries: Sequence[Entry], most: int, size: Callable[[str], int]) -> list[str]:
    """The texts of entries that have about `most` tokens together, by `size`; empty for each that is left out.

    The newest are in full, up to half of the tokens; older ones are brief. The oldest are left out, and the first entry
    that is kept begins with their counts.
    """
    texts = [""] * len(entries)
    room = most - size(f"{DIGEST}\n{DID}\n{_counts(entries)}\n\n")
    full = room // 2
    for place in range(len(entries) - 1, -1, -1):
        text = entries[place].text
        if size(text) > min(room, full):
            full, text = 0, entries[place].brief.text
        tokens = size(f"{text}\n\n")
        if tokens > room:
            break
        room, full = room - tokens, full - tokens
        texts[place] = text
    left_out = [entry for entry, text in zip(entries, texts, strict=True) if not text]
    if left_out:
        first = min(len(left_out), len(entries) - 1)
        texts[first] = "\n\n".join(filter(None, (_counts(left_out), texts[first])))
    return texts


def _counts(entries: Sequence[Entry]) -> str:
    """A line that counts the results of some entries by tool."""
    numbers: dict[str, int] = {}
    for entry in entries:
        for tool, number in entry.counts.items():
            numbers[tool] = numbers.get(tool, 0) + number
    if not numbers:
        return ""
    order = sorted(numbers.items(), key=lambda item: (-item[1], item[0]))
    shown = dict(order[:_TOOLS])
    if len(order) > _TOOLS:
        shown["others"] = shown.get("others", 0) + sum(number for _, number in order[_TOOLS:])
    total = sum(numbers.values())
    tools = ", ".join(f"{tool} × {number}" for tool, number in shown.items())
    return f"{total} earlier tool result{'' if total == 1 else 's'}: {tools}"
