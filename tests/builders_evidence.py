"""Small conversations as messages, for tests of the evidence about results."""

import json
from typing import Any

from ctxtrim.model import Message, Part


def user(text: str, **marks: bool) -> Message:
    return Message("user", (Part("text", text),), **marks)


def call(name: str, number: int = 1, arguments: str | None = None, **given: Any) -> Message:
    return Message(
        "assistant",
        (Part("tool_call", arguments or json.dumps(given), f"call_{number}", name=name),),
    )


def result(text: str, number: int = 1, is_error: bool | None = None) -> Message:
    return Message("tool", (Part("tool_result", text, f"call_{number}", is_error=is_error),))


def step(
    name: str, text: str, number: int = 1, is_error: bool | None = None, **given: Any
) -> list[Message]:
    return [call(name, number, **given), result(text, number, is_error)]
