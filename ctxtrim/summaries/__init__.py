"""The text of summaries: facts extracted by rules, prompts for an LLM, and the fallback if the LLM
fails.
"""

from typing import TYPE_CHECKING

from ctxtrim.loading.lazy_table import lazy_names

if TYPE_CHECKING:
    from ctxtrim.summaries import markers
    from ctxtrim.summaries.excerpts import HEURISTIC, bounded, heuristic
    from ctxtrim.summaries.prompts import (
        DIGEST,
        INPUT,
        checkpoint_prompt,
        tool_prompt,
        transcribed,
    )
    from ctxtrim.summaries.redaction import redacted
    from ctxtrim.summaries.summarizer import (
        FALLBACK,
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
    "HEURISTIC",
    "INPUT",
    "Reply",
    "Summarizer",
    "Summary",
    "SummaryRequest",
    "bounded",
    "checkpoint_prompt",
    "heuristic",
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
        "excerpts": ("HEURISTIC", "bounded", "heuristic"),
        "prompts": (
            "DIGEST",
            "INPUT",
            "checkpoint_prompt",
            "tool_prompt",
            "transcribed",
        ),
        "redaction": ("redacted",),
        "summarizer": (
            "FALLBACK",
            "Reply",
            "Summarizer",
            "Summary",
            "SummaryRequest",
            "name_of",
            "summarized",
        ),
    },
)
