"""The text of summaries: facts extracted by rules, prompts for an LLM, and the fallback if the LLM
fails.
"""

from typing import TYPE_CHECKING

from ctxtrim.loading.lazy_table import lazy_names

if TYPE_CHECKING:
    from ctxtrim.summaries import markers
    from ctxtrim.summaries.excerpts import bounded
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
        name_of,
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
    "heuristic",
    "is_facts",
    "markers",
    "name_of",
    "redacted",
    "summarized",
    "tool_prompt",
    "transcribed",
]

__getattr__ = lazy_names(
    "ctxtrim.summaries",
    {
        "excerpts": ("bounded",),
        "prompts": (
            "DIGEST",
            "HEURISTIC",
            "INPUT",
            "RESULT",
            "checkpoint_prompt",
            "heuristic",
            "tool_prompt",
            "transcribed",
        ),
        "redaction": ("redacted",),
        "sections": ("HEADINGS", "is_facts"),
        "summarizer": (
            "FALLBACK",
            "REDACT",
            "Reply",
            "Summarizer",
            "Summary",
            "SummaryRequest",
            "name_of",
            "summarized",
        ),
    },
)
