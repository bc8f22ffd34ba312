"""Messages that are kept regardless of age."""

from collections.abc import Sequence

from ctxtrim.conversation import pins
from ctxtrim.conversation.turns import Shape, current_task
from ctxtrim.model import Message


def protected_messages(
    messages: Sequence[Message], shape: Shape, patterns: Sequence[str]
) -> dict[int, str]:
    """The positions of kept messages and the reasons: hidden, system and pinned messages, and the
    current task.
    """
    pinned = pins.pinned(messages, shape, patterns)
    task = current_task(messages)
    reasons = {}
    for position, message in enumerate(messages):
        if not message.agent_visible:
            reasons[position] = "hidden"
        elif message.role == "system":
            reasons[position] = "system"
        elif position in pinned:
            reasons[position] = pinned[position]
        elif shape.exchange[position] == task and not message.is_summary:
            reasons[position] = "current task"
    return reasons
