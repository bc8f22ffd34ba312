"""The values of a conversation: frozen, and with the location of each value in the file.

Locations do not take part in equality: two transcripts are equal when a model would read the same.
"""

import json
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, Literal, NamedTuple

from msgspec import Struct

from ctxtrim.model.request import RequestOptions, Usage
from ctxtrim.text.json_paths import Path

Role = Literal["system", "user", "assistant", "tool"]
PartKind = Literal["text", "reasoning", "tool_call", "tool_result", "attachment"]

ROLES: tuple[Role, ...] = ("system", "user", "assistant", "tool")
KINDS: tuple[PartKind, ...] = ("text", "reasoning", "tool_call", "tool_result", "attachment")

VISIBLE = (True, True, None)
"""The default visibility: the model and the person see the message, and it has no kind."""

StrictRoles = Literal["", "elements", "runs"]
MediaKind = Literal["image", "audio", "pdf", "file", "sealed"]


class _Readable(Struct, frozen=True, eq=False, gc=False):
    """A value that equals another if a model reads the same in both."""

    def _read(self) -> tuple[object, ...]:
        """The fields that a model reads."""
        raise NotImplementedError

    def __eq__(self, other: object) -> bool:
        if isinstance(other, type(self)):
            return self._read() == other._read()
        return NotImplemented  # another type may compare itself, such as a snapshot

    def __ne__(self, other: object) -> bool:
        return not self == other  # Struct has its own

    def __hash__(self) -> int:
        return hash(self._read())


class Media(Struct, frozen=True, gc=False):
    """An attachment. A field is None if it is unknown; the attachment then costs its maximum.

    `width` and `height` are pixels. `detail` is the requested resolution (low, high, auto,
    original; for Gemini low, medium, high, ultra_high). `seconds` is the length of a sound, `pages`
    the largest possible number of PDF pages, `size` the bytes of the file if the block contains it.
    A `sealed` attachment is text that only the provider can read, such as encrypted reasoning.
    """

    kind: MediaKind
    width: int | None = None
    height: int | None = None
    detail: str | None = None
    seconds: float | None = None
    pages: int | None = None
    size: int | None = None

    @property
    def pixels(self) -> tuple[int, int] | None:
        """Width and height if both are known and positive."""
        if self.width is None or self.height is None or min(self.width, self.height) < 1:
            return None
        return self.width, self.height


class Document(Struct, frozen=True, dict=True):
    """The bytes of a JSON document that is read in parts, and its JSON style."""

    data: bytes

    @cached_property
    def is_ascii(self) -> bool:
        """Whether all other characters are escaped."""
        return self.data.isascii()

    @cached_property
    def has_spaces(self) -> bool:
        """Whether there are spaces after colons."""
        return b'": ' in self.data


class Line(NamedTuple):
    """The bytes of one JSON value as read from the file, terminator included.

    Almost always one line of the file. Two values glued together on one line share a `number`; a
    whole JSON document is one value. All of them joined are the file, byte for byte.
    """

    data: bytes
    number: int  # the line of the file at which the value starts, counted from 1
    document: Document | None = None  # whose element the value has, in an array


class Span(Struct, frozen=True, order=True, gc=False):
    """The location of a value: the index of its line and its JSON path, `()` for the whole line."""

    line: int
    path: Path = ()

    def inside(self, *keys: str | int) -> "Span":
        """The span of a value inside this one."""
        return Span(self.line, self.path + keys)

    @property
    def outer(self) -> "Span":
        """The span of the object or the array that contains the value."""
        return Span(self.line, self.path[:-1])


class Wrapper(_Readable, frozen=True, eq=False):
    """JSON around a text: the model reads `before`, the text as a JSON string, and `after`.

    `is_ascii` and `escaped` (characters that need no escape in JSON) keep the original escaping.
    """

    before: str
    after: str
    is_ascii: bool = False
    escaped: str = ""

    def _read(self) -> tuple[object, ...]:
        return (self.before, self.after)

    def around(self, text: str) -> str:
        """The JSON with a text in its place."""
        return self.before + self.quoted(text) + self.after

    def quoted(self, text: str) -> str:
        """A text as a JSON string, with the escaping of the original."""
        string = json.dumps(text, ensure_ascii=self.is_ascii)
        for character in self.escaped:
            string = string.replace(character, f"\\u{ord(character):04x}")
        return string


class ServerLink(NamedTuple):
    """A part is the use of a tool of the provider, its result, or a call that the tool made."""

    kind: Literal["use", "result", "call"]
    id: str


