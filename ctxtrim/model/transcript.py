"""A transcript: one conversation, with its request and what was read of it."""

from collections.abc import Callable, Sequence
from typing import Any, Literal

from msgspec import Struct

from ctxtrim.model.location import Line, Span
from ctxtrim.model.message import Message
from ctxtrim.model.part import Readable
from ctxtrim.model.request import RequestOptions, Usage
from ctxtrim.text.json_paths import Path

StrictRoles = Literal["", "elements", "runs"]


class Source(Struct, frozen=True):
    """The original lines and the messages that were read from them.

    `line_numbers` returns the line number of a span in the file; None for lines of their own.
    `events`: those of a session, so that an edit can update the links between them. It empties the
    list. Without events, the format reads them again.
    """

    lines: Sequence[Line]
    messages: tuple[Message, ...]
    line_numbers: Callable[[Span], int] | None = None
    events: list[Any] | None = None


class FormatRules(Struct, frozen=True):
    """What a format can store, and what its provider accepts: the same for all its transcripts.

    - `records_calls`: it stores calls; otherwise results without one are valid
    - `hides`: it can hide messages; otherwise stages drop them
    - `adds_texts`: it can add a text to a message
    - `must_alternate`: user and assistant messages have to alternate
    """

    records_calls: bool = True
    hides: bool = False
    adds_texts: bool = False
    must_alternate: bool = False


class Transcript(Readable, frozen=True, eq=False):
    """One conversation, and the other fields of its request.

    Stages change `messages`; `source` is the conversation as it was read.

    - `tools`: the JSON text of the tool schemas; `tool_choice`: the name of the only allowed tool,
      or a mode such as `none`; `options`: the other request fields that cost tokens
    - `model`: the last model that answered; `usages`: the recorded usages of the answers, in order
    - `id`: the conversation id; `first_line`: the index of its line; `pointer`: its path there
    - `locked`: why no stage may edit it; empty if stages may
    - `uncounted`: the number of messages with an unknown role, which are kept unchanged
    - `sessions`: the number of sessions whose lines are read as this conversation
    - `rules`: those of its format
    - `strict_roles`: `elements`: the provider rejects two adjacent elements of one role, and an
      answer at the start; a tool result is part of a user element. `runs`: it accepts several
      messages of one role in a row, but no prompt right after a tool result
    - `marks`: texts that refer to attachments next to the messages; no stage may add any
    """

    messages: tuple[Message, ...]
    source: Source
    tools: str | None = None
    tool_choice: str | None = None
    model: str | None = None
    id: str | None = None
    pointer: Path = ()
    first_line: int = 0
    locked: str = ""
    uncounted: int = 0
    sessions: int = 1
    usages: tuple[Usage, ...] = ()
    rules: FormatRules = FormatRules()
    strict_roles: StrictRoles = ""
    options: RequestOptions = RequestOptions()
    marks: tuple[str, ...] = ()

    def _read(self) -> tuple[object, ...]:
        return (self.messages, self.tools, self.tool_choice)

    @property
    def usage(self) -> Usage | None:
        """The usage of the last answer. Usages of several requests are never summed."""
        return self.usages[-1] if self.usages else None

    @property
    def line(self) -> int:
        """The line of the file at which the transcript starts, counted from 1."""
        return self.line_at(Span(self.first_line, self.pointer))

    def line_of(self, message: Message) -> int | None:
        """The line of the file at which a message starts, from 1; None for an inserted message."""
        return self.line_at(message.spans[0]) if message.spans else None

    def line_at(self, span: Span) -> int:
        """The line of the file at which a span starts, counted from 1."""
        if self.source.line_numbers is not None:
            return self.source.line_numbers(span)
        return self.source.lines[span.line].number
