"""How summaries and digests begin and end in a conversation, so that they are known again wherever they are read.

::

    summary · END · digests · END · what the person said          each of the three may be missing
"""

import re

from ctxtrim.summaries.sections import is_facts

TITLE = "[Previous conversation summary]"
"""The first line of a summary that an LLM wrote, and of every one that a compaction leaves."""
END = "\n\n[End of summary]\n\n"
"""What stands between a summary and the text of the prompt that it was joined to."""
OMITTED = "[Summary omitted - insufficient budget]"
"""What stands where a summary would have had no room."""
STEP = "[Tool summary]"
"""The first line of what stands for one step."""
DIGEST = "[Compaction tool digest]"
"""The first line of what stands for all steps that a compaction took from what is recent."""

_OLDER = re.compile(r"Written after the (\d+) answers? that follow it\.\n")


def is_titled(text: str) -> bool:
    """Whether a text begins as a summary does, whatever follows it."""
    return text.startswith(("[Summary of ", TITLE, OMITTED)) and (
        is_facts(text) or text.partition("\n")[0] in (TITLE, OMITTED)
    )


def is_digest(text: str) -> bool:
    """Whether a text begins as a digest does."""
    return text.startswith((f"{STEP}\n", f"{DIGEST}\n"))


def stands_alone(text: str) -> bool:
    """Whether a text is a summary and nothing else."""
    return is_titled(text) and END not in text


def parted(text: str) -> tuple[str | None, str]:
    """The summary that a text begins with, None where it does not, and the rest."""
    if not is_titled(text):
        return None, text
    summary, _, rest = text.partition(END)
    return summary, rest


def pieces(text: str) -> tuple[str | None, str | None, str | None]:
    """The summary, the digests and what the person said, each None where there is none."""
    summary, own = None, text
    if is_titled(own):
        summary, end, own = own.partition(END)
        if not end:
            return summary, None, None
    if not is_digest(own):
        return summary, None, own
    digests, end, own = own.partition(END)
    return summary, digests, own if end else None


def titled(text: str, answers: int = 0) -> str:
    """A summary under its title; `answers` follow it that were given before it was written."""
    older = f"Written after the {answers} answer{'' if answers == 1 else 's'} that follow it.\n" if answers else ""
    return f"{TITLE}\n{older}{text}"


def untitled(text: str) -> str:
    """A summary without the lines that only say it is one."""
    if not text.startswith(f"{TITLE}\n"):
        return text
    return _OLDER.sub("", text.removeprefix(f"{TITLE}\n"), count=1)


def older(text: str) -> int:
    """How many of the answers after a summary were given before it was written, as far as it says so."""
    found = _OLDER.match(text, len(TITLE) + 1) if text.startswith(f"{TITLE}\n") else None
    return int(found[1]) if found else 0
