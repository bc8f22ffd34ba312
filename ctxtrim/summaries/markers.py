"""Markers of summaries and digests in a conversation, so that every reader recognizes them.

::

    summary · END · digests · END · text of the person            each of the three may be missing
"""

import re
from typing import NamedTuple

TITLE = "[Previous conversation summary]"
"""The first line of a summary by an LLM, and of every summary of a compaction."""
END = "\n\n[End of summary]\n\n"
"""The separator between a summary and the text of the prompt that it leads."""
OMITTED = "[Summary omitted - insufficient budget]"
"""The text in place of a summary that had no room."""
STEP = "[Tool summary]"
"""The first line of the digest of one step."""
DIGEST = "[Compaction tool digest]"
"""The first line of the digest of all steps that a compaction replaced."""

OPENING = "["
"""How all of these begin, except the separator."""

_DIGESTS = (f"{STEP}\n", f"{DIGEST}\n")
_OLDER = re.compile(r"Written after the (\d+) answers? that follow it\.\n")


class Leads(NamedTuple):
    """The summary and the digests that lead a text, and the rest of it; None for each that is
    missing.
    """

    summary: str | None
    digests: str | None
    own: str | None


def is_titled(text: str) -> bool:
    """Whether a text begins with a summary."""
    if not text.startswith(("[Summary of ", TITLE, OMITTED)):
        return False
    from ctxtrim.summaries.sections import is_facts  # few conversations have a summary

    return is_facts(text) or text.partition("\n")[0] in (TITLE, OMITTED)


def is_digest(text: str) -> bool:
    """Whether a text begins with a digest."""
    return text.startswith(_DIGESTS)


def is_only_summary(text: str) -> bool:
    """Whether a text is a summary and nothing else."""
    return is_titled(text) and END not in text


def leads_of(text: str) -> Leads:
    """The texts that lead a text, and the person's text after them."""
    summary, own = None, text
    if is_titled(own):
        summary, end, own = own.partition(END)
        if not end:
            return Leads(summary, None, None)
    if not is_digest(own):
        return Leads(summary, None, own)
    digests, end, own = own.partition(END)
    return Leads(summary, digests, own if end else None)


def titled(text: str, answers: int = 0) -> str:
    """A summary with its title. `answers`: the number of older answers that follow it."""
    if answers:
        s = "" if answers == 1 else "s"
        text = f"Written after the {answers} answer{s} that follow it.\n{text}"
    return f"{TITLE}\n{text}"


def without_ends(text: str) -> str:
    """A text without end markers: what follows them would be read as the person's text."""
    return "\n".join(line for line in text.split("\n") if line.strip() != END.strip())


def unmarked(text: str) -> str:
    """The answer of a model without the title and the end markers, which only this program adds."""
    return untitled(without_ends(text).strip()).strip()


def with_title(text: str) -> str:
    """A summary that readers recognize: a text of another program gets the title."""
    text = without_ends(text)
    return text if is_titled(text) else titled(text.strip())


def untitled(text: str) -> str:
    """A summary without its title lines."""
    if not text.startswith(f"{TITLE}\n"):
        return text
    return _OLDER.sub("", text.removeprefix(f"{TITLE}\n"), count=1)


def older(text: str) -> int:
    """How many of the answers after a summary are older than it, as far as it says so."""
    match = _OLDER.match(text, len(TITLE) + 1) if text.startswith(f"{TITLE}\n") else None
    return int(match[1]) if match else 0
