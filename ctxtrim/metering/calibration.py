"""Calibration by recorded usage: corrects counts, finds hidden prompt tokens, and anchors
estimates.

::

    answer i ── texts and frames of a window ── answer j ── … ── last answer ── later messages
       │                                           │                  │              │
    prompt i            grows to                prompt j          recorded     +  counted

    anchored estimate = recorded + counted

    factor of a window = (prompt j − prompt i − frames) / texts

The factor of a transcript is the largest factor of its windows, at least 1. The window of an answer
is the shortest one that ends there and contains `WINDOW` tokens of text. Finding them takes one
pass. A longer window would average shorter ones, so its factor is not much larger. Dropping the
oldest messages creates no new windows.

A window never spans a step between two answers whose sent tokens are unknown: the prompt shrinks or
the model changes; there are attachments, abridged results or hidden messages; or there are more new
tokens than bytes.
"""

from collections.abc import Callable, Iterable, Iterator
from itertools import accumulate
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from ctxtrim.evidence.errors import is_abridged
from ctxtrim.findings import Finding
from ctxtrim.model import Message, Transcript
from ctxtrim.model.request import Usage
from ctxtrim.summaries import markers
from ctxtrim.text.numbers import several
from ctxtrim.tokens.counter import Counter
from ctxtrim.tokens.models import find_model
from ctxtrim.tokens.tokenizer import Exactness, Scaled, StandIn

WINDOW = 2000  # minimum tokens of text in a window
LEAST = 5  # minimum windows for a factor


class Answer(NamedTuple):
    """An answer with recorded usage, and its position among the messages."""

    position: int
    usage: Usage


class RecordedAnswers(Struct, frozen=True):
    """The answers with usable recorded usage, in order.

    `reason_if_none` is the reason if there are none.
    """

    answers: tuple[Answer, ...]
    reason_if_none: str


def recorded_answers(transcript: Transcript, is_alike: Callable[[str], bool]) -> RecordedAnswers:
    """The answers whose usage can calibrate counts.

    `is_alike`: whether a model counts like the one that the transcript is counted for. Usage that
    names no model is of the transcript's, unless that is an unknown name: it may be a deployment's.
    Three kinds of usage are unusable: totals of a whole conversation, usage on messages of a
    simulated user, and usage older than the last summary.
    """
    messages = transcript.messages
    positions = {
        message.index: position
        for position, message in enumerate(messages)
        if message.index is not None
    }
    candidates = [
        Answer(positions[usage.message], usage)
        for usage in transcript.usages
        if usage.message in positions
    ]
    answers = [answer for answer in candidates if _answers(messages[answer.position])]
    if not answers:
        return RecordedAnswers((), "no answer has recorded usage")
    answers = _newer_than_summaries(transcript, answers)
    if not answers:
        return RecordedAnswers((), "all recorded usage is older than the last summary")
    recorded = transcript.model
    named = recorded if recorded is not None and find_model(recorded) is not None else None
    models = {answer.usage.model or named for answer in answers}
    alike = {model for model in models if model is None or is_alike(model)}
    answers = [answer for answer in answers if (answer.usage.model or named) in alike]
    return RecordedAnswers(
        tuple(answers), "all recorded usage is from models that count differently"
    )


def calibrate(
    counter: Counter, transcript: Transcript, usable: RecordedAnswers
) -> tuple[Counter, Finding]:
    """A counter scaled by recorded usage, never below the given one, and a finding about it.

    The finding's `tokens` are those of the first prompt outside of the file: the client's system
    prompt and tools.
    """
    if not usable.answers:
        return counter, _not_calibrated(usable.reason_if_none)
    answers = tuple(answer for answer in usable.answers if answer.usage.prompt_tokens)
    if not answers:
        return counter, _not_calibrated("recorded usage has totals but no prompt tokens")
    hidden = _hidden(counter, transcript, answers[0])
    rest = f"{hidden:,} tokens were sent that the file does not contain (system prompt, tools)"
    factors = list(_thousandths(counter, transcript, answers))
    windows = f"{several(len(factors), 'window')} of {WINDOW:,} tokens between recorded answers"
    if len(factors) < LEAST:
        reason = f"{windows}, at least {LEAST} are needed; {rest}"
        return counter, _not_calibrated(reason, hidden)
    factor = max(factors) / 1000
    if factor <= 1:
        text = f"counts are unchanged, {windows} need a factor of at most {factor:.3f}"
    else:
        text = f"texts count {factor:.3f} times, the largest factor of {windows}"
        counter = Counter(Scaled(counter.tokenizer, factor), counter.framing)
    note = Finding("calibrated", "info", f"calibrated: {text}; {rest}", tokens=hidden)
    return counter, note


def _not_calibrated(reason: str, hidden: int | None = None) -> Finding:
    return Finding("not-calibrated", "warning", f"not calibrated: {reason}", tokens=hidden)


