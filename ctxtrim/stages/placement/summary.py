"""Summaries that replace messages: merge them and fit them into the free tokens.

A transcript has at most one summary; an earlier one is merged into the next.
"""

from collections.abc import Mapping, Sequence, Set

from msgspec import Struct
from msgspec.structs import replace

from ctxtrim.conversation.elements import starts_and_alternates
from ctxtrim.conversation.protection import is_sealed_summary
from ctxtrim.conversation.roles import ROLES_ALTERNATE, RoleOrder
from ctxtrim.conversation.turns import visible
from ctxtrim.findings import Finding
from ctxtrim.model import Message, Transcript
from ctxtrim.stage import Action, Change, Outcome, StoredSummary, change_of
from ctxtrim.stages.placement.leads import has_summary, split_message
from ctxtrim.stages.placement.message_replacement import (
    alternates_without_digests,
    replace_messages,
)
from ctxtrim.stages.placement.stored_summary import missing_part
from ctxtrim.stages.placement.summary_writer import SummaryWriter
from ctxtrim.summaries import markers
from ctxtrim.summaries.excerpts import without_marks
from ctxtrim.summaries.sections import parse_facts
from ctxtrim.summaries.summarizer import FALLBACK, Summary
from ctxtrim.text.numbers import several
from ctxtrim.tokens.counter import Counter

_SEALED = "an encrypted summary was dropped for lack of room; no other summary can contain it"


class Placed(Struct, frozen=True):
    """A transcript with its summary, the position of the summary, and the tokens of both.

    `stored`: the summary as a store keeps it. Its messages include those that earlier summaries
    cover, if known.
    """

    transcript: Transcript
    position: int
    tokens: int
    summary: Summary
    stored: StoredSummary

    @property
    def is_omitted(self) -> bool:
        """Whether a line says that the summary was omitted."""
        return self.summary.text == markers.OMITTED


class NoSummary(Struct, frozen=True):
    """Why there is no summary, and why the summarizer did not write one (None: it did not fail)."""

    why: str
    trouble: str | None = None

    @property
    def findings(self) -> tuple[Finding, ...]:
        """A warning if the summarizer failed."""
        if self.trouble is None:
            return ()
        return (Finding("summary", "warning", f"{self.trouble}; no summary was written"),)


class _Place(Struct, frozen=True):
    """Where a summary is inserted: a transcript without the dropped messages.

    `messages`: the number of messages that the summary covers; `indices`: those of them that are in
    the transcript, by their index as read.
    """

    counter: Counter
    transcript: Transcript
    dropped: Set[int]
    alternates: bool
    messages: int
    indices: frozenset[int] = frozenset()

    def placed(self, summary: Summary) -> Placed:
        """The transcript with a summary, regardless of its cost."""
        summary = replace(summary, text=without_marks(summary.text, self.transcript.marks))
        replaced = replace_messages(
            self.transcript, self.dropped, summary.text, alternates=self.alternates
        )
        tokens = self.counter.tokens(replaced.transcript)
        size = self.counter.text(summary.text)
        stored = StoredSummary(summary.text, size, self.messages, self.indices)
        return Placed(replaced.transcript, replaced.touched[0], tokens, summary, stored)


