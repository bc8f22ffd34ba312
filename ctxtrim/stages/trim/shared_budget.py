"""Share a budget between the kept messages and a summary of the others."""

from collections.abc import Callable
from dataclasses import dataclass

from msgspec import Struct
from msgspec.structs import replace

from ctxtrim.conversation.protection import is_sealed_summary
from ctxtrim.conversation.turns import visible
from ctxtrim.model import Transcript
from ctxtrim.stages.placement.summary import NoSummary, Placed, place_summary
from ctxtrim.stages.placement.summary_writer import SummaryWriter
from ctxtrim.stages.trim.fit import Fit
from ctxtrim.summaries.summarizer import Summary

_SHARE = 8  # a summary gets at most this fraction of the budget


class Shared(Struct, frozen=True):
    """A fit and a summary of what it drops; `shortened` has all messages, the kept ones in their
    form.
    """

    fit: Fit
    shortened: Transcript
    placed: Placed


@dataclass(frozen=True)
class SharedBudget:
    """Fits messages and a summary of the others into `available` tokens.

    `filled` fills a fit within its limit.
    """

    writer: SummaryWriter
    transcript: Transcript
    available: int
    filled: Callable[[Fit], Fit]

    def shared(self, fit: Fit) -> Shared | Fit | NoSummary:
        """The messages to keep with a summary of the others, or a fit that drops none, or why there
        is no summary.

        `fit` is the fit without a summary. Kept earlier summaries become part of the new one, so
        their tokens are free for other messages. Messages get the room that the summary leaves.
        """
        least = fit.minimal(limit=0).tokens
        room = self.available - min(self.writer.max_tokens, self.available // _SHARE)
        situation, merged = fit.situation, 0
        for position in situation.summaries:
            if position in fit.kept and not is_sealed_summary(situation.messages[position]):
                merged += situation.costs[position]
        # protected messages leave less room for the summary
        none = NoSummary("no room for a summary")
        for limit in dict.fromkeys((max(least, room + merged), max(least, room))):
            narrow = self.filled(fit.minimal(limit))
            if narrow.tokens <= self.available and not self._drops_visible(narrow):
                return narrow
            shared = none if narrow.room < 0 else self._with_summary(narrow)
            if isinstance(shared, Shared):
                return self._wider(shared) or shared
            none = shared
        return none

    def _drops_visible(self, fit: Fit) -> bool:
        """Whether a fit drops messages that the model reads."""
        messages = self.transcript.messages
        return not all(position in fit.kept for position in visible(messages))

    def _wider(self, narrow: Shared) -> Shared | None:
        """The same with messages that fit because the summary is short; None if there are none.

        The text of a summarizer is used again. It covers all that is dropped then.
        """
        fit, summary = narrow.fit, narrow.placed.summary
        spare = self.available - narrow.placed.tokens
        wider_fit = fit.widened(fit.tokens + spare)
        if wider_fit.tokens <= fit.tokens:
            return None
        if summary.origin != "rules" and not fit.kept.keys() <= wider_fit.kept.keys():
            return None
        wider = self._with_summary(wider_fit, summary)
        if isinstance(wider, NoSummary) or wider.placed.summary.origin != summary.origin:
            return None
        if summary.origin != "rules":  # the text covers also what is kept now
            wider = replace(wider, placed=replace(wider.placed, stored=narrow.placed.stored))
        return None if wider.placed.is_omitted and not narrow.placed.is_omitted else wider

    def _with_summary(self, fit: Fit, written: Summary | None = None) -> Shared | NoSummary:
        """A fit with a summary of what it drops, which may be written already."""
        messages = list(self.transcript.messages)
        for position, form in fit.kept.items():
            messages[position] = form.message
        shortened = replace(self.transcript, messages=tuple(messages))
        dropped = set(range(len(messages))) - fit.kept.keys()
        placed = place_summary(
            self.writer, self.transcript.messages, shortened, dropped, self.available, written
        )
        return placed if isinstance(placed, NoSummary) else Shared(fit, shortened, placed)
