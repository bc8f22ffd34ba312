"""A tool result as stages judge it: one text, whatever parts it has, with its tool, its call and its age."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from hashlib import sha256

from ctxtrim.conversation.turns import Shape
from ctxtrim.model import Message, Part

METADATA = ("_originalLength", "_truncatedAt")
"""The debug keys of a shortened result: how many characters it had, and its age at that time."""


@dataclass(frozen=True)
class Result:
    """`text` is all texts of the result, a line each; `call` the call it answers; `age` in the clock asked for."""

    position: int
    message: Message
    text: str
    tool: str
    call: Part | None
    age: int

    @property
    def is_rewritable(self) -> bool:
        """Whether one text can replace all its texts: each can be rewritten, and the others can be dropped."""
        texts = [part for part in self.message.parts if part.kind == "tool_result"]
        return all(part.span is not None for part in texts) and all(part.block is not None for part in texts[1:])

    @property
    def id(self) -> str | None:
        """Its trace id, or the id of its call."""
        return self.message.result.call_id if self.message.result else None

    def with_text(self, text: str) -> Message:
        """The message with one text in the place of all its texts; images and other parts stay."""
        parts: list[Part] = []
        for part in self.message.parts:
            if part.kind != "tool_result":
                parts.append(part)
            elif not any(kept.kind == "tool_result" for kept in parts):
                parts.append(replace(part, text=text))
        return replace(self.message, parts=tuple(parts))


def results(messages: Sequence[Message], where: Shape, ages: Sequence[int]) -> list[Result]:
    """The tool results that the model sees, in order; `ages` are those of all messages."""
    found = []
    for position, message in enumerate(messages):
        result = message.result
        if message.role == "tool" and message.agent_visible and result is not None:
            call = where.call[position]
            text = result_text(message)
            found.append(Result(position, message, text, tool_name(result, call), call, ages[position]))
    return found


def trace_id(text: str) -> str:
    """The id of a result that came without one: made of what it says."""
    return f"trace-{sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()[:16]}"


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


def tool_name(part: Part, call: Part | None) -> str:
    """The tool that a call or a result belongs to; `?` where neither says so."""
    return part.name or (call.name if call else None) or "?"
