"""The prompts of the person: the one that opened the session, the current one, and the one that
began the current tool loop; and the answer that a prompt may refer to.
"""

from collections.abc import Sequence

from ctxtrim.model import Message


def current_task(messages: Sequence[Message]) -> int | None:
    """The position of the newest user message that the person typed; of any user message if the
    person typed none.

    Hidden messages do not count, nor do messages that the person cannot see.
    """
    return _prompt(range(len(messages) - 1, -1, -1), messages)


def current_loop(messages: Sequence[Message]) -> int | None:
    """The position of the prompt that began the current tool loop; None without a prompt.

    The current task begins it, unless the task directly follows results: then their loop goes on.
    """
    start, follows_result = current_task(messages), False
    for position in range((start or 0) - 1, -1, -1):
        message = messages[position]
        if not message.agent_visible or message.role == "system":
            continue
        if message.role == "user":
            start, follows_result = position, False
        elif message.role == "tool":
            follows_result = True
        elif not follows_result:
            break
    return start


def opening_task(messages: Sequence[Message]) -> int | None:
    """The position of the prompt that opened the session, found like `current_task`."""
    return _prompt(range(len(messages)), messages)


def answer_before(messages: Sequence[Message], prompt: int) -> int | None:
    """The position of the text of the assistant that a prompt directly follows; None if it follows
    results, another prompt, a summary or a demonstration.

    Messages that the client injects between the two do not count.
    """
    for position in range(prompt - 1, -1, -1):
        message = messages[position]
        if not message.agent_visible or message.role == "system":
            continue
        if message.role == "tool" or message.is_summary or message.is_demo or is_typed(message):
            return None
        if message.role == "assistant" and _has_text(message):
            return position
    return None


def is_typed(message: Message) -> bool:
    """Whether the person typed a message, and no client injected it."""
    return (
        message.role == "user"
        and message.user_visible
        and not (message.is_injected or message.is_summary)
    )


def _prompt(order: range, messages: Sequence[Message]) -> int | None:
    """The first typed prompt in an order of positions, else the first start of a turn."""
    first: int | None = None
    for position in order:
        message = messages[position]
        if not message.starts_turn or not message.agent_visible:
            continue
        if is_typed(message) and _has_content(message):
            return position
        first = position if first is None else first
    return first


def _has_text(message: Message) -> bool:
    return any(part.kind == "text" and part.text.strip() for part in message.parts)


def _has_content(message: Message) -> bool:
    """Whether the message has content other than calls."""
    return not message.parts or any(part.kind != "tool_call" for part in message.parts)
