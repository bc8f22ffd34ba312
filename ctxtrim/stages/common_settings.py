"""Settings that several stages have, each declared once."""

from operator import not_
from typing import Any

from ctxtrim.conversation import pins
from ctxtrim.stage import KEEP, SUMMARIES, setting


def clock() -> Any:
    """The unit of ages."""
    text = "Count ages in steps or turns; none: ignore age."
    return setting("steps", text, choices=("steps", "turns", "none"))


def pin() -> Any:
    """Messages that the stage does not change."""
    text = "Never drop or shorten matching messages: a regular expression, tool:NAME or id:ID."
    return setting((), text, check=pins.check, panel=KEEP)


def keep_recent_messages() -> Any:
    """Recent messages in addition to recent turns."""
    return setting(0, "Keep the last N messages too.", least=0, panel=KEEP)


def summary_tokens() -> Any:
    """The length of a summary."""
    return setting(1000, "Limit a summary to N tokens.", least=1, panel=SUMMARIES)


def redact() -> Any:
    """Whether secrets are masked."""
    text = "Mask texts that look like keys in summaries and in text sent to a summarizer."
    return setting(True, text, is_restricted=not_, panel=SUMMARIES)


def tool_cutoff() -> Any:
    """The number of visible tool results."""
    text = "Keep at most N tool results visible to the model; replace older steps."
    return setting(10, text, least=0)


def tool_summary() -> Any:
    """Who writes digests; `off`: no digests, and nothing is removed."""
    text = "Choose who writes digests of tool results: an LLM if configured; off keeps all results."
    return setting("llm", text, choices=("llm", "heuristic", "off"), panel=SUMMARIES)
