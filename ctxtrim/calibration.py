"""What recorded usage teaches: how far a count is off, what was sent beside the file, how much was in context.

::

    answer i ── texts and frames of a window ── answer j ── … ── last answer ── what follows
       │                                           │                  │              │
    prompt i            grows to                prompt j          recorded     +  counted  = anchored estimate

    factor of a window = (prompt j − prompt i − frames) / texts

The factor of a transcript is the largest of all its windows, never below 1. For each answer its window is the shortest
that ends there and holds `WINDOW` tokens of text: that is one pass, a longer window is a mixture of such and asks for
about as much at most, and when the oldest messages go, what is left has no window that was not there before.
No window goes over a step, from one answer to the next, of which the file does not tell what was sent: where the prompt
shrinks or the model changes, over attachments, results that say they are not whole and what is hidden by now, and where
there are more new tokens than bytes.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import NamedTuple

from ctxtrim.evidence import is_abridged
from ctxtrim.model import Message, Transcript, Usage
from ctxtrim.stage import Finding
from ctxtrim.summaries import markers
from ctxtrim.tokens import Exactness, Scaled, StandIn
from ctxtrim.tokens.counter import Counter

WINDOW = 2000  # tokens of text that a window holds at least
LEAST = 5  # windows that a factor needs


class Answer(NamedTuple):
    """An answer whose usage was recorded: its place among the messages, and what was counted for it."""

    place: int
    usage: Usage


@dataclass(frozen=True)
class Recorded:
    """The answers whose recorded usage tells of a transcript's messages as they are, in order.

    `why_none` says why there are none, where there are none.
    """

    answers: tuple[Answer, ...]
    why_none: str


def recorded(transcript: Transcript, is_alike: Callable[[str], bool]) -> Recorded:
    """What there is to learn from. `is_alike`: whether a model counts like the one that the transcript is counted for.

    Usage of the whole conversation says of no message what stood before it; that of a simulated user counted what the
    user was told; what is older than the last summary counted all that this now stands for.
    """
    messages = transcript.messages
    places = {message.index: place for place, message in enumerate(messages) if message.index is not None}
    found = [Answer(places[usage.message], usage) for usage in transcript.usages if usage.message in places]
    answers = [one for one in found if _answers(messages[one.place])]
    if not answers:
        return Recorded((), "no answer has its usage recorded")
    answers = _newer_than_summaries(transcript, answers)
    if not answers:
        return Recorded((), "all recorded usage is older than the last summary")
    models = {model: is_alike(model) for model in {answer.usage.model for answer in answers} if model is not None}
    answers = [answer for answer in answers if models.get(answer.usage.model or "", True)]
    return Recorded(tuple(answers), "all recorded usage is of models that count otherwise")


def calibrated(counter: Counter, transcript: Transcript, known: Recorded) -> tuple[Counter, Finding]:
    """A counter that counts by what was recorded, never less than the one given, and what is to be said of it.

    `tokens` of the finding are those that the first prompt held beside the file: the client's system prompt and tools.
    """
    if not known.answers:
        return counter, Finding("not-calibrated", "warning", f"not calibrated: {known.why_none}")
    answers = tuple(answer for answer in known.answers if answer.usage.prompt_tokens)
    if not answers:
        return counter, Finding(
            "not-calibrated", "warning", "not calibrated: recorded usage has totals, but no prompts"
        )
    hidden = _hidden(counter, transcript, answers[0])
    beside = f"{hidden:,} tokens were sent that the file does not hold (system prompt, tools)"
    asked = list(_thousandths(counter, transcript, answers))
    windows = f"{len(asked):,} window{'' if len(asked) == 1 else 's'} of {WINDOW:,} tokens between recorded answers"
    if len(asked) < LEAST:
        text = f"not calibrated: {windows}, {LEAST} are needed; {beside}"
        return counter, Finding("not-calibrated", "warning", text, tokens=hidden)
    factor = max(asked) / 1000
    if factor <= 1:
        text = f"calibrated: counts stay as they are, {windows} ask for {factor:.3f} times at most; {beside}"
        return counter, Finding("calibrated", "info", text, tokens=hidden)
    text = f"calibrated: texts count {factor:.3f} times, the most that {windows} ask for; {beside}"
    return Counter(Scaled(counter.tokenizer, factor), counter.framing), Finding(
        "calibrated", "info", text, tokens=hidden
    )


def anchored(counter: Counter, transcript: Transcript, known: Recorded) -> tuple[Counter, Finding]:
    """A counter that takes what the last usage recorded for all up to its answer, and counts what follows.

    The difference between what was recorded and what is counted of these messages is priming, so that each still costs
    its own. An answer is no smaller than it is counted: some clients record the tokens of its first word. Good for the
    transcript as it is: when old messages go, what was recorded stays.
    """
    if not known.answers:
        return counter, Finding("not-anchored", "warning", f"not anchored, counted as a whole: {known.why_none}")
    place, usage = known.answers[-1]
    costs = [cost.total for cost in counter.costs(transcript.messages)]
    tokens = usage.held(costs[place])
    counted = counter.fixed(transcript) + sum(costs[: place + 1])
    framing = replace(counter.framing, priming=counter.framing.priming + tokens - counted)
    tokenizer = StandIn(counter.tokenizer, f"usage + {counter.tokenizer.name}")
    text = f"anchored: {tokens:,} tokens were recorded up to message {place}, where {counted:,} are counted in the file"
    note = Finding("anchored", "info", text, transcript.line_of(transcript.messages[place]), tokens=tokens)
    return replace(counter, tokenizer=tokenizer, framing=framing), note


def _newer_than_summaries(transcript: Transcript, answers: list[Answer]) -> list[Answer]:
    """The answers after the last summary, by the order of messages and of lines, and by what it says itself.

    What a compaction left in place stands after its summary, but was recorded before.
    """
    messages = transcript.messages
    texts = {place: _opening(message) for place, message in enumerate(messages) if message.role == "user"}
    written = [place for place, text in texts.items() if markers.older(text)]
    if written:
        given = [place for place, message in enumerate(messages) if place > written[-1] and _answers(message)]
        past = given[: markers.older(texts[written[-1]])]
        answers = [one for one in answers if one.place > max(past, default=written[-1])]
    summaries = [index for index, message in enumerate(messages) if message.is_summary]
    if not summaries:
        return answers
    line = max(_line(messages[index]) for index in summaries)
    return [one for one in answers if one.place > summaries[-1] and _line(messages[one.place]) >= line]


def _opening(message: Message) -> str:
    return next((part.text for part in message.parts if part.kind == "text"), "")


def _answers(message: Message) -> bool:
    return message.role == "assistant" and message.agent_visible


def _line(message: Message) -> int:
    return message.spans[0].line if message.spans else 0


def _hidden(counter: Counter, transcript: Transcript, first: Answer) -> int:
    """The tokens that the first prompt held beside what is counted of it."""
    costs = counter.costs(transcript.messages)
    counted = counter.fixed(transcript) + sum(cost.total for cost in costs[: first.place])
    return max(0, first.usage.prompt_tokens - counted)


def _thousandths(counter: Counter, transcript: Transcript, answers: tuple[Answer, ...]) -> Iterator[int]:
    """The factor that each window asks for, in thousandths, rounded up."""
    messages = transcript.messages
    around = [cost.total for cost in Counter(_Free(), counter.framing).costs(messages)]
    frames = _sums(around)
    texts = _sums(cost.total - frame for cost, frame in zip(counter.costs(messages), around, strict=True))
    room = _sums(frame + _size(message) for frame, message in zip(around, messages, strict=True))
    untold = _sums(_is_untold(message) for message in messages)
    start = 0
    for end in range(1, len(answers)):
        (last, before), (here, now) = answers[end - 1], answers[end]
        grown = now.prompt_tokens - before.prompt_tokens
        if not 0 <= grown <= room[here] - room[last] or now.model != before.model or untold[here] > untold[last]:
            start = end
        while texts[here] - texts[answers[min(start + 1, end)].place] >= WINDOW:
            start += 1
        there, then = answers[start]
        text = texts[here] - texts[there]
        if text >= WINDOW:
            asked = now.prompt_tokens - then.prompt_tokens - (frames[here] - frames[there])
            yield -(-1000 * asked // text)


@dataclass(frozen=True)
class _Free:
    """No text has any tokens: what a message still costs is what stands around its texts."""

    name: str = "free"
    exactness: Exactness = "exact"

    def count(self, text: str) -> int:
        return 0

    ceiling = count


def _sums(numbers: Iterable[int]) -> list[int]:
    """The sum of the numbers before each place."""
    return list(accumulate(numbers, initial=0))


def _is_untold(message: Message) -> bool:
    """Whether something else than its texts was sent of it: of what is hidden now, all of it may have been."""
    return not message.agent_visible or any(part.media is not None for part in message.parts) or is_abridged(message)


def _size(message: Message) -> int:
    """The bytes of its texts: no tokenizer makes more tokens of them."""
    return sum(len(part.text.encode(errors="replace")) for part in message.parts)
