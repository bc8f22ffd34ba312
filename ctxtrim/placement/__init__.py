"""Texts that replace messages: summaries and digests, how they are written to fit, and where they stand."""

from ctxtrim.placement.digests import MODES, Digests
from ctxtrim.placement.leads import without_compaction
from ctxtrim.placement.replace import replace_messages
from ctxtrim.placement.steps import Cut, cut_off
from ctxtrim.placement.summary import Summing, outcome_of, put_back, summarize_old, summed

__all__ = [
    "MODES",
    "Cut",
    "Digests",
    "Summing",
    "cut_off",
    "outcome_of",
    "put_back",
    "replace_messages",
    "summarize_old",
    "summed",
    "without_compaction",
]
