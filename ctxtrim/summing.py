"""A summary in the place of messages: how it is made, where it stands, and what it costs.

::

    system · old · old · old · prompt · answer
    system · [summary] · prompt · answer          or, where roles have to alternate,
    system · [summary, then the prompt's own text] · answer

There is one summary at most: an earlier one is merged into the next.
"""

from collections.abc import Sequence, Set
from dataclasses import dataclass, replace

from ctxtrim.counter import Counter
from ctxtrim.model import Message, Part, Transcript
from ctxtrim.stage import Written
from ctxtrim.summaries import (
    FALLBACK,
    INPUT,
    Request,
    Summarizer,
    Summary,
    checkpoint,
    checkpoint_prompt,
    facts,
    redacted,
    summarized,
    titles,
    transcribed,
)
from ctxtrim.summaries.facts import gathered
from ctxtrim.summaries.sections import CHANGED, READ, SECTIONS, read
from ctxtrim.turns import Shape, is_alternating, shape

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
        below = room - tokenizer.count(titles.titled("", self.answers)) - 1
        stored = self.merges(told)
        earlier = None if stored is None else titles.untitled(stored.text)
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
        return replace(found, text=titles.titled(found.text, self.answers))

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
        stored, own = read(titles.untitled(self.earlier.text)).lines, gathered(told, shape(told), self.redacts).lines
        keys = {one.name: set(map(one.key, own.get(one.name, ()))) for one in SECTIONS}
        keys[READ.name] |= keys[CHANGED.name]  # a file that was changed later is no longer one that was only read
        sections = (one for one in SECTIONS if one.merge != "sum")
        is_covered = all(keys[one.name].issuperset(map(one.key, stored.get(one.name, ()))) for one in sections)
        return None if is_covered else self.earlier


@dataclass(frozen=True)
class Summed:
    """A conversation with its summary: where that stands, whether it was joined to a prompt, and its tokens in all.

    `told` is how many messages it stands for, those of earlier summaries included where they said so; `size` its own
    tokens.
    """

    messages: tuple[Message, ...]
    place: int
    is_joined: bool
    tokens: int
    summary: Summary
    told: int
    size: int


