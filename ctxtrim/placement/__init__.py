"""Texts that replace messages: write summaries and digests within a token limit,
and insert them.
"""

from ctxtrim.placement.digests import MODES, Digests
from ctxtrim.placement.leads import has_compaction_digest, without_compaction
from ctxtrim.placement.replace import replace_messages
from ctxtrim.placement.steps import cut_off
from ctxtrim.placement.summary import (
    SummaryWriter,
    place_summary,
    restore_summary,
    summarize_old,
    with_stored,
    with_summary,
)

__all__ = [
    "MODES",
    "Digests",
    "SummaryWriter",
    "cut_off",
    "has_compaction_digest",
    "place_summary",
    "replace_messages",
    "restore_summary",
    "summarize_old",
    "with_stored",
    "with_summary",
    "without_compaction",
]
