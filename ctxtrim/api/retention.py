"""The retention of tool results in a context window: whole for two turns, then three lines and a pointer.

::

    turn of the result and the next one      whole
    from then on                             its first 3 lines, and the trace id to ask for the rest with

Everything else in the window is always whole. A value in, a new value out: nothing is changed in place, and what is
truncated already stays as it is.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from ctxtrim.errors import InputError
from ctxtrim.stages.placeholder import POINTER, first_lines, is_filled

FULL_TURNS = 1
"""For how many turns after its own a result is whole."""
HEAD_LINES = 3
"""How many lines of it stay after that."""


@dataclass(frozen=True)
class _Message:
    """What all messages have: an id, a text, and the number of their turn."""

    id: str
    content: str
    turn: int

    type: ClassVar[str]


@dataclass(frozen=True)
class UserMessage(_Message):
    """What the user said."""

    type: ClassVar[str] = "user"


@dataclass(frozen=True)
class AssistantMessage(_Message):
    """What the model said."""

    type: ClassVar[str] = "assistant"


@dataclass(frozen=True)
class SpecRefreshMessage(_Message):
    """What the agent has to keep to, told again."""

    type: ClassVar[str] = "spec_refresh"


@dataclass(frozen=True)
class ToolResultMessage(_Message):
    """What a tool returned; without a trace id there is none."""

    trace_id: str

    type: ClassVar[str] = "tool_result"

    def __post_init__(self) -> None:
        """An `InputError` where it could never be found again."""
        if not isinstance(self.trace_id, str) or not self.trace_id.strip():
            raise InputError(f"tool result {self.id!r}: a trace id is required, so that the whole of it can be found")


ContextMessage = UserMessage | AssistantMessage | ToolResultMessage | SpecRefreshMessage
_TYPES: dict[str, type[Any]] = {
    one.type: one for one in (UserMessage, AssistantMessage, ToolResultMessage, SpecRefreshMessage)
}


@dataclass(frozen=True)
class ContextWindow:
    """The messages of a window in their order, and the turn that it is."""

    messages: tuple[ContextMessage, ...]
    current_turn: int

    @classmethod
    def of(cls, records: Iterable[Mapping[str, Any]], current_turn: int | None = None) -> "ContextWindow":
        """A window of `{"id", "type", "content", "turn", "traceId"}` records; the current turn is the last of them.

        An `InputError` names the record, counted from 1, and what is wrong with it.
        """
        messages = tuple(_message(record, number) for number, record in enumerate(records, 1))
        last = max((message.turn for message in messages), default=0)
        return cls(messages, last if current_turn is None else current_turn)

    def records(self) -> list[dict[str, Any]]:
        """The messages as records again."""
        return [
            {"id": one.id, "type": one.type, "content": one.content, "turn": one.turn}
            | ({"traceId": one.trace_id} if isinstance(one, ToolResultMessage) else {})
            for one in self.messages
        ]


@dataclass(frozen=True)
class ToolResultRetentionPolicy:
    """Decides of every message of a window whether it is whole, and truncates what is not to be."""

    full_turns: int = FULL_TURNS
    head_lines: int = HEAD_LINES
    pointer: str = POINTER

    def is_fully_retained(self, message: ContextMessage, current_turn: int) -> bool:
        """Whether a message is whole as seen from a turn."""
        return not isinstance(message, ToolResultMessage) or current_turn - message.turn <= self.full_turns

    def truncate(self, message: ToolResultMessage) -> ToolResultMessage:
        """The first lines of a result and its pointer; one that ends with a pointer stays as it is."""
        *_, last = message.content.rsplit("\n", 1)
        if is_filled(self.pointer, last):
            return message
        head = first_lines(message.content, self.head_lines)
        return replace(message, content=f"{head}\n{self.pointer.replace('{id}', message.trace_id)}")

    def apply(self, window: ContextWindow, current_turn: int | None = None) -> ContextWindow:
        """A new window as seen from a turn, its own where none is given."""
        turn = window.current_turn if current_turn is None else current_turn
        return ContextWindow(tuple(self._kept(message, turn) for message in window.messages), turn)

    def _kept(self, message: ContextMessage, turn: int) -> ContextMessage:
        if isinstance(message, ToolResultMessage) and not self.is_fully_retained(message, turn):
            return self.truncate(message)
        return message


def _message(record: Mapping[str, Any], number: int) -> ContextMessage:
    """The message that a record is."""
    made = _TYPES.get(str(record.get("type")))
    if made is None:
        raise InputError(f"record {number}: type {record.get('type')!r}: expected one of {', '.join(_TYPES)}")
    _must_have(record, number, ("id", "content"), str, "a text")
    _must_have(record, number, ("turn",), int, "a whole number")
    values = {key: record[key] for key in ("id", "content", "turn")}
    if made is ToolResultMessage:
        _must_have(record, number, ("traceId",), str, "a text")
        values["trace_id"] = record["traceId"]
    message: ContextMessage = made(**values)
    return message


def _must_have(record: Mapping[str, Any], number: int, keys: Sequence[str], kind: type, what: str) -> None:
    for key in keys:
        is_needed = key != "content"
        if type(record.get(key)) is not kind or (is_needed and record[key] == ""):
            raise InputError(f"record {number}: {key}: expected {what}, found {record.get(key)!r}")
