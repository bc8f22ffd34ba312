"""The part of a stored summary that a transcript does not show.

A program may summarize the same messages again, because its history stays whole. They count once.
"""

from collections.abc import Sequence, Set

from ctxtrim.conversation.turns import shape
from ctxtrim.model import Message, Transcript
from ctxtrim.stage import StoredSummary
from ctxtrim.stages.placement.leads import split_message
from ctxtrim.summaries import markers
from ctxtrim.summaries.facts import facts_of
from ctxtrim.summaries.overlap import has_counts_of, has_lines_of, without
from ctxtrim.summaries.sections import EARLIER, Facts, facts_text, is_facts, parse_facts


def missing_part(
    stored: StoredSummary, transcript: Transcript, dropped: Set[int], *, redacts: bool
) -> StoredSummary:
    """The summary without the messages that are summarized again.

    If the transcript as read has all of its facts and counts, the messages that it covers are still
    there: nothing but quotes of an earlier summary is left of it. `dropped` are positions.
    """
    again = [
        message
        for position, message in enumerate(transcript.messages)
        if position in dropped and message.index in stored.indices
    ]
    text = markers.untitled(stored.text)
    if not is_facts(text):  # of a summarizer: it has no counts
        return StoredSummary(
            stored.text, stored.tokens, max(0, stored.messages - len(again)), stored.indices
        )
    facts = parse_facts(text)
    shown = _facts_of(transcript.source.messages, redacts=redacts)
    has_counts = stored.messages <= shown.messages and has_counts_of(shown, facts)
    if has_counts and has_lines_of(shown, facts):
        quotes = {EARLIER.name: facts.lines.get(EARLIER.name, ())}
        return StoredSummary(facts_text(Facts(0, quotes, {})), stored.tokens, 0)
    left = without(facts, _facts_of(again, redacts=redacts))
    return StoredSummary(facts_text(left), stored.tokens, left.messages, stored.indices)


def as_facts(stored: StoredSummary) -> str:
    """The text as facts: quotes of a summarizer's summary, with the number of its messages."""
    text = markers.untitled(stored.text)
    if is_facts(text):
        return text
    return facts_text(Facts(stored.messages, parse_facts(text).lines, {}))


def _facts_of(messages: Sequence[Message], *, redacts: bool) -> Facts:
    pieces = [piece for message in messages for piece in split_message(message)]
    return facts_of(shape(pieces), redacts=redacts)