def anchor(
    counter: Counter, transcript: Transcript, usable: RecordedAnswers
) -> tuple[Counter, Finding]:
    """A counter that uses the last recorded usage and counts the messages after its answer.

    The difference between recorded and counted tokens becomes priming, so that each message keeps
    its own cost. An answer has at least its counted tokens, because some clients record only its
    first word. This is valid only for the unchanged transcript: dropping old messages does not
    lower the recorded part.
    """
    if not usable.answers:
        return counter, Finding(
            "not-anchored", "warning", f"not anchored, counted as a whole: {usable.reason_if_none}"
        )
    position, usage = usable.answers[-1]
    costs = [cost.total for cost in counter.costs(transcript.messages)]
    tokens = usage.context_tokens(costs[position])
    counted = counter.fixed(transcript) + sum(costs[: position + 1])
    framing = replace(counter.framing, priming=counter.framing.priming + tokens - counted)
    tokenizer = StandIn(counter.tokenizer, f"usage + {counter.tokenizer.name}")
    text = (
        f"anchored: {tokens:,} tokens recorded up to message {position}; the "
        f"file counts as {counted:,}"
    )
    note = Finding(
        "anchored", "info", text, transcript.line_of(transcript.messages[position]), tokens=tokens
    )
    return Counter(tokenizer, framing, texts=counter.texts), note


def _newer_than_summaries(transcript: Transcript, answers: list[Answer]) -> list[Answer]:
    """The answers after the last summary, by message, by line, and by the summary's count.

    Messages that a compaction kept follow its summary, but their usage was recorded before it.
    """
    messages = transcript.messages
    texts = {
        position: message.first_text
        for position, message in enumerate(messages)
        if message.role == "user"
    }
    written = [position for position, text in texts.items() if markers.older(text)]
    if written:
        given = [
            position
            for position, message in enumerate(messages)
            if position > written[-1] and _answers(message)
        ]
        past = given[: markers.older(texts[written[-1]])]
        answers = [answer for answer in answers if answer.position > max(past, default=written[-1])]
    summaries = [index for index, message in enumerate(messages) if message.is_summary]
    if not summaries:
        return answers
    line = max(_line(messages[index]) for index in summaries)
    return [
        answer
        for answer in answers
        if answer.position > summaries[-1] and _line(messages[answer.position]) >= line
    ]


def _answers(message: Message) -> bool:
    return message.role == "assistant" and message.agent_visible


def _line(message: Message) -> int:
    return message.spans[0].line if message.spans else 0


def _hidden(counter: Counter, transcript: Transcript, first: Answer) -> int:
    """The tokens of the first prompt beyond its counted messages."""
    costs = counter.costs(transcript.messages)
    counted = counter.fixed(transcript) + sum(cost.total for cost in costs[: first.position])
    return max(0, first.usage.prompt_tokens - counted)


def _thousandths(
    counter: Counter, transcript: Transcript, answers: tuple[Answer, ...]
) -> Iterator[int]:
    """The factor of each window, in thousandths, rounded up."""
    messages = transcript.messages
    around = [cost.total for cost in Counter(_Free(), counter.framing).costs(messages)]
    frames = _sums(around)
    texts = _sums(
        cost.total - frame for cost, frame in zip(counter.costs(messages), around, strict=True)
    )
    room = _sums(frame + _size(message) for frame, message in zip(around, messages, strict=True))
    unrecorded = _sums(_has_unrecorded_content(message) for message in messages)
    start = 0
    for end in range(1, len(answers)):
        (last_position, last_usage), (end_position, usage) = answers[end - 1], answers[end]
        grown = usage.prompt_tokens - last_usage.prompt_tokens
        if (
            not 0 <= grown <= room[end_position] - room[last_position]
            or usage.model != last_usage.model
            or unrecorded[end_position] > unrecorded[last_position]
        ):
            start = end
        while texts[end_position] - texts[answers[min(start + 1, end)].position] >= WINDOW:
            start += 1
        start_position, first_usage = answers[start]
        text = texts[end_position] - texts[start_position]
        if text >= WINDOW:
            tokens = (
                usage.prompt_tokens
                - first_usage.prompt_tokens
                - (frames[end_position] - frames[start_position])
            )
            yield -(-1000 * tokens // text)


class _Free(Struct, frozen=True):
    """A tokenizer that counts 0, which leaves only the frame tokens of a message."""

    name: str = "free"
    exactness: Exactness = "exact"

    def count(self, text: str) -> int:
        return 0

    ceiling = count


def _sums(numbers: Iterable[int]) -> list[int]:
    """The sum of the numbers before each position."""
    return list(accumulate(numbers, initial=0))


def _has_unrecorded_content(message: Message) -> bool:
    """Whether a message was sent with more than its texts, or with less."""
    return (
        not message.agent_visible
        or any(part.media is not None for part in message.parts)
        or is_abridged(message)
    )


def _size(message: Message) -> int:
    """The bytes of a message's texts: an upper bound of their tokens."""
    return sum(len(part.text.encode(errors="replace")) for part in message.parts)
