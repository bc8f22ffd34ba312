"""Messages that are kept regardless of age: their positions in order, each with the reason."""

from collections.abc import Sequence

from ctxtrim.conversation import pins
from ctxtrim.conversation.tasks import current_task
from ctxtrim.conversation.thinking import begins_with_thinking, loop_starts, requires_thinking
from ctxtrim.conversation.turns import Shape
from ctxtrim.model import Message, Transcript

CURRENT_TASK = "current task"
"""The reason of the messages of the current task."""
LAST_EXCHANGE = "last exchange"
"""The reason of messages that are kept because there is no prompt."""
LAST_ANSWER = "last answer"
"""The reason of messages that answer the current task; without a prompt, of the last exchange."""
STORED_CALL = "answers a call that the provider stored"
"""The reason of results of calls that only the provider has."""
LOOP_START = "the tool loop must start with thinking while thinking is enabled"
"""The reason of the first messages of the current tool loop."""


def required(transcript: Transcript, shape: Shape) -> dict[int, str]:
    """The messages without which the provider refuses the request. Their results may be shortened:
    the results of calls that only the provider has, and the start of the tool loop.
    """
    return _loop_start(transcript, shape) | _stored_answers(transcript, shape)


def _loop_start(transcript: Transcript, shape: Shape) -> dict[int, str]:
    """The prompt and the first step of the current tool loop, if it must begin with thinking and
    some answers in it do not.
    """
    if not requires_thinking(transcript.options):
        return {}
    messages, kept = shape.messages, set[int]()
    for prompt, answer in loop_starts(messages):
        if answer is not None and not begins_with_thinking(messages[answer]):
            continue
        exchanges = {shape.exchange[at] for at in (prompt, answer) if at is not None}
        kept.update(at for at, exchange in enumerate(shape.exchange) if exchange in exchanges)
    return dict.fromkeys(sorted(kept), LOOP_START)


def _stored_answers(transcript: Transcript, shape: Shape) -> dict[int, str]:
    """The results of calls that only the provider has."""
    if not transcript.options.continues_stored:
        return {}

    def is_unpaired(position: int) -> bool:
        return transcript.messages[position].role == "tool" and shape.call[position] is None

    return dict.fromkeys(filter(is_unpaired, shape.visible), STORED_CALL)


def not_summarized(transcript: Transcript, shape: Shape, patterns: Sequence[str]) -> dict[int, str]:
    """The messages that no summary replaces: hidden, system and pinned messages, the current task,
    and what the provider requires. An earlier summary is replaced, unless only the provider can
    read it.
    """
    messages = transcript.messages
    pinned = pins.pinned(shape, patterns)
    task = current_task(messages)
    reasons = {}
    for position, message in enumerate(messages):
        if not message.agent_visible:
            reasons[position] = "hidden"
        elif message.role == "system" and not message.continues:
            reasons[position] = "system"
        elif position in pinned:
            reasons[position] = pinned[position]
        elif is_sealed_summary(message):
            reasons[position] = "encrypted summary"
        elif shape.exchange[position] == task and not message.is_summary:
            reasons[position] = CURRENT_TASK
    return required(transcript, shape) | reasons


def is_sealed_summary(message: Message) -> bool:
    """Whether a message is a summary that only the provider can read, such as a compaction of
    OpenAI. No other summary can contain it.
    """
    return message.is_summary and any(
        part.media is not None and part.media.kind == "sealed" for part in message.parts
    )


def not_dropped(
    shape: Shape, patterns: Sequence[str], *, keeps_system: bool, keeps_answer: bool
) -> dict[int, str]:
    """The messages that trimming never drops: hidden and pinned messages, the prompts of pinned
    messages, the current task or else the last exchange, perhaps system messages, and perhaps the
    answer to the current task.
    """
    messages, turn_of = shape.messages, shape.turn
    task, reason = current_task(messages), CURRENT_TASK
    if task is None:
        spoken = [position for position in shape.visible if messages[position].role != "system"]
        task, reason = shape.exchange[spoken[-1]] if spoken else None, LAST_EXCHANGE
    pinned = pins.pinned(shape, patterns)
    if keeps_answer and task is not None:
        start = task + 1 if reason == CURRENT_TASK else task
        pinned = _last_answer(shape, start) | pinned
    turns = {turn_of[position] for position in pinned}
    reasons = {}
    for position, message in enumerate(messages):
        if not message.agent_visible:
            reasons[position] = "hidden"
        elif position in pinned:
            reasons[position] = pinned[position]
        elif shape.exchange[position] == task:
            reasons[position] = reason
        elif message.role == "system" and not message.continues and keeps_system:
            reasons[position] = "system"
        elif turn_of[position] in turns and messages[shape.exchange[position]].starts_turn:
            reasons[position] = "prompt of a pinned message"
    return reasons


def _last_answer(shape: Shape, start: int) -> dict[int, str]:
    """The messages from a position on, and the rest of their exchanges: an answer may have begun
    before the prompt.
    """
    exchanges = {shape.exchange[position] for position in shape.visible if position >= start}
    return {
        position: LAST_ANSWER for position, first in enumerate(shape.exchange) if first in exchanges
    }