def summed(
    summing: Summing, read_as: Sequence[Message], transcript: Transcript, dropped: Set[int], available: int
) -> Summed | None:
    """A transcript with a summary in the place of some messages, in at most `available` tokens; None: there is no room.

    `read_as` are its messages before they were shortened: those the summary tells of. Where there is hardly any room, a
    line says that it was omitted, unless an earlier summary is there to stay.
    """
    counter = summing.counter
    kept = [message for place, message in enumerate(transcript.messages) if place not in dropped]
    told = [one for place, message in enumerate(read_as) for one in _to_tell(message, place in dropped)]
    takes_turns = alternates(read_as)
    stored = summing.merges([one for message in told for one in apart(message)])
    number = sum(map(_told, told)) + (0 if stored is None else stored.messages - stored.overlap)

    def within(summary: Summary) -> Summed | None:
        new, place, is_joined = put(kept, summary.text, takes_turns)
        whole = replace(transcript, messages=tuple(new))
        tokens = counter.tokens(whole)
        if tokens > available:
            return None
        return Summed(whole.messages, place, is_joined, tokens, summary, number, counter.text(summary.text))

    bare = within(Summary("", FALLBACK))
    room = available - bare.tokens if bare is not None else 0
    summary = summing.of(told, room)
    while summary.text and room > 0:
        found = within(summary)
        if found is not None:
            return found
        room = min(room, counter.text(summary.text)) - max(1, room // 8)
        trouble = summary.trouble or (None if summary.by == FALLBACK else f"{summary.by}: the summary has no room")
        summary = replace(replace(summing, summarizer=None).of(told, room), trouble=trouble)
    has_earlier = any(message.is_summary for message in told)
    return None if has_earlier else within(Summary(titles.OMITTED, FALLBACK, summary.trouble))


def put_back(counter: Counter, transcript: Transcript, stored: Written, available: int) -> Summed | None:
    """A transcript with a summary that was stored; None where it has one, or there is no room."""
    messages = transcript.messages
    if any(message.is_summary or _joined(message)[1] is not None for message in messages):
        return None
    new, place, is_joined = put(messages, stored.text, alternates(messages))
    whole = replace(transcript, messages=tuple(new))
    tokens = counter.tokens(whole)
    if tokens > available:
        return None
    summary = Summary(stored.text, "store")
    return Summed(whole.messages, place, is_joined, tokens, summary, stored.messages, counter.text(stored.text))


def _to_tell(message: Message, is_dropped: bool) -> Sequence[Message]:
    """What a summary has to tell of a message: all of it, or no more than the summary that it is or begins with."""
    pieces = apart(message)
    return pieces if is_dropped else [piece for piece in pieces if piece.is_summary]


def _told(message: Message) -> int:
    """For how many messages one stands; digests are not counted, and neither is what they stand for."""
    text = "\n".join(part.text for part in message.parts)
    if message.is_summary:
        return read(text).messages
    return 0 if message.role == "user" and titles.is_digest(text) else 1


def summary_message(text: str) -> Message:
    """A summary as a message that was not read from anywhere."""
    return Message("user", (Part("text", text),), is_injected=True, is_summary=True)


def digest_message(text: str, hides: bool) -> Message:
    """A digest as a message; where the format `hides`, the person is not shown it."""
    if hides:
        return Message("user", (Part("text", text),), is_injected=True, user_visible=False, kind="tool_summary")
    return Message("user", (Part("text", text),), is_injected=True)


def apart(message: Message) -> list[Message]:
    """A message as the summary and the digests that it begins with, and the rest; titles of summaries are left out."""
    place, _, _ = _joined(message)
    if place is None:
        return [message]
    if message.is_summary:
        return [_with_text(message, place, titles.untitled(message.parts[place].text))]
    summary, digests, own = titles.pieces(message.parts[place].text)
    found = [] if summary is None else [summary_message(titles.untitled(summary))]
    if digests is not None and own is not None:
        found.append(digest_message(digests, hides=False))
    rest = own if own is not None else digests
    return (
        found
        if rest is None
        else [*found, message if rest == message.parts[place].text else _with_text(message, place, rest)]
    )


def has_summary(message: Message) -> bool:
    """Whether a message is a summary, or begins with one."""
    return message.is_summary or _joined(message)[1] is not None


def is_digest(message: Message) -> bool:
    """Whether a message holds digests and nothing else."""
    place, _, _ = _joined(message)
    summary, digests, own = (None, None, "") if place is None else titles.pieces(message.parts[place].text)
    return summary is None and digests is not None and own is None


def without_leads(message: Message) -> Message:
    """A message without the summary and the digest of a compaction that it is or begins with."""
    place, _, _ = _joined(message)
    if place is None:
        return message
    _, digests, own = titles.pieces(message.parts[place].text)
    rest = own if digests is None or digests.startswith(titles.DIGEST) else message.parts[place].text
    return _with_text(message, place, "" if message.is_summary or rest is None else rest)


def can_join(message: Message) -> bool:
    """Whether a digest can be put before what a message says."""
    return _joined(message)[0] is not None


def with_digests(message: Message, digests: str) -> Message:
    """A message that begins with more digests."""
    place, _, _ = _joined(message)
    if place is None:
        raise ValueError("there is no text that a digest could be joined to")
    text = titles.with_digests(message.parts[place].text, digests)
    is_summary = message.is_summary and not titles.is_titled(text)
    return replace(_with_text(message, place, text), is_summary=is_summary)


def put(messages: Sequence[Message], text: str, alternates: bool) -> tuple[list[Message], int, bool]:
    """Messages with a summary after the first system messages; its position, and whether it was joined to a prompt.

    `alternates`: no two messages of the user may stand side by side. Summaries that stand there already are replaced.
    """
    kept = [_bare(one) for one in messages if not one.is_summary]
    place = next((at for at, one in enumerate(kept) if one.role != "system" and one.agent_visible), len(kept))
    if alternates and place < len(kept) and kept[place].role == "user":
        at, _, own = _joined(kept[place])
        if at is not None:
            kept[place] = _with_text(kept[place], at, f"{text}{titles.END}{own}")
            return kept, place, True
    kept.insert(place, summary_message(text))
    return kept, place, False


def alternates(messages: Sequence[Message]) -> bool:
    """Whether user and assistant take turns in a conversation."""
    return is_alternating(messages, shape(messages))


def _bare(message: Message) -> Message:
    """A message without the summary that it begins with."""
    place, summary, rest = _joined(message)
    return message if summary is None or place is None else _with_text(message, place, rest)


def _joined(message: Message) -> tuple[int | None, str | None, str]:
    """Where the first text of a prompt stands that can be rewritten, the summary it begins with, and the rest of it."""
    for place, part in enumerate(message.parts):
        if part.kind == "text" and message.role == "user" and (part.span is not None or message.index is None):
            return (place, *titles.parted(part.text))
    return None, None, ""


def _with_text(message: Message, place: int, text: str) -> Message:
    parts = (replace(part, text=text) if at == place else part for at, part in enumerate(message.parts))
    return replace(message, parts=tuple(parts))
