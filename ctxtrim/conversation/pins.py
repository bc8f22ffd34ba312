"""What a user has pinned: it is never dropped and never shortened, and neither is the rest of its exchange.

A pin is a regular expression over all that a message says, `tool:NAME` for every call of a tool, or `id:ID` for a call
by its id.
"""

import re
from collections.abc import Callable, Sequence

from ctxtrim.conversation.turns import Shape
from ctxtrim.model import Message, Part

TOOL, ID = "tool:", "id:"

PIN = "Never drop or shorten what matches: a regular expression, tool:NAME or id:ID."
"""What the setting of that name does, in every stage that has it."""


def check(pattern: str) -> None:
    """A `ValueError` says what is wrong with a pin."""
    if pattern in ("", TOOL, ID):
        raise ValueError("expected a regular expression, tool:NAME or id:ID")
    if not pattern.startswith((TOOL, ID)):
        expression(pattern)


def expression(pattern: str) -> re.Pattern[str]:
    """A regular expression; a `ValueError` where it is none."""
    try:
        return re.compile(pattern)
    except re.error as error:
        raise ValueError(f"no regular expression: {error}") from None


def pinned(messages: Sequence[Message], where: Shape, pins: Sequence[str]) -> dict[int, str]:
    """The messages that are held, by position, with the pin that holds their exchange."""
    if not pins:
        return {}
    tests = [(_test(pin), f"pinned: {pin}") for pin in pins]
    held: dict[int, str] = {}  # by exchange
    for position, message in enumerate(messages):
        for is_meant, why in tests:
            if is_meant(message, where.call[position]):
                held.setdefault(where.exchange[position], why)
    return {position: held[home] for position, home in enumerate(where.exchange) if home in held}


def _test(pin: str) -> Callable[[Message, Part | None], bool]:
    """Whether a pin means a message; a result is also known by the call that it answers."""
    if pin.startswith(TOOL):
        name = pin.removeprefix(TOOL).lower()
        return lambda message, call: any(
            (part.name or "").lower() == name
            for part in (*message.parts, *((call,) if call else ()))
            if part.kind in ("tool_call", "tool_result")
        )
    if pin.startswith(ID):
        own = pin.removeprefix(ID)
        return lambda message, _: any(part.call_id == own for part in message.parts)
    search = expression(pin).search
    return lambda message, _: any(search(part.text) for part in message.parts)
