"""Writes a summary within a limit, by rules or by a summarizer, and merges earlier summaries."""

from collections.abc import Sequence, Set

from msgspec import Struct
from msgspec.structs import replace

from ctxtrim.conversation.turns import Shape
from ctxtrim.conversation.turns import shape as shape_of
from ctxtrim.model import Message
from ctxtrim.stage import StoredSummary
from ctxtrim.stages.placement.leads import leads, split_message, summary_message, with_leads
from ctxtrim.stages.placement.stored_summary import as_facts
from ctxtrim.summaries import markers
from ctxtrim.summaries.facts import facts_of, facts_summary
from ctxtrim.summaries.overlap import has_lines_of
from ctxtrim.summaries.prompts import MAX_PROMPT, checkpoint_prompt, transcribed
from ctxtrim.summaries.redaction import redacted
from ctxtrim.summaries.sections import CHECKPOINT, EARLIER, FACTS, Outline, is_facts, parse_facts
from ctxtrim.summaries.summarizer import (
    FALLBACK,
    Summarizer,
    Summary,
    SummaryRequest,
    name_of,
    summarized,
)
from ctxtrim.tokens.counter import Counter

_UNLIMITED = 1 << 30  # tokens, more than any summary has
_PARTS = (1, 2, 4, 6)  # fractions of the input for a summarizer, tried in order


def with_shorter_summary(message: Message, counter: Counter, limit: int) -> Message:
    """A prompt with the summary that leads it in at most `limit` tokens; with a line for a summary
    omitted if none fits.
    """
    leading = leads(message)
    summary = leading.summary or ""
    writer = SummaryWriter(
        counter,
        limit,
        None,
        redacts=False,  # the summary is masked already, if it should be
        is_checkpoint=summary.startswith(markers.TITLE),
        answers=markers.older(summary),
    )
    shorter = writer.of([summary_message(markers.untitled(summary))], limit)
    return with_leads(message, shorter.text or markers.OMITTED, leading.digests)


class SummaryWriter(Struct, frozen=True):
    """The writer of summaries: facts or a summarizer, with or without the headings of a checkpoint.

    `is_checkpoint`: facts get the headings and the title of an LLM's summary. `earlier` was stored
    before this run. `answers`: the number of older answers that follow the summary. `max_prompt`:
    the maximum prompt of a summarizer, in tokens.
    """

    counter: Counter
    max_tokens: int
    summarizer: Summarizer | None
    redacts: bool
    is_checkpoint: bool = False
    earlier: StoredSummary | None = None
    answers: int = 0
    max_prompt: int | None = None

    def of(self, dropped: Sequence[Message], limit: int) -> Summary:
        """The summary of some messages in at most `limit` tokens, title included; empty text if
        none fits.

        Summaries among the messages are merged into it; without one, the earlier summary is merged.
        """
        covered = [piece for message in dropped for piece in split_message(message)]
        room = min(limit, self.max_tokens)
        below = room - self.counter.tokenizer.count(markers.titled("", self.answers)) - 1
        summary = self._untitled(covered, room, below)
        if not summary.text or (summary.origin == "rules" and not self.is_checkpoint):
            return summary
        return replace(summary, text=markers.titled(summary.text, self.answers))

    def _untitled(self, covered: Sequence[Message], room: int, below: int) -> Summary:
        """The summary of some messages without its title.

        It has at most `below` tokens, which is the room below a title; facts that get none have at
        most `room`.
        """
        shape, stored = shape_of(covered), self.merges(covered)

        def fallback() -> str:
            return self._facts(shape, stored, below if self.is_checkpoint else room)

        summarizer = self.summarizer
        if summarizer is None or below <= 0:
            return Summary(fallback(), FALLBACK)
        earlier = None if stored is None else markers.untitled(stored.text)
        text = self._input(shape, earlier)
        if not text.strip():
            return Summary(fallback(), FALLBACK)
        has_earlier = earlier is not None or any(message.is_summary for message in covered)
        prompt = self._prompt(text, below, has_earlier)
        if prompt is None:
            trouble = f"{name_of(summarizer)}: the budget has no room for the prompt"
            return Summary(fallback(), FALLBACK, trouble)
        tokenizer = self.counter.tokenizer
        replaces = sum(
            tokenizer.count(part.spelled) for message in covered for part in message.parts
        )
        request = SummaryRequest(prompt, below, replaces, tokenizer, redacts=self.redacts)
        return summarized(request, summarizer, fallback)

    def _facts(self, shape: Shape, stored: StoredSummary | None, limit: int) -> str:
        """The facts of some messages, merged with those of a stored summary; empty if none fits."""
        if limit <= 0:
            return ""
        earlier = None if stored is None else as_facts(stored)
        tokenizer = self.counter.tokenizer
        return facts_summary(
            shape, limit, tokenizer, earlier, redacts=self.redacts, layout=self._layout
        )

    def stored(self, covered: Sequence[Message], indices: Set[int], limit: int) -> Summary | None:
        """The earlier summary if the summarizer has nothing to add to it: it covers all of these
        messages, was written by a summarizer, and has at most `limit` tokens.

        `indices` are those of the messages.
        """
        earlier = self.earlier
        if self.summarizer is None or earlier is None or not indices <= earlier.indices:
            return None
        text = markers.with_title(earlier.text)
        if is_facts(markers.untitled(text)) or any(message.is_summary for message in covered):
            return None
        if self.counter.text(text) > min(limit, self.max_tokens):
            return None
        return Summary(text, "store", origin="store")

    def has_facts(self, covered: Sequence[Message]) -> bool:
        """Whether rules find a summary of some messages if its length is not limited."""
        return bool(self._facts(shape_of(covered), None, _UNLIMITED))

    @property
    def _layout(self) -> Outline:
        return CHECKPOINT if self.is_checkpoint else FACTS

    def _input(self, shape: Shape, earlier: str | None) -> str:
        """The earlier summary and the messages, as a summarizer reads them."""
        text = transcribed(shape, redacts=self.redacts)
        if earlier:
            # mask before the prompt is cut to its limit
            earlier = redacted(earlier, self.redacts)
            text = f"{earlier}\n\n{text}"
        return text

    def _prompt(self, text: str, below: int, has_earlier: bool) -> str | None:
        """The prompt for a summarizer within its limit; None if the limit is too small."""
        for part in _PARTS:
            prompt = checkpoint_prompt(text, below, MAX_PROMPT // part, has_earlier=has_earlier)
            if self.max_prompt is None or self.counter.text(prompt) <= self.max_prompt:
                return prompt
        return None

    def merges(self, covered: Sequence[Message]) -> StoredSummary | None:
        """The earlier summary if it adds facts that these messages do not have; else None."""
        if self.earlier is None or any(message.is_summary for message in covered):
            return None
        stored = parse_facts(markers.untitled(self.earlier.text))
        if stored.lines.get(EARLIER.name):
            return self.earlier
        own = facts_of(shape_of(covered), redacts=self.redacts)
        return None if has_lines_of(own, stored) else self.earlier
