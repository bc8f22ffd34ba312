"""The text of digests: titled entries, one for each step, which get shorter with age so that the
total is bounded.

::

    [Tool summary]
    The assistant did this; the calls and results are left out.
    12 earlier tool results: read_file × 8, bash × 4          the oldest steps, counted
                                                              an empty line between two entries
    > Now the harbour.                                        older steps, shortened
    [✓ bash: ls harbour | 60 lines]

    [✓ bash: make | exit 0 | 3 lines]                         the newest steps, with excerpts
    3 targets built
"""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from typing import NamedTuple

from ctxtrim.evidence.one_line import parse_summary_line
from ctxtrim.summaries.excerpts import head
from ctxtrim.summaries.markers import DIGEST, STEP
from ctxtrim.summaries.sections import counted, parse_counted
from ctxtrim.text.numbers import most_first

DID = "The assistant did this; the calls and results are left out."
"""The line after the title."""

_BRIEF = 200  # characters of a shortened entry by an LLM
_TOOLS = 8  # tools that are counted by name
_COUNTS = re.compile(r"(\d+) earlier tool results?: (.+)")


class DigestEntry(NamedTuple):
    """The digest of a step, or of all steps of a compaction: its title, and its text without the
    title.
    """

    title: str
    text: str

    @property
    def counts(self) -> Counter[str]:
        """The number of results per tool that the entry replaces, as far as its text says so."""
        totals: Counter[str] = Counter()
        for line in self.text.split("\n"):
            fields = parse_summary_line(line)
            totals.update({fields.tool: 1} if fields else counted_tools(line))
        return totals

    @property
    def brief(self) -> "DigestEntry":
        """The entry without excerpts of results: the assistant's text, and a line
        for each result.
        """
        lines = self.text.split("\n")
        kept = [
            line
            for line in lines
            if line.startswith("> ") or parse_summary_line(line) or counted_tools(line)
        ]
        if all(line.startswith("> ") for line in kept):
            kept.append(head(" ".join(lines[len(kept) :]), _BRIEF))
        return DigestEntry(self.title, "\n".join(kept))


def counted_tools(line: str) -> dict[str, int]:
    """The tools in a line of counts, each with its number of results; empty for any other line."""
    match = _COUNTS.fullmatch(line)
    counts: dict[str, int] = {}
    for text in match[2].split(", ") if match else ():
        counts.update(parse_counted(text))
    return counts


def digest_text(entries: Sequence[DigestEntry]) -> str:
    """Entries as one text. Consecutive entries share one title."""
    blocks: list[str] = []
    title = None
    for entry in entries:
        blocks.append(entry.text if entry.title == title else f"{entry.title}\n{DID}\n{entry.text}")
        title = entry.title
    return "\n\n".join(blocks)


def entries_of(text: str) -> list[DigestEntry]:
    """The entries of a text of digests."""
    entries: list[DigestEntry] = []
    title = STEP
    for block in text.split("\n\n"):
        first, _, rest = block.partition("\n")
        if first in (STEP, DIGEST):
            title, block = first, rest.removeprefix(DID).removeprefix("\n")
        if block.strip():
            entries.append(DigestEntry(title, block))
    return entries


def bounded_texts(
    entries: Sequence[DigestEntry], limit: int, size: Callable[[str], int]
) -> list[str]:
    """The texts of entries within about `limit` tokens together, measured by `size`; empty for each
    dropped entry.

    The newest entries are complete, up to half of the tokens; older ones are brief. The oldest are
    dropped, and the first kept entry begins with their counts.
    """
    texts = [""] * len(entries)
    room = limit - size(f"{DIGEST}\n{DID}\n{_counts(entries)}\n\n")
    full = room // 2
    for position in range(len(entries) - 1, -1, -1):
        text = entries[position].text
        if size(text) > min(room, full):
            full, text = 0, entries[position].brief.text
        tokens = size(f"{text}\n\n")
        if tokens > room:
            break
        room, full = room - tokens, full - tokens
        texts[position] = text
    left_out = [entry for entry, text in zip(entries, texts, strict=True) if not text]
    if left_out:
        first = min(len(left_out), len(entries) - 1)
        texts[first] = "\n\n".join(filter(None, (_counts(left_out), texts[first])))
    return texts


def _counts(entries: Sequence[DigestEntry]) -> str:
    """A line with the number of results of some entries by tool."""
    totals: Counter[str] = Counter()
    for entry in entries:
        totals.update(entry.counts)
    if not totals:
        return ""
    order = most_first(totals)
    shown = Counter(dict(order[:_TOOLS]))
    if len(order) > _TOOLS:
        shown["others"] += sum(count for _, count in order[_TOOLS:])
    total = sum(totals.values())
    tools = ", ".join(counted(tool, count) for tool, count in shown.items())
    return f"{total} earlier tool result{'' if total == 1 else 's'}: {tools}"
