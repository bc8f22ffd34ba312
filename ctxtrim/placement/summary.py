"""Summaries that replace messages: how they are written, merged, and fitted into the tokens that are free.

There is one summary at most: an earlier one is merged into the next.
"""

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace

from ctxtrim.conversation.alternation import set_apart
from ctxtrim.conversation.turns import Shape, is_alternating, shape
from ctxtrim.model import Message, Transcript
from ctxtrim.placement.leads import apart, has_summary
from ctxtrim.placement.replace import replace_messages, takes_turns
from ctxtrim.stage import Change, Finding, Outcome, Written, change_of
from ctxtrim.summaries import (
    FALLBACK,
    INPUT,
    Request,
    Summarizer,
    Summary,
    checkpoint,
    checkpoint_prompt,
    facts,
    markers,
    redacted,
    summarized,
    transcribed,
)
from ctxtrim.summaries.facts import gathered
from ctxtrim.summaries.sections import CHANGED, READ, SECTIONS, read
from ctxtrim.tokens.counter import Counter

_PARTS = (1, 2, 4, 6)  # a summarizer is given all of its input to read, or this part of it


@dataclass(frozen=True)
class Summing:
    """How summaries are written: by facts alone, or by a summarizer; as a checkpoint, or as bare facts.

    `most` is in tokens; `is_titled`: facts too stand under a title; `earlier` is one that was stored before this run.
    `answers`: how many will follow it that were given before it was written; `most_input`: the most tokens that a
    summarizer is given to read.
    """

    counter: Counter
    most: int
    summarizer: Summarizer | None = None
    redacts: bool = True
    is_checkpoint: bool = False
    is_titled: bool = False
    earlier: Written | None = None
    answers: int = 0
    most_input: int | None = None

    def of(self, gone: Sequence[Message], limit: int) -> Summary:
        """The summary of some messages in at most `limit` tokens, title included; its text is empty where none fits.

        Summaries among them are merged into it, and so is the earlier one where there is none among them.
        """
        tokenizer = self.counter.tokenizer
        told = [one for message in gone for one in apart(message)]
        where = shape(told)
        room = min(limit, self.most)
        below = room - tokenizer.count(markers.titled("", self.answers)) - 1
        stored = self.merges(told)
        earlier = None if stored is None else markers.untitled(stored.text)
        write = checkpoint if self.is_checkpoint else facts

        def fallback() -> str:
            most = below if self.is_titled else room
            return write(told, where, most, tokenizer, earlier, self.redacts) if most > 0 else ""

        if self.summarizer is None or below <= 0:
            found = Summary(fallback(), FALLBACK)
        elif (prompt := self._prompt(told, where, earlier, below)) is None:
            trouble = f"{self.summarizer.name}: the budget has no room for what it would have to read"
            found = Summary(fallback(), FALLBACK, trouble)
        else:
            replaces = sum(tokenizer.count(part.spelled) for message in told for part in message.parts)
            asked = Request(prompt, below, replaces, tokenizer, redacts=self.redacts)
            found = summarized(asked, self.summarizer, fallback)
        if not found.text or (found.by == FALLBACK and not self.is_titled):
            return found
        return replace(found, text=markers.titled(found.text, self.answers))

    def _prompt(self, told: Sequence[Message], where: Shape, earlier: str | None, below: int) -> str | None:
        """What a summarizer is asked, within the tokens that it may read; None where that is not enough."""
        text = transcribed(told, where, redacts=self.redacts)
        has_earlier = earlier is not None or any(message.is_summary for message in told)
        if earlier:
            earlier = redacted(earlier)[0] if self.redacts else earlier  # before a prompt is cut to its limit
            text = f"{earlier}\n\n{text}"
        prompts = (checkpoint_prompt(text, below, INPUT // part, has_earlier) for part in _PARTS)
        most = self.most_input
        return next((one for one in prompts if most is None or self.counter.text(one) <= most), None)

    def merges(self, told: Sequence[Message]) -> Written | None:
        """The earlier summary, where it says something that these messages do not say themselves, then or later."""
        if self.earlier is None or any(message.is_summary for message in told):
            return None
        stored, own = read(markers.untitled(self.earlier.text)).lines, gathered(told, shape(told), self.redacts).lines
        keys = {one.name: set(map(one.key, own.get(one.name, ()))) for one in SECTIONS}
        keys[READ.name] |= keys[CHANGED.name]  # a file that was changed later is no longer one that was only read
        sections = (one for one in SECTIONS if one.merge != "sum")
        is_covered = all(keys[one.name].issuperset(map(one.key, stored.get(one.name, ()))) for one in sections)
        return None if is_covered else self.earlier


@dataclass(frozen=True)
class Summed:
    """A transcript with its summary: the position of that, whether it leads a prompt, and the tokens of both.

    `told` is how many messages it stands for, those of earlier summaries included where they said so; `size` its own
    tokens.
    """

    transcript: Transcript
    place: int
    is_joined: bool
    tokens: int
    summary: Summary
    told: int
    size: int


def summed(
    summing: Summing, read_as: Sequence[Message], transcript: Transcript, dropped: Set[int], available: int
) -> Summed | None:
    """A transcript with a summary in place of some messages, in at most `available` tokens; None: there is no room.

    `read_as` are its messages before they were shortened, which the summary is written from. Where there is hardly any
    room, a line says that it was omitted, unless an earlier summary is kept. None too where there is nothing to tell.
    """
    told = [one for place, message in enumerate(read_as) for one in _to_tell(message, place in dropped)]
    alternates = takes_turns(read_as)
    stored = summing.merges([one for message in told for one in apart(message)])
    number = sum(map(_told, told)) + (0 if stored is None else stored.messages - stored.overlap)

    def within(summary: Summary) -> Summed | None:
        found = _placed(summing.counter, transcript, dropped, summary, number, alternates)
        return found if found.tokens <= available else None

    bare = _placed(summing.counter, transcript, dropped, Summary("", FALLBACK), number, alternates)
    room = available - bare.tokens
    summary = summing.of(told, room) if room > 0 else Summary("", FALLBACK)
    while summary.text and room > 0:
        found = within(summary)
        if found is not None:
            return found
        room = min(room, summing.counter.text(summary.text)) - max(1, room // 8)
        trouble = summary.trouble or (None if summary.by == FALLBACK else f"{summary.by}: the summary has no room")
        summary = replace(replace(summing, summarizer=None).of(told, room), trouble=trouble)
    has_earlier = any(message.is_summary for message in told)
    if has_earlier or gathered(told, shape(told), summing.redacts).is_empty:
        return None
    return within(Summary(markers.OMITTED, FALLBACK, summary.trouble))


def summarize_old(transcript: Transcript, summing: Summing, old: Set[int], kept: Mapping[int, str]) -> Outcome | str:
    """The transcript with a summary in place of old messages, or why nothing is gained.

    `old` are positions, `kept` reasons by position, "recent" where there is none. Where roles alternate, prompts that
    would become neighbours are summarized too, or an answer between them is kept.
    """
    messages, counter = transcript.messages, summing.counter
    old = set(old)
    tokens = counter.tokens(transcript)
    where = counter.shape(messages)
    if is_alternating(messages, where):
        set_apart(messages, where, [cost.total for cost in counter.costs(messages)], tokens - 1, old, kept)
    if all(has_summary(messages[place]) for place in old):
        return "nothing is older than what is kept"
    if summing.is_titled:
        answers = (one.role == "assistant" and one.agent_visible for at, one in enumerate(messages) if at not in old)
        summing = replace(summing, answers=sum(answers))
    found = summed(summing, messages, transcript, old, tokens - 1)
    if found is None or found.summary.text == markers.OMITTED:
        return "a summary would not be smaller"
    changes = tuple(
        change_of(messages, at, "dropped", "older than what is kept")
        if at in old
        else change_of(messages, at, "kept", kept.get(at, "recent"))
        for at in range(len(messages))
    )
    return outcome_of(Outcome(transcript, changes), found)


def put_back(counter: Counter, transcript: Transcript, stored: Written, available: int) -> Summed | None:
    """A transcript with a summary that was stored; None where it has one, or there is no room."""
    if any(map(has_summary, transcript.messages)):
        return None
    summary, alternates = Summary(stored.text, "store"), takes_turns(transcript.messages)
    found = _placed(counter, transcript, frozenset(), summary, stored.messages, alternates)
    return found if found.tokens <= available else None


def outcome_of(outcome: Outcome, found: Summed) -> Outcome:
    """The outcome of a stage with its summary, and with the changes and findings that follow from it.

    Dropped messages become `summarized`; an earlier summary is `merged`, and so is the prompt that begins with it.
    """
    is_omitted, is_stored = found.summary.text == markers.OMITTED, found.summary.by == "store"
    reason = (
        "a line for the summary that there was no room for"
        if is_omitted
        else f"summary of {found.told} message{'' if found.told == 1 else 's'}, by {found.summary.by}"
    )
    messages = found.transcript.messages
    put = change_of(messages, found.place, "merged" if found.is_joined else "inserted", reason)
    kept = {message.index for message in messages}
    changes = []
    for change in outcome.changes:
        if change.message is not None and change.message == put.message:
            continue
        if change.action == "dropped" and not (is_omitted or is_stored):
            change = replace(change, action="summarized")
        elif change.action == "kept" and change.message not in kept:
            change = Change(change.message, "merged", "merged into the summary")
        changes.append(change)
    findings = outcome.findings
    if found.summary.trouble is not None:
        findings = (*findings, Finding("summary", "warning", f"{found.summary.trouble}; the facts stand in its place"))
    written = None if is_omitted or is_stored else Written(found.summary.text, found.size, found.told)
    changed = (*changes, put)
    return replace(outcome, transcript=found.transcript, changes=changed, findings=findings, summary=written)


def _placed(
    counter: Counter, transcript: Transcript, dropped: Set[int], summary: Summary, number: int, alternates: bool
) -> Summed:
    """A transcript with a summary of so many messages in its place, whatever it costs."""
    found = replace_messages(transcript, dropped, summary.text, alternates=alternates)
    place = found.touched[0]
    is_joined = not found.transcript.messages[place].is_summary
    tokens = counter.tokens(found.transcript)
    return Summed(found.transcript, place, is_joined, tokens, summary, number, counter.text(summary.text))


def _to_tell(message: Message, is_dropped: bool) -> Sequence[Message]:
    """The pieces of a message that a summary is written from: all, or only the summary that it is or begins with."""
    pieces = [piece for piece in apart(message) if is_dropped or piece.is_summary]
    return [piece for piece in pieces if not (piece.is_summary and piece.parts[0].text == markers.OMITTED)]


def _told(message: Message) -> int:
    """For how many messages one stands; digests and the messages that they replace are not counted."""
    text = "\n".join(part.text for part in message.parts)
    if message.is_summary:
        return read(text).messages
    return 0 if message.role == "user" and markers.is_digest(text) else 1
