"""Summaries that replace messages: write, merge and fit them into the free tokens.

A transcript has at most one summary; an earlier one is merged into the next.
"""

from collections.abc import Mapping, Sequence, Set

from msgspec import Struct
from msgspec.structs import replace

from ctxtrim.conversation.alternation import (
    has_late_system,
    separate_answers,
    separate_prompts,
    with_answers_after_system,
)
from ctxtrim.conversation.elements import separate_elements, starts_and_alternates
from ctxtrim.conversation.turns import Shape, is_alternating, visible
from ctxtrim.conversation.turns import shape as shape_of
from ctxtrim.findings import Finding
from ctxtrim.model import Message, Transcript
from ctxtrim.stage import Action, Change, Outcome, StoredSummary, change_of
from ctxtrim.stages.placement.leads import has_summary, split_message
from ctxtrim.stages.placement.replace import replace_messages, takes_turns
from ctxtrim.stages.placement.stored_summary import as_facts, missing_part
from ctxtrim.summaries import (
    FALLBACK,
    INPUT,
    Summarizer,
    Summary,
    SummaryRequest,
    checkpoint_prompt,
    markers,
    name_of,
    redacted,
    summarized,
    transcribed,
)
from ctxtrim.summaries.facts import facts, gathered
from ctxtrim.summaries.overlap import has_lines_of
from ctxtrim.summaries.sections import CHECKPOINT, EARLIER, FACTS, read
from ctxtrim.tokens.counter import Counter

_PARTS = (1, 2, 4, 6)  # fractions of the input for a summarizer, tried in order