class Part(_Readable, frozen=True, eq=False):
    """A piece of a message that the model reads.

    Stages may change a `text` with a `span`, drop a part with a `block`, and replace an attachment
    by a text (`conversation.edits`).

    - `text`: of a tool call its arguments, as JSON; `namespace`: the group of its tool
    - `media`: of an attachment; an attachment without it is a text document
    - `wrapper`: the JSON around `text` if the string at `span` contains JSON
    - `sealed`: the number of characters of encrypted reasoning attached to the part
    - `server`: how the part relates to tools that the provider runs
    - `cites`: a source that the answer must cite, for which the provider adds a prompt
    - `stored`: the provider may have more of it: reasoning that `text` summarizes, an unknown block
    - `span`: the place of the string that contains `text`; None if it cannot be rewritten
    - `block`: the place of the element to remove with the part; None if it cannot be removed alone
    - `source`: the place of the value with the part, if it has more than `text` and is not `block`
    - `text_block`: writes a text in place of an attachment; None if the format cannot hold one
    """

    kind: PartKind
    text: str = ""
    call_id: str | None = None
    name: str | None = None
    is_error: bool | None = None
    media: Media | None = None
    span: Span | None = None
    block: Span | None = None
    wrapper: Wrapper | None = None
    sealed: int = 0
    text_block: Callable[[str], Any] | None = None
    source: Span | None = None
    server: tuple[ServerLink, ...] = ()
    cites: bool = False
    stored: bool = False
    namespace: str | None = None

    def _read(self) -> tuple[object, ...]:
        return (
            self.kind,
            self.text,
            self.call_id,
            self.is_error,
            self.media,
            self.wrapper,
            self.sealed,
        )

    @property
    def spelled(self) -> str:
        """The complete text that the model reads: `text`, inside its wrapper if there is one."""
        return self.text if self.wrapper is None else self.wrapper.around(self.text)


class Companion(NamedTuple):
    """A line, or a value in one, that is removed with its message and never sent, as progress.

    `kind` names it. `is_copy`: it repeats the message, and is also removed if that is edited.
    """

    span: Span
    kind: str
    is_copy: bool = False


class Message(_Readable, frozen=True, eq=False):
    """One message. A tool result is a separate message even if the file stores several in one
    element.

    - `name`: the author, as the file names it
    - `is_injected`: a user message that the client wrote, not the person
    - `is_summary`: it replaces all messages before it
    - `is_demo`: part of a demonstration, dropped before messages of the session
    - `agent_visible`: if not, it stays in the file, but is neither sent nor counted
    - `user_visible`: the client shows it to the person
    - `kind`: a label that a stage sets, such as `tool_result_archived`
    - `metadata`: debug keys that a stage may set, as (key, value) pairs
    - `turn`: the number of its turn if the file contains it
    - `action`: a tool call in the text of an answer; the next result answers it
    - `continues`: only accepted after the message before it; both are kept or dropped together
    - `is_training_answer`: an answer in data for training, which no stage drops or shortens
    - `index`: the position among the messages as read; None for an inserted message
    - `spans`: everything to remove with the message; `companions`: what goes with it, never sent
    """

    role: Role
    parts: tuple[Part, ...]
    name: str | None = None
    is_injected: bool = False
    is_summary: bool = False
    metadata: tuple[tuple[str, int], ...] = ()
    index: int | None = None
    spans: tuple[Span, ...] = ()
    turn: int | None = None
    agent_visible: bool = True
    user_visible: bool = True
    kind: str | None = None
    action: Part | None = None
    is_demo: bool = False
    companions: tuple[Companion, ...] = ()
    continues: bool = False
    is_training_answer: bool = False

    def _read(self) -> tuple[object, ...]:
        return (
            self.role,
            self.parts,
            self.metadata,
            self.agent_visible,
            self.user_visible,
            self.kind,
        )

    @property
    def visibility(self) -> tuple[bool, bool, str | None]:
        """Whether the model sees the message, whether the person does, and its kind."""
        return self.agent_visible, self.user_visible, self.kind

    @property
    def starts_turn(self) -> bool:
        """Whether it is a user message, or a summary that the assistant wrote in place of one."""
        return self.role == "user" or (self.is_summary and self.role == "assistant")

    @property
    def calls(self) -> list[Part]:
        """The tool calls of the message, in order."""
        return [part for part in self.parts if part.kind == "tool_call"]

    @property
    def result(self) -> Part | None:
        """The first tool result part (all of them share one call id), or None."""
        for part in self.parts:
            if part.kind == "tool_result":
                return part
        return None


class Source(Struct, frozen=True):
    """The original lines and the messages that were read from them.

    `line_numbers` returns the line number of a span in the file; None for lines of their own.
    """

    lines: Sequence[Line]
    messages: tuple[Message, ...]
    line_numbers: Callable[[Span], int] | None = None


class Transcript(_Readable, frozen=True, eq=False):
    """One conversation, and the other fields of its request.

    Stages change `messages`; `source` is the conversation as it was read.

    - `tools`: the JSON text of the tool schemas; `tool_choice`: the name of the only allowed tool,
      or a mode such as `none`; `options`: the other request fields that cost tokens
    - `model`: the last model that answered; `usages`: the recorded usages of the answers, in order
    - `id`: the conversation id; `first_line`: the index of its line; `pointer`: its path there
    - `locked`: why no stage may edit it; empty if stages may
    - `uncounted`: the number of messages with an unknown role, which are kept unchanged
    - `sessions`: the number of sessions whose lines are read as this conversation
    - `records_calls`: the format stores calls; otherwise results without one are valid
    - `must_alternate`: user and assistant messages have to alternate
    - `strict_roles`: `elements`: the provider rejects two adjacent elements of one role, and an
      answer at the start; a tool result is part of a user element. `runs`: it accepts several
      messages of one role in a row, but no prompt right after a tool result
    - `hides`: the format can hide messages, else stages drop them; `adds_texts`: it can add texts
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
    records_calls: bool = True
    hides: bool = False
    must_alternate: bool = False
    strict_roles: StrictRoles = ""
    adds_texts: bool = False
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
