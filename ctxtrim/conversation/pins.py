"""Pins: messages that a user protects.

They are never dropped or shortened, nor is the rest of their exchange. Nor are the answers in data
for training, which a model learns.

A pin is a regular expression over the text of a message, `tool:NAME` for every call of a tool, or
`id:ID` for a call by its id.
"""

import re
from collections.abc import Callable, Sequence

from ctxtrim.conversation.turns import Shape
from ctxtrim.model import Message, Part

TOOL, ID = "tool:", "id:"
ANSWER = "answer in data for training"
"""The reason of answers that no pin needs to protect."""


def check(pattern: str) -> None:
    """Raise a `ValueError` for an invalid pin."""
    if pattern in ("", TOOL, ID):
        raise ValueError("expected a regular expression, tool:NAME or id:ID")
    if not pattern.startswith((TOOL, ID)):
        expression(pattern)


def expression(pattern: str) -> re.Pattern[str]:
    """A compiled regular expression, or a `ValueError`."""
    try:
        return re.compile(pattern)
    except re.error as error:
        raise ValueError(f"invalid regular expression: {error}") from None


def pinned(shape: Shape, pins: Sequence[str]) -> dict[int, str]:
    """The protected messages: from position to the pin or the reason that protects their exchange.

    Hidden messages match no pin: no stage drops them, and their prompts need not stay.
    """
    messages = shape.messages
    if not pins and not (messages and messages[-1].is_training_answer):
        return {}
    tests = [(_test(pin), f"pinned: {pin}") for pin in pins]
    reasons: dict[int, str] = {}  # by exchange
    for position in shape.visible:
        message = messages[position]
        if message.is_training_answer:
            reasons.setdefault(shape.exchange[position], ANSWER)
        for matches, why in tests:
            if matches(message, shape.call[position]):
                reasons.setdefault(shape.exchange[position], why)
    exchanges = enumerate(shape.exchange)
    return {position: reasons[first] for position, first in exchanges if first in reasons}


def _test(pin: str) -> Callable[[Message, Part | None], bool]:
    """The predicate of a pin. A result is also identified by the call that it answers."""
    if pin.startswith(TOOL):
        name = pin.removeprefix(TOOL).lower()
        return lambda message, call: any(
            (part.name or "").lower() == name
            for part in (*message.parts, *((call,) if call else ()))
            if part.kind in ("tool_call", "tool_result")
        )
    if pin.startswith(ID):
        call_id = pin.removeprefix(ID)
        return lambda message, _: any(part.call_id == call_id for part in message.parts)
    search = expression(pin).search
    return lambda message, _: any(search(part.text) for part in message.parts)
