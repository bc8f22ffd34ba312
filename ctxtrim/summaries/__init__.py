"""The text of summaries: facts extracted by rules, prompts for an LLM, and the fallback if the LLM
fails.
"""

from ctxtrim.summaries import markers
from ctxtrim.summaries.excerpts import bounded
from ctxtrim.summaries.facts import facts
from ctxtrim.summaries.prompts import (
    DIGEST,
    HEURISTIC,
    INPUT,
    RESULT,
    checkpoint_prompt,
    heuristic,
    tool_prompt,
    transcribed,
)
from ctxtrim.summaries.redaction import redacted
from ctxtrim.summaries.sections import HEADINGS, is_facts
from ctxtrim.summaries.summarizer import (
    FALLBACK,
    REDACT,
    Reply,
    Summarizer,
    Summary,
    SummaryRequest,
    summarized,
)

__all__ = [
    "DIGEST",
    "FALLBACK",
    "HEADINGS",
    "HEURISTIC",
    "INPUT",
    "REDACT",
    "RESULT",
    "Reply",
    "Summarizer",
    "Summary",
    "SummaryRequest",
    "bounded",
    "checkpoint_prompt",
    "facts",
    "heuristic",
    "is_facts",
    "markers",
    "redacted",
    "summarized",
    "tool_prompt",
    "transcribed",
]
