"""What stays however old it is, when what is old goes."""

from collections.abc import Sequence

from ctxtrim.conversation import pins
from ctxtrim.conversation.turns import Shape, current_task
from ctxtrim.model import Message


def held(messages: Sequence[Message], where: Shape, patterns: Sequence[str]) -> dict[int, str]:
    """The places of what stays, and why: what is hidden, system messages, what is pinned and the current task."""
    pinned = pins.pinned(messages, where, patterns)
    task = current_task(messages)
    found = {}
    for place, message in enumerate(messages):
        if not message.agent_visible:
            found[place] = "hidden"
        elif message.role == "system":
            found[place] = "system"
        elif place in pinned:
            found[place] = pinned[place]
        elif where.exchange[place] == task and not message.is_summary:
            found[place] = "current task"
    return found
