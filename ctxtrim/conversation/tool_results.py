"""Tool results as stages see them: one text, whatever its parts, with the tool, the call and the
age.
"""

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from ctxtrim.conversation.turns import Shape
from ctxtrim.model import Message, Part

METADATA = ("_originalLength", "_truncatedAt")
"""The debug keys of a shortened result: its original length in characters, and its age at that
time.
"""


class ToolResult(Struct, frozen=True):
    """A tool result. `text`: all its texts, a line each; `call`: the call it answers; `age`: in
    steps or turns.
    """

    position: int
    message: Message
    text: str
    tool: str
    call: Part | None
    age: int

    @property
    def is_rewritable(self) -> bool:
        """Whether one text can replace all texts of the result.

        Each text must be rewritable, and all but the first must be removable.
        """
        texts = [part for part in self.message.parts if part.kind == "tool_result"]
        if len(texts) == 1:  # as almost always
            return texts[0].span is not None
        return all(part.span is not None for part in texts) and all(
            part.block is not None for part in texts[1:]
        )

    @property
    def is_error(self) -> bool | None:
        """Whether the format flags the result as an error; None if it has no flag."""
        return self.message.result.is_error if self.message.result else None

    @property
    def id(self) -> str | None:
        """The trace id of the result, or the id of its call."""
        return self.message.result.call_id if self.message.result else None

    def with_text(self, text: str) -> Message:
        """The message with one text instead of all its texts. Images and other parts are kept."""
        before = self.message.parts
        if len(before) == 1 and before[0].kind == "tool_result":  # as almost always
            return replace(self.message, parts=(replace(before[0], text=text),))
        parts: list[Part] = []
        for part in before:
            if part.kind != "tool_result":
                parts.append(part)
            elif not any(kept.kind == "tool_result" for kept in parts):
                parts.append(replace(part, text=text))
        return replace(self.message, parts=tuple(parts))


def results(shape: Shape, ages: Sequence[int]) -> list[ToolResult]:
    """The tool results that the model sees, in order. `ages` are the ages of all messages."""
    tool_results = []
    for position, message in enumerate(shape.messages):
        result = message.result if message.role == "tool" and message.agent_visible else None
        if result is not None:
            call = shape.call[position]
            text = result_text(message)
            tool_results.append(
                ToolResult(position, message, text, tool_name(result, call), call, ages[position])
            )
    return tool_results


def are_alike(messages: Sequence[Message], others: Sequence[Message]) -> bool:
    """Whether two conversations differ in the texts of tool results only, so that their shapes are
    the same but for the messages.
    """
    return len(messages) == len(others) and all(map(_is_alike, messages, others))


def _is_alike(message: Message, other: Message) -> bool:
    if message is other:
        return True
    result, before = message.result, other.result
    if result is None or before is None or not message.role == other.role == "tool":
        return False
    return (
        result.call_id == before.call_id
        and result.name == before.name
        and message.agent_visible == other.agent_visible
        and message.turn == other.turn
        and message.continues == other.continues
    )


def trace_id(text: str) -> str:
    """The id of a result without an id: a hash of its text."""
    from ctxtrim.text.hashing import sha256_of  # few conversations need it

    return f"trace-{sha256_of(text)[:16]}"


def result_text(message: Message) -> str:
    """All text of a tool result. Character ranges refer to this text."""
    parts = message.parts
    if len(parts) == 1 and parts[0].kind == "tool_result":  # as almost always
        return parts[0].text
    texts = [part.text for part in parts if part.kind == "tool_result"]
    return texts[0] if len(texts) == 1 else "\n".join(texts)


def lines_of(text: str) -> int:
    """The number of lines of a text. A line break at the end does not start another line."""
    return text.count("\n") + (not text.endswith("\n")) if text else 0


def tool_name(part: Part | None, call: Part | None) -> str:
    """The tool of a call or a result; `?` if unknown."""
    return (part.name if part else None) or (call.name if call else None) or "?"


def call_label(call: Part) -> str:
    """The id and the tool of a call, which follow the word `call`: `c1 of bash`, `of bash`."""
    name = f"of {call.name}" if call.name else ""
    return " ".join(filter(None, (call.call_id, name))) or "without an id"
