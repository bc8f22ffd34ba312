"""The text of a tool result, in which all ranges are counted, and the tool that it came from."""

from ctxtrim.model import Message, Part


def result_text(message: Message) -> str:
    """All text of a tool result; ranges of characters are ranges of this."""
    return "\n".join(part.text for part in message.parts if part.kind == "tool_result")


def tool_of(message: Message, call: Part | None) -> str | None:
    """The name of the tool: that of the call, else what the result itself says."""
    result = message.result
    return (call.name if call else None) or (result.name if result else None)


def lines_of(text: str) -> int:
    """How many lines a text has; the end of the last one begins no other."""
    return text.count("\n") + (not text.endswith("\n")) if text else 0
