"""The retention of tool results in a context window: in full for two turns, then three lines and a
pointer.

::

    turn of the result and the next turn     in full
    later turns                              the first 3 lines, and the trace id of the rest

Other messages are always kept in full. Windows and messages are immutable. A truncated result is
not truncated again.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from ctxtrim.errors import (
    InputError,
    UsageError,
    excerpt,
    mismatch,
    must_be_text,
    must_be_whole,
)
from ctxtrim.stages.placeholder import POINTER, first_lines, is_filled

FULL_TURNS = 1
"""Turns after its own for which a result is kept in full."""
HEAD_LINES = 3
"""Lines that are kept after that."""


@dataclass(frozen=True)
class _Message:
    """The members of all messages: an id, a text, and the number of the turn."""

    id: str
    content: str
    turn: int

    type: ClassVar[str]

    def __post_init__(self) -> None:
        """Raise `UsageError` for a member of a wrong type."""
        name = type(self).__name__
        must_be_text(self.id, f"{name}: id")
        must_be_text(self.content, f"{name}: content")
        must_be_whole(self.turn, f"{name}: turn")


@dataclass(frozen=True)
class UserMessage(_Message):
    """A message of the user."""

    type: ClassVar[str] = "user"


@dataclass(frozen=True)
class AssistantMessage(_Message):
    """A message of the model."""

    type: ClassVar[str] = "assistant"


@dataclass(frozen=True)
class SpecRefreshMessage(_Message):
    """The specification of the task, repeated for the agent."""

    type: ClassVar[str] = "spec_refresh"


@dataclass(frozen=True)
class ToolResultMessage(_Message):
    """The output of a tool. The trace id is required."""

    trace_id: str

    type: ClassVar[str] = "tool_result"

    def __post_init__(self) -> None:
        """Raise `InputError` without a trace id: the full result could not be found again."""
        super().__post_init__()
        if not isinstance(self.trace_id, str) or not self.trace_id.strip():
            raise InputError(
                f"tool result {self.id!r}: a trace id is required, so that the whole of "
                "it can be found"
            )


ContextMessage = UserMessage | AssistantMessage | ToolResultMessage | SpecRefreshMessage
_TYPES: dict[str, type[Any]] = {
    kind.type: kind
    for kind in (UserMessage, AssistantMessage, ToolResultMessage, SpecRefreshMessage)
}


@dataclass(frozen=True)
class ContextWindow:
    """The messages of a window in order, and the number of the current turn."""

    messages: tuple[ContextMessage, ...]
    current_turn: int

    @classmethod
    def of(
        cls, records: Iterable[Mapping[str, Any]], current_turn: int | None = None
    ) -> "ContextWindow":
        """A window of `{"id", "type", "content", "turn", "traceId"}` records.

        The current turn is the last turn by default. `InputError` names an invalid record, counted
        from 1, and the reason.
        """
        if not isinstance(records, Iterable):
            raise InputError(f"expected a list of records, found {excerpt(repr(records))}")
        messages = tuple(_message(record, number) for number, record in enumerate(records, 1))
        last = max((message.turn for message in messages), default=0)
        if current_turn is not None:
            must_be_whole(current_turn, "ContextWindow.of: current_turn")
        return cls(messages, last if current_turn is None else current_turn)

    def records(self) -> list[dict[str, Any]]:
        """The messages as records."""
        records: list[dict[str, Any]] = []
        for message in self.messages:
            record = {
                "id": message.id,
                "type": message.type,
                "content": message.content,
                "turn": message.turn,
            }
            if isinstance(message, ToolResultMessage):
                record["traceId"] = message.trace_id
            records.append(record)
        return records


@dataclass(frozen=True)
class ToolResultRetentionPolicy:
    """Decides which tool results of a window are kept in full, and truncates the others."""

    full_turns: int = FULL_TURNS
    head_lines: int = HEAD_LINES
    pointer: str = POINTER

    def __post_init__(self) -> None:
        """Raise `UsageError` for an invalid setting."""
        must_be_whole(self.full_turns, "ToolResultRetentionPolicy: full_turns", least=0)
        must_be_whole(self.head_lines, "ToolResultRetentionPolicy: head_lines", least=0)
        must_be_text(self.pointer, "ToolResultRetentionPolicy: pointer")

    def is_fully_retained(self, message: ContextMessage, current_turn: int) -> bool:
        """Whether a message is kept in full at a turn."""
        return (
            not isinstance(message, ToolResultMessage)
            or current_turn - message.turn <= self.full_turns
        )

    def truncate(self, message: ToolResultMessage) -> ToolResultMessage:
        """The first lines of a result and its pointer, unless it already ends with a pointer."""
        if not isinstance(message, ToolResultMessage):
            raise mismatch("truncate", "a ToolResultMessage", message)
        end = "\n" + self.pointer.replace("{id}", message.trace_id)
        *_, last = message.content.rsplit("\n", 1)
        if message.content.endswith(end) or is_filled(self.pointer, last):
            return message
        lines = first_lines(message.content, self.head_lines)
        return replace(message, content="\n".join(lines) + end)

    def apply(self, window: ContextWindow, current_turn: int | None = None) -> ContextWindow:
        """The window at a turn, by default its current turn."""
        if not isinstance(window, ContextWindow):
            raise UsageError(
                f"apply: expected a ContextWindow, found {excerpt(repr(window))}; "
                "ContextWindow.of makes one of records"
            )
        turn = window.current_turn if current_turn is None else current_turn
        must_be_whole(turn, "apply: current_turn")
        return ContextWindow(tuple(self._kept(message, turn) for message in window.messages), turn)

    def _kept(self, message: ContextMessage, turn: int) -> ContextMessage:
        if isinstance(message, ToolResultMessage) and not self.is_fully_retained(message, turn):
            return self.truncate(message)
        return message


def _message(record: Mapping[str, Any], number: int) -> ContextMessage:
    """The message of a record."""
    if not isinstance(record, Mapping):
        raise InputError(f"record {number}: expected a mapping, found {record!r}")
    kind = _TYPES.get(str(record.get("type")))
    if kind is None:
        raise InputError(
            f"record {number}: type {record.get('type')!r}: expected one of {', '.join(_TYPES)}"
        )
    _must_have(record, number, ("id", "content"), str, "a text")
    _must_have(record, number, ("turn",), int, "a whole number")
    values = {key: record[key] for key in ("id", "content", "turn")}
    if kind is ToolResultMessage:
        _must_have(record, number, ("traceId",), str, "a text")
        values["trace_id"] = record["traceId"]
    message: ContextMessage = kind(**values)
    return message


def _must_have(
    record: Mapping[str, Any], number: int, keys: Sequence[str], kind: type, what: str
) -> None:
    for key in keys:
        is_needed = key != "content"
        if type(record.get(key)) is not kind or (is_needed and record[key] == ""):
            raise InputError(f"record {number}: {key}: expected {what}, found {record.get(key)!r}")
