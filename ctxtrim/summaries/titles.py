"""How a summary begins and ends in a conversation, so that it is known again wherever it is read."""

from ctxtrim.summaries.sections import is_facts

TITLE = "[Previous conversation summary]"
"""The first line of a summary that an LLM wrote, and of every one that a compaction leaves."""
END = "\n\n[End of summary]\n\n"
"""What stands between a summary and the text of the prompt that it was joined to."""
OMITTED = "[Summary omitted - insufficient budget]"
"""What stands where a summary would have had no room."""


def is_titled(text: str) -> bool:
    """Whether a text begins as a summary does, whatever follows it."""
    return text.startswith(("[Summary of ", TITLE, OMITTED)) and (
        is_facts(text) or text.partition("\n")[0] in (TITLE, OMITTED)
    )


def stands_alone(text: str) -> bool:
    """Whether a text is a summary and nothing else."""
    return is_titled(text) and END not in text


def parted(text: str) -> tuple[str | None, str]:
    """The summary that a text begins with, None where it does not, and the rest."""
    if not is_titled(text):
        return None, text
    summary, _, rest = text.partition(END)
    return summary, rest


def untitled(text: str) -> str:
    """A summary without the line that only says it is one."""
    return text.removeprefix(f"{TITLE}\n")
