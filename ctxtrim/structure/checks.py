"""What can be wrong with a message list, each as a function from a conversation to the places where it is."""

import json
import re
from collections.abc import Iterator

from ctxtrim.model import Message, Part
from ctxtrim.structure.rule import Breach, Conversation

Breaches = Iterator[Breach]
_SURROGATE = re.compile("[\ud800-\udfff]")


def result_without_call(talk: Conversation) -> Breaches:
    """A tool result that answers no call before it, where calls are recorded."""
    for position, message in talk.sent:
        if talk.records_calls and message.role == "tool" and talk.shape.call[position] is None:
            result = message.result
            yield Breach(position, f"tool result {result.call_id if result else None} answers no call before it")


def call_without_result(talk: Conversation) -> Breaches:
    """A call that has no result although the conversation went on."""
    return (_unanswered(position, call) for position, call in talk.shape.unanswered if position != _last_spoken(talk))


def pending_call(talk: Conversation) -> Breaches:
    """A call of the last message, which waits for its result."""
    return (
        _unanswered(position, call, " yet")
        for position, call in talk.shape.unanswered
        if position == _last_spoken(talk)
    )


def _unanswered(position: int, call: Part, yet: str = "") -> Breach:
    return Breach(position, f"call {call.call_id} of {call.name} has no result{yet}")


def _last_spoken(talk: Conversation) -> int:
    """The last message that is no result."""
    return max((place for place, one in talk.sent if one.role in ("user", "assistant")), default=-1)


def result_apart(talk: Conversation) -> Breaches:
    """A tool result with other messages between it and its call."""
    for position, message in talk.sent:
        home = talk.shape.exchange[position]
        between = (other for other in range(home + 1, position) if talk.messages[other].agent_visible)
        if home < position and any(talk.shape.exchange[other] != home for other in between):
            result = message.result
            yield Breach(
                position, f"tool result {result.call_id if result else None} does not follow its call directly"
            )


def duplicate_call_id(talk: Conversation) -> Breaches:
    """An id that two calls have."""
    seen: set[str] = set()
    for position, message in talk.sent:
        for call in message.calls:
            if call.call_id in seen:
                yield Breach(position, f"call id {call.call_id} is used again")
            if call.call_id is not None:
                seen.add(call.call_id)


def arguments_no_json(talk: Conversation) -> Breaches:
    """Arguments that are not the JSON text of an object."""
    for position, message in talk.sent:
        for call in message.calls:
            if not _is_object(call.text):
                yield Breach(position, f"the arguments of call {call.call_id} of {call.name} are no JSON object")


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False


def no_content(talk: Conversation) -> Breaches:
    """A message with nothing in it at all."""
    for position, message in talk.sent:
        if not message.parts:
            yield Breach(position, f"the {message.role} message has no content")


def blank_text(talk: Conversation) -> Breaches:
    """A text with nothing but white space in it, where the last message of the assistant may be empty."""
    for position, message in talk.sent:
        is_last = position == talk.sent[-1][0] and message.role == "assistant"
        if message.role == "tool" or is_last:
            continue
        if not message.parts or any(part.kind == "text" and not part.text.strip() for part in message.parts):
            yield Breach(position, f"the {message.role} message has a text with nothing in it")


def only_reasoning(talk: Conversation) -> Breaches:
    """A message of the assistant that holds its thinking alone."""
    for position, message in talk.sent:
        if message.parts and all(part.kind == "reasoning" for part in message.parts):
            yield Breach(position, "the assistant message holds nothing but thinking")


def reasoning_at_end(talk: Conversation) -> Breaches:
    """Reasoning with nothing of the same answer after it."""
    for position, message in talk.sent:
        if message.parts and message.parts[-1].kind == "reasoning":
            yield Breach(position, "the reasoning is followed by nothing of the same answer")


def text_after_call(talk: Conversation) -> Breaches:
    """A text that stands after a call in the same message."""
    for position, message in talk.sent:
        kinds = [part.kind for part in message.parts]
        if "tool_call" in kinds and "text" in kinds[kinds.index("tool_call") :]:
            yield Breach(position, "a text stands after a tool call in the same message")


def first_not_user(talk: Conversation) -> Breaches:
    """A conversation that begins with something else than what a user said."""
    first = next((place for place, one in talk.sent if one.role != "system"), None)
    if first is not None and talk.messages[first].role != "user":
        yield Breach(first, f"the first message is from {talk.messages[first].role}, not from the user")


def not_alternating(talk: Conversation) -> Breaches:
    """Two messages of one side in a row; results belong to their call, so what follows them may be of either side."""
    before: Message | None = None
    for position, message in talk.sent:
        if message.role == "system":
            continue
        if before is not None and before.role == message.role and message.role != "tool":
            yield Breach(position, f"two messages from {message.role} in a row")
        before = message


def call_after_model(talk: Conversation) -> Breaches:
    """A call right after another message of the model."""
    before: Message | None = None
    for position, message in talk.sent:
        if before is not None and before.role == message.role == "assistant" and any(message.calls):
            yield Breach(position, "a function call follows a turn of the model")
        before = message


def system_not_first(talk: Conversation) -> Breaches:
    """A system message after something else was said."""
    begun = False
    for position, message in talk.sent:
        if message.role == "system" and begun:
            yield Breach(position, "a system message stands after the conversation has begun")
        begun |= message.role != "system"


def ends_with_assistant(talk: Conversation) -> Breaches:
    """A conversation whose last word is the model's."""
    last, message = talk.sent[-1] if talk.sent else (-1, None)
    if message is not None and message.role == "assistant" and not any(message.calls):
        yield Breach(last, "the conversation ends with the assistant, so there is nothing to answer")


def lone_surrogate(talk: Conversation) -> Breaches:
    """Half of a UTF-16 pair, which no UTF-8 can spell."""
    for position, message in talk.sent:
        if any(_SURROGATE.search(part.text) for part in message.parts if not part.text.isascii()):
            yield Breach(position, "a text holds half of a surrogate pair")


def calls_without_tools(talk: Conversation) -> Breaches:
    """Calls in a request that carries no tool schemas."""
    if not talk.has_tools:
        first = next((place for place, one in talk.sent if any(one.calls)), None)
        if first is not None:
            yield Breach(first, "there are tool calls but no tool schemas beside the messages")
