"""Data for training: answers, and preference pairs of a chosen and a rejected answer.

::

    {"prompt": […], "completion": […]}                          an answer
    {"prompt": […], "chosen": […], "rejected": […]}             a pair: two conversations
    {"input": {"messages": […]}, "preferred_output": […], "non_preferred_output": […]}
    {"chosen": [prompt…, answer], "rejected": [prompt…, answer]}
    {"messages": [prompt…, answer], "rejected_messages": [prompt…, answer]}
    {"messages" | "conversations": […], "chosen": message, "rejected": message}
    {"messages": […], "chosen": […], "rejected": […]}           UltraFeedback: a pair and a copy

Without its own list, the prompt is the common start of both conversations.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import takewhile
from typing import Any

from msgspec.structs import replace

from ctxtrim.formats.fields import is_in
from ctxtrim.model import Message, Span, Transcript
from ctxtrim.text.json_paths import Place

_PAIR = ("chosen", "rejected")
_CHOSEN = {
    "rejected": ("chosen",),
    "rejected_messages": ("chosen_messages", "messages"),
}
"""By the list with a prompt and the rejected answer, the lists that may have the chosen one."""


def answer_conversations(
    lists: Sequence[Place], is_message: Callable[[Any], bool]
) -> list[list[Place]]:
    """The conversations of a list with a chosen and a rejected answer next to it.

    Two messages are answers to the list. Two lists that begin with the same message are a pair next
    to the list, which may be a copy of one of them.
    """
    place = lists[0]
    if place.path[-1:] in (("chosen",), ("rejected",)):
        return [list(lists)]
    chosen, rejected = (
        place._replace(path=(*place.envelope_path, name), items=place.envelope.get(name, ""))
        for name in _PAIR
    )
    if is_message(chosen.items) and is_message(rejected.items):
        return [[place, chosen], [place, rejected]]
    if isinstance(chosen.items, list) and isinstance(rejected.items, list):
        first = chosen.items[:1]
        if first == rejected.items[:1] and any(map(is_message, first)):
            return [[place], [chosen], [rejected]]
    return [list(lists)]


def unread_preferences(
    lists: Sequence[Place], conversations: Sequence[Sequence[Place]]
) -> tuple[str, ...]:
    """The notes about answers next to the lists of a conversation that no conversation has."""
    place = lists[0]
    known_paths = {other.path for places in conversations for other in places}
    notes = []
    for name in (*_PAIR, "rejected_response"):
        answer = place.envelope.get(name)
        # a number or a flag says which answer was chosen
        has_answer = isinstance(answer, (str, dict, list)) and bool(answer)
        if has_answer and (*place.envelope_path, name) not in known_paths:
            notes.append(f"the answer in `{name}` is not read")
    return tuple(notes)


def with_answers(transcripts: Sequence[Transcript], lists: Sequence[Span]) -> list[Transcript]:
    """The last two transcripts that were read, with their answers marked. `lists` are those of the
    last one.
    """
    *earlier, last = transcripts
    *prompts, answer = lists
    if prompts:
        before = takewhile(lambda message: not is_in(message.spans[0], answer), last.messages)
        return [*earlier, _with_answer(last, len(list(before)))]
    if earlier and _is_chosen(earlier[0], answer):
        start = _prompt_length(earlier[0].messages, last.messages)
        if start:
            return [_with_answer(earlier[0], start), _with_answer(last, start)]
    return list(transcripts)


def _is_chosen(transcript: Transcript, rejected: Span) -> bool:
    """Whether a transcript ends with the chosen answer next to the list of the rejected one."""
    names = _CHOSEN.get(str(rejected.path[-1]), ())
    places = [rejected.outer.inside(name) for name in names]
    if not transcript.messages:
        return False
    return any(is_in(transcript.messages[-1].spans[0], place) for place in places)


def _prompt_length(chosen: Sequence[Message], rejected: Sequence[Message]) -> int:
    """The number of messages with which both conversations begin; each has an answer after them."""
    pairs = zip(chosen[:-1], rejected[:-1], strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def _with_answer(transcript: Transcript, start: int) -> Transcript:
    """The transcript whose messages from a position on are the answer."""
    messages = transcript.messages
    answer = (replace(message, is_training_answer=True) for message in messages[start:])
    messages = (*messages[:start], *answer)
    source = replace(transcript.source, messages=messages)
    return replace(transcript, messages=messages, source=source)


def prompt_of(messages: Sequence[Message]) -> Sequence[Message]:
    """The messages before an answer; none without an answer."""
    if not messages or not messages[-1].is_training_answer:
        return ()
    starts = (index for index, message in enumerate(messages) if message.is_training_answer)
    return messages[: next(starts, 0)]


def is_pair(first: Transcript, second: Transcript) -> bool:
    """Whether two transcripts, as read, are answers to one prompt in one object."""
    prompt = prompt_of(first.messages)
    if not prompt or prompt != prompt_of(second.messages):
        return False
    lines = [transcript.messages[-1].spans[0].line for transcript in (first, second)]
    return lines[0] == lines[1] and first.pointer == second.pointer


def with_own_prompts(transcripts: Sequence[Transcript]) -> Iterator[Transcript]:
    """The transcripts without those whose prompt is in the list of the one before: an edit of it is
    written once.
    """
    earlier: Sequence[Span] = ()
    for transcript in transcripts:
        last_message = prompt_of(transcript.source.messages)[-1:]
        spans = last_message[0].spans if last_message else ()
        if not spans or spans != earlier:
            yield transcript
        earlier = spans