class SummaryWriter(Struct, frozen=True):
    """The writer of summaries: facts or a summarizer, with or without the headings of a checkpoint.

    `is_checkpoint`: facts get the headings and the title of an LLM's summary.
    `earlier` was stored before this run. `answers`: the number of older answers that follow the
    summary. `max_prompt`: the maximum prompt of a summarizer, in tokens.
    """

    counter: Counter
    max_tokens: int
    summarizer: Summarizer | None = None
    redacts: bool = True
    is_checkpoint: bool = False
    earlier: StoredSummary | None = None
    answers: int = 0
    max_prompt: int | None = None

    def of(self, dropped: Sequence[Message], limit: int) -> Summary:
        """The summary of some messages in at most `limit` tokens, title included; empty text if
        none fits.

        Summaries among the messages are merged into it; without one, the earlier summary is merged.
        """
        tokenizer = self.counter.tokenizer
        covered = [piece for message in dropped for piece in split_message(message)]
        shape = shape_of(covered)
        room = min(limit, self.max_tokens)
        below = room - tokenizer.count(markers.titled("", self.answers)) - 1
        stored = self.merges(covered)
        earlier = None if stored is None else markers.untitled(stored.text)
        layout = CHECKPOINT if self.is_checkpoint else FACTS

        def fallback() -> str:
            facts_limit = below if self.is_checkpoint else room
            if facts_limit <= 0:
                return ""
            before = None if stored is None else as_facts(stored)
            return facts(covered, shape, facts_limit, tokenizer, before, self.redacts, layout)

        if self.summarizer is None or below <= 0:
            summary = Summary(fallback(), FALLBACK)
        elif (prompt := self._prompt(covered, shape, earlier, below)) is None:
            trouble = f"{name_of(self.summarizer)}: the budget has no room for the prompt"
            summary = Summary(fallback(), FALLBACK, trouble)
        else:
            replaces = sum(
                tokenizer.count(part.spelled) for message in covered for part in message.parts
            )
            request = SummaryRequest(prompt, below, replaces, tokenizer, redacts=self.redacts)
            summary = summarized(request, self.summarizer, fallback)
        if not summary.text or (summary.by == FALLBACK and not self.is_checkpoint):
            return summary
        return replace(summary, text=markers.titled(summary.text, self.answers))

    def _prompt(
        self, covered: Sequence[Message], shape: Shape, earlier: str | None, below: int
    ) -> str | None:
        """The prompt for a summarizer within its limit; None if the limit is too small."""
        text = transcribed(covered, shape, redacts=self.redacts)
        has_earlier = earlier is not None or any(message.is_summary for message in covered)
        if earlier:
            # mask before the prompt is cut to its limit
            earlier = redacted(earlier, self.redacts)
            text = f"{earlier}\n\n{text}"
        for part in _PARTS:
            prompt = checkpoint_prompt(text, below, INPUT // part, has_earlier)
            if self.max_prompt is None or self.counter.text(prompt) <= self.max_prompt:
                return prompt
        return None

    def merges(self, covered: Sequence[Message]) -> StoredSummary | None:
        """The earlier summary if it adds facts that these messages do not have; else None."""
        if self.earlier is None or any(message.is_summary for message in covered):
            return None
        stored = read(markers.untitled(self.earlier.text))
        if stored.lines.get(EARLIER.name):
            return self.earlier
        own = gathered(covered, shape_of(covered), self.redacts)
        return None if has_lines_of(own, stored) else self.earlier


class Placed(Struct, frozen=True):
    """A transcript with its summary, the position of the summary, and the tokens of both.

    `covered`: the number of messages that it covers, including those of earlier summaries if known;
    `indices`: those of them that are in the transcript as read. `size`: the tokens of the summary.
    """

    transcript: Transcript
    position: int
    tokens: int
    summary: Summary
    covered: int
    size: int
    indices: frozenset[int] = frozenset()


def place_summary(
    writer: SummaryWriter,
    read_as: Sequence[Message],
    transcript: Transcript,
    dropped: Set[int],
    available: int,
) -> Placed | None:
    """A transcript with a summary of the dropped messages, in at most `available` tokens; None if
    there is no room.

    `read_as` are the messages before they were shortened; the summary is written from them. If
    there is hardly any room, a line says that the summary was omitted, unless an earlier summary is
    kept. Also None if there are no facts, or if strict roles would not alternate.
    """
    if not keeps_roles(read_as, transcript, dropped):
        return None
    covered = [
        piece
        for position, message in enumerate(read_as)
        for piece in _pieces_to_summarize(message, position in dropped)
    ]
    alternates = takes_turns(read_as)
    if writer.earlier is not None:
        left = missing_part(writer.earlier, transcript, dropped, writer.redacts)
        writer = replace(writer, earlier=left)
    stored = writer.merges([piece for message in covered for piece in split_message(message)])
    number = sum(map(_covered_messages, covered))
    indices = {read_as[position].index for position in dropped} - {None}
    if stored is not None:
        number += stored.messages
        indices |= stored.indices

    def within(summary: Summary) -> Placed | None:
        placed = _placed(writer.counter, transcript, dropped, summary, number, alternates)
        placed = replace(placed, indices=frozenset(indices))
        return placed if placed.tokens <= available else None

    bare = _placed(writer.counter, transcript, dropped, Summary("", FALLBACK), number, alternates)
    room = available - bare.tokens
    summary = writer.of(covered, room) if room > 0 else Summary("", FALLBACK)
    while summary.text and room > 0:
        placed = within(summary)
        if placed is not None:
            return placed
        room = min(room, writer.counter.text(summary.text)) - max(1, room // 8)
        trouble = summary.trouble or (
            None if summary.by == FALLBACK else f"{summary.by}: no room for the summary"
        )
        summary = replace(replace(writer, summarizer=None).of(covered, room), trouble=trouble)
    has_earlier = any(message.is_summary for message in covered)
    if has_earlier or gathered(covered, shape_of(covered), writer.redacts).is_empty:
        return None
    return within(Summary(markers.OMITTED, FALLBACK, summary.trouble))


def keeps_roles(read_as: Sequence[Message], transcript: Transcript, dropped: Set[int]) -> bool:
    """Whether strict roles that alternate still do so with a summary of the dropped messages.

    The new summary takes the place of an earlier one, which may separate two kept answers.
    """
    if not (transcript.strict_roles and starts_and_alternates(read_as)):
        return True
    replaced = replace_messages(
        transcript, dropped, markers.OMITTED, alternates=takes_turns(read_as)
    )
    return starts_and_alternates(replaced.transcript.messages)


def summarize_old(
    transcript: Transcript, writer: SummaryWriter, recent_start: int, kept: Mapping[int, str]
) -> Outcome | str:
    """The transcript with a summary of the messages before the recent ones, or the reason why
    there is none.

    `recent_start` is a position. `kept` maps positions of older messages to the reasons to keep
    them. A prompt between answers that would become adjacent is kept. If roles alternate, prompts
    that would become adjacent are summarized too, or an answer between them is kept.
    """
    messages, counter = transcript.messages, writer.counter
    tokens = counter.tokens(transcript)
    shape = counter.shape(messages)
    costs = [cost.total for cost in counter.costs(messages)]
    recent = [at for at, exchange in enumerate(shape.exchange) if exchange >= recent_start]
    if has_late_system(messages):
        stays = {**dict.fromkeys(recent, "recent"), **kept}
        kept = with_answers_after_system(messages, shape, costs, stays)
    old = set(range(len(messages))) - kept.keys() - set(recent)
    if transcript.strict_roles and starts_and_alternates(messages):
        separate_elements(messages, shape, costs, tokens - 1, old, {*kept, *recent}, True)
    else:
        alternates = is_alternating(messages, shape)
        if alternates or has_late_system(messages):
            separate_prompts(messages, shape, costs, tokens - 1, old, kept, alternates=alternates)
        separate_answers(messages, shape, old)
    if all(has_summary(messages[position]) for position in old):
        return "nothing is older than the kept messages"
    if writer.is_checkpoint:
        kept_messages = (
            messages[position] for position in visible(messages) if position not in old
        )
        answers = sum(message.role == "assistant" for message in kept_messages)
        writer = replace(writer, answers=answers)
    if not keeps_roles(messages, transcript, old):
        return "an earlier summary separates two kept answers"
    placed = place_summary(writer, messages, transcript, old, tokens - 1)
    if placed is None or placed.summary.text == markers.OMITTED:
        return "a summary would not be smaller"
    changes = []
    for position in range(len(messages)):
        if position in old:
            changes.append(change_of(messages, position, "dropped", "older than the kept messages"))
        else:
            is_recent = shape.exchange[position] >= recent_start
            reason = kept.get(position, "recent" if is_recent else "roles alternate")
            changes.append(change_of(messages, position, "kept", reason))
    return with_summary(Outcome(transcript, tuple(changes)), placed)


def restore_summary(
    counter: Counter, transcript: Transcript, stored: StoredSummary, available: int
) -> Placed | None:
    """A transcript with a stored summary; None if it has a summary already or there is no room."""
    messages = transcript.messages
    if any(has_summary(messages[position]) for position in visible(messages)):
        return None
    summary, alternates = Summary(markers.with_title(stored.text), "store"), takes_turns(messages)
    placed = _placed(counter, transcript, frozenset(), summary, stored.messages, alternates)
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
    that begins with it.
    """
    is_omitted, is_stored = placed.summary.text == markers.OMITTED, placed.summary.by == "store"
    noun = "message" if placed.covered == 1 else "messages"
    reason = f"summary of {placed.covered} {noun}, by {placed.summary.by}"
    if is_omitted:
        reason = "a line for the summary omitted for lack of room"
    messages = placed.transcript.messages
    action: Action = "inserted" if messages[placed.position].is_summary else "merged"
    insertion = change_of(messages, placed.position, action, reason)
    kept = {message.index for message in messages}
    changes = []
    for change in outcome.changes:
        if change.message is not None and change.message == insertion.message:
            continue
        if change.action == "dropped" and not (is_omitted or is_stored):
            change = replace(change, action="summarized")
        elif change.action == "kept" and change.message not in kept:
            change = Change(change.message, "merged", "merged into the summary")
        changes.append(change)
    findings = list(outcome.findings)
    if placed.summary.trouble is not None:
        text = f"{placed.summary.trouble}; using facts instead"
        findings.append(Finding("summary", "warning", text))
    written = StoredSummary(placed.summary.text, placed.size, placed.covered, placed.indices)
    return replace(
        outcome,
        transcript=placed.transcript,
        changes=(*changes, insertion),
        findings=tuple(findings),
        summary=None if is_omitted or is_stored else written,
    )


def _placed(
    counter: Counter,
    transcript: Transcript,
    dropped: Set[int],
    summary: Summary,
    number: int,
    alternates: bool,
) -> Placed:
    """A transcript with a summary of `number` messages, regardless of its cost."""
    replaced = replace_messages(transcript, dropped, summary.text, alternates=alternates)
    tokens, size = counter.tokens(replaced.transcript), counter.text(summary.text)
    return Placed(replaced.transcript, replaced.touched[0], tokens, summary, number, size)


def _pieces_to_summarize(message: Message, is_dropped: bool) -> Sequence[Message]:
    """The pieces of a message to summarize: all if it is dropped, else only the summary in it.

    None of a hidden message.
    """
    if not message.agent_visible:
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
        return read(text).messages
    return 0 if message.role == "user" and markers.is_digest(text) else 1