def place_summary(
    writer: SummaryWriter,
    as_read: Sequence[Message],
    transcript: Transcript,
    dropped: Set[int],
    available: int,
    written: Summary | None = None,
) -> Placed | NoSummary:
    """A transcript with a summary of the dropped messages, in at most `available` tokens, or why
    there is none.

    `as_read` are the messages before they were shortened; the summary is written from them. If
    there is hardly any room, a line says that the summary was omitted, unless an earlier summary is
    kept. There is also none if there are no facts, or if strict roles would not alternate.
    `written` is the summary if it is written already; only rules write it again.
    """
    if not _keeps_roles(as_read, transcript, dropped):
        return NoSummary("an earlier summary separates two kept answers")
    covered = [
        piece
        for position, message in enumerate(as_read)
        for piece in _pieces_to_summarize(message, position in dropped)
    ]
    if writer.earlier is not None:
        left = missing_part(writer.earlier, transcript, dropped, redacts=writer.redacts)
        writer = replace(writer, earlier=left)
    dropped_indices = (as_read[position].index for position in dropped)
    own = frozenset(index for index in dropped_indices if index is not None)
    number, indices = _coverage(writer, covered, own)
    alternates = alternates_without_digests(as_read)
    place = _Place(writer.counter, transcript, dropped, alternates, number, indices)
    room = available - place.placed(Summary("", FALLBACK)).tokens
    summary = Summary("", FALLBACK)
    if room > 0:
        summary = _first_summary(writer, covered, own, room, written)
    while summary.text and room > 0:
        placed = place.placed(summary)
        if placed.tokens <= available:
            return placed
        room = min(room, writer.counter.text(summary.text)) - max(1, room // 8)
        summary = _by_rules(writer, covered, room, summary)
    has_earlier = any(message.is_summary for message in covered)
    if not has_earlier and writer.has_facts(covered):
        placed = place.placed(Summary(markers.OMITTED, FALLBACK, summary.trouble))
        if placed.tokens <= available:
            return placed
    return NoSummary("a summary would not be smaller", summary.trouble)


def _first_summary(
    writer: SummaryWriter,
    covered: Sequence[Message],
    own: frozenset[int],
    room: int,
    written: Summary | None,
) -> Summary:
    """The summary to try first: the written or stored one if there is one, else a new one.

    Rules write theirs again, because the room may be another one.
    """
    if written is None:
        return writer.stored(covered, own, room) or writer.of(covered, room)
    return _by_rules(writer, covered, room, written) if written.origin == "rules" else written


def _coverage(
    writer: SummaryWriter, covered: Sequence[Message], own: frozenset[int]
) -> tuple[int, frozenset[int]]:
    """The number of messages that a summary covers, and the indices of those that were read.

    `own`: the indices without those of an earlier summary.
    """
    number = sum(map(_covered_messages, covered))
    stored = writer.merges([piece for message in covered for piece in split_message(message)])
    if stored is None:
        return number, own
    return number + stored.messages, own | stored.indices


def _by_rules(
    writer: SummaryWriter, covered: Sequence[Message], room: int, refused: Summary
) -> Summary:
    """The summary that rules write in the place of one without room."""
    trouble = refused.trouble
    if trouble is None and refused.origin != "rules":
        trouble = f"{refused.by}: no room for the summary"
    return replace(replace(writer, summarizer=None).of(covered, room), trouble=trouble)


def _keeps_roles(as_read: Sequence[Message], transcript: Transcript, dropped: Set[int]) -> bool:
    """Whether strict roles that alternate still do so with a summary of the dropped messages.

    The new summary takes the place of an earlier one, which may separate two kept answers.
    """
    strict = transcript.strict_roles
    if not (strict and starts_and_alternates(as_read, strict)):
        return True
    replaced = replace_messages(
        transcript, dropped, markers.OMITTED, alternates=alternates_without_digests(as_read)
    )
    return starts_and_alternates(replaced.transcript.messages, strict)


def summarize_old(
    transcript: Transcript, writer: SummaryWriter, recent_start: int, kept: Mapping[int, str]
) -> Outcome | NoSummary:
    """The transcript with a summary of the messages before the recent ones, or why there is none.

    `recent_start` is a position. `kept` maps positions of older messages to the reasons to keep
    them. A prompt between answers that would become adjacent is kept. If roles alternate, prompts
    that would become adjacent are summarized too, or an answer between them is kept.
    """
    messages = transcript.messages
    shape = writer.counter.shape(messages)
    costs = [cost.total for cost in writer.counter.costs(messages)]
    most = writer.counter.tokens(transcript) - 1
    recent = [at for at, exchange in enumerate(shape.exchange) if exchange >= recent_start]
    roles = RoleOrder(shape, transcript.strict_roles)
    reasons = roles.with_answers(costs, {**dict.fromkeys(recent, "recent"), **kept})
    old = set(range(len(messages))) - reasons.keys()
    roles.separate_after_summary(costs, most, old, reasons, kept)
    if all(has_summary(messages[position]) for position in old):
        return NoSummary("nothing is older than the kept messages")
    if writer.is_checkpoint:
        kept_messages = [messages[at] for at in visible(messages) if at not in old]
        answers = sum(message.role == "assistant" for message in kept_messages)
        writer = replace(writer, answers=answers)
    placed = place_summary(writer, messages, transcript, old, most)
    if isinstance(placed, NoSummary):
        return placed
    if placed.is_omitted:
        return NoSummary("a summary would not be smaller", placed.summary.trouble)
    changes = []
    for position in range(len(messages)):
        action: Action = "kept"
        reason = reasons.get(position, ROLES_ALTERNATE)
        if position in old:
            action, reason = "dropped", "older than the kept messages"
        changes.append(change_of(messages, position, action, reason))
    return with_summary(Outcome(transcript, tuple(changes)), placed)


def restore_summary(
    counter: Counter, transcript: Transcript, stored: StoredSummary, available: int
) -> Placed | None:
    """A transcript with a stored summary; None if it has a summary already or there is no room."""
    messages = [transcript.messages[position] for position in visible(transcript.messages)]
    if any(has_summary(message) and not is_sealed_summary(message) for message in messages):
        return None
    alternates = alternates_without_digests(transcript.messages)
    place = _Place(counter, transcript, frozenset(), alternates, stored.messages)
    placed = place.placed(Summary(markers.with_title(stored.text), "store", origin="store"))
    return placed if placed.tokens <= available else None


def with_stored(
    counter: Counter, outcome: Outcome, stored: StoredSummary | None, available: int
) -> Outcome:
    """The outcome of a stage with the stored summary, if there is one and room for it."""
    if stored is None:
        return outcome
    placed = restore_summary(counter, outcome.transcript, stored, available)
    return outcome if placed is None else with_summary(outcome, placed)


def with_summary(outcome: Outcome, placed: Placed) -> Outcome:
    """The outcome of a stage with its summary, and the changes and findings of the summary.

    Dropped messages become `summarized`. An earlier summary becomes `merged`, as does the prompt
    that begins with it. A summary that only the provider can read is lost if it is dropped.
    """
    is_stored = placed.summary.origin == "store"
    is_restored = is_stored and not placed.stored.indices  # it covers none of these messages
    reason = f"summary of {several(placed.stored.messages, 'message')}, by {placed.summary.by}"
    if placed.is_omitted:
        reason = "a line for the summary omitted for lack of room"
    messages = placed.transcript.messages
    action: Action = "inserted" if messages[placed.position].is_summary else "merged"
    insertion = change_of(messages, placed.position, action, reason)
    kept = {message.index for message in messages}
    findings = list(outcome.findings)
    sealed = {
        message.index for message in outcome.transcript.messages if is_sealed_summary(message)
    }
    changes = []
    for change in outcome.changes:
        if change.message is not None and change.message == insertion.message:
            continue
        if change.action == "dropped" and change.message in sealed:
            findings.append(Finding("summary", "warning", _SEALED, index=change.message))
        elif change.action == "dropped" and not (placed.is_omitted or is_restored):
            change = replace(change, action="summarized")
        elif change.action == "kept" and change.message not in kept:
            change = Change(change.message, "merged", "merged into the summary")
        changes.append(change)
    if placed.summary.trouble is not None:
        text = f"{placed.summary.trouble}; using facts instead"
        findings.append(Finding("summary", "warning", text))
    return replace(
        outcome,
        transcript=placed.transcript,
        changes=(*changes, insertion),
        findings=tuple(findings),
        summary=None if placed.is_omitted or is_stored else placed.stored,
    )


def _pieces_to_summarize(message: Message, is_dropped: bool) -> Sequence[Message]:
    """The pieces of a message to summarize: all if it is dropped, else only the summary in it.

    None of a hidden message, or of a summary that only the provider can read.
    """
    if not message.agent_visible or is_sealed_summary(message):
        return ()
    pieces = []
    for piece in split_message(message):
        is_omitted = piece.is_summary and piece.parts[0].text == markers.OMITTED
        if (is_dropped or piece.is_summary) and not is_omitted:
            pieces.append(piece)
    return pieces


def _covered_messages(message: Message) -> int:
    """The number of messages that one message replaces.

    Digests and the messages that they replace count zero.
    """
    text = "\n".join(part.text for part in message.parts)
    if message.is_summary:
        return parse_facts(text).messages
    return 0 if message.role == "user" and markers.is_digest(text) else 1
