"""What a conversation is: frozen values, and where in the file each of them is spelled.

Where something is spelled takes no part in equality: two transcripts are equal when a model would read the same.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple

from ctxtrim.text.json_paths import Path

Role = Literal["system", "user", "assistant", "tool"]
Kind = Literal["text", "reasoning", "tool_call", "tool_result", "attachment"]
Api = Literal["chat", "responses", "anthropic", "gemini"]

ROLES: tuple[Role, ...] = ("system", "user", "assistant", "tool")
KINDS: tuple[Kind, ...] = ("text", "reasoning", "tool_call", "tool_result", "attachment")

SMALLEST = 100
"""Bytes below which no picture fits whose header does not tell its size: the smallest JPEG has 107, a TIFF 110."""

MediaKind = Literal["image", "audio", "pdf", "file", "sealed"]


@dataclass(frozen=True, slots=True)
class Media:
    """One attachment. What is None is not known, and costs the most that it may.

    `width` and `height` are pixels, `detail` the resolution that the request asks for (low, high, auto, original;
    for Gemini low, medium, high, ultra_high), `seconds` the length of a sound, `pages` the most pages that a PDF can
    have, `size` the bytes of the file where it stands in the block. What is `sealed` is text that only the provider can
    read, such as reasoning that it sends encrypted.
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
        """Width and height, where both are known and positive; bytes too few for a picture count as one pixel."""
        if self.width is None or self.height is None or min(self.width, self.height) < 1:
            return (1, 1) if self.size is not None and self.size < SMALLEST else None
        return self.width, self.height


class Line(NamedTuple):
    """The bytes of one JSON value as they stand in the file, terminator included.

    Almost always one line of the file. Two values glued on one line are two of these with the same `number`; a
    whole JSON document is one. All of them joined are the file, byte for byte.
    """

    data: bytes
    number: int  # the line of the file at which it starts, counted from 1


class Span(NamedTuple):
    """A place in a transcript's lines: which line, and the JSON path of a value inside it (`()` is the whole)."""

    line: int
    path: Path = ()

    def inside(self, *keys: str | int) -> "Span":
        """The place of a value inside this one."""
        return Span(self.line, self.path + keys)


@dataclass(frozen=True, slots=True)
class Wrapper:
    """JSON around a text that stands in it as a string: the model reads `before`, that string and `after`.

    `is_ascii` and `escaped` (characters that JSON would let stand) are how the string is spelled.
    """

    before: str
    after: str
    is_ascii: bool = field(default=False, compare=False)
    escaped: str = field(default="", compare=False)

    def around(self, text: str) -> str:
        """The JSON with a text in its place."""
        return self.before + self.quoted(text) + self.after

    def quoted(self, text: str) -> str:
        """A text as the string of JSON that it is spelled as."""
        string = json.dumps(text, ensure_ascii=self.is_ascii)
        for character in self.escaped:
            string = string.replace(character, f"\\u{ord(character):04x}")
        return string


@dataclass(frozen=True, slots=True)
class Part:
    """One leaf of a message that the model reads.

    `text` is what the model reads (for a call its arguments, as JSON); an attachment has `media` instead.
    `span` is the string that spells `text`, None where it cannot be rewritten; `block` is the element that goes when
    the part goes, None where it cannot go alone. `wrapper` is what the model reads around `text`, where the string at
    `span` is JSON that holds it. `sealed` is the number of characters of reasoning that is attached to the part and
    that only the provider can read. An attachment without `media` is a text document. `text_block` spells a text
    in the place of an attachment's `block`, and is None where the format cannot hold one. A stage may change `text`
    where there is a `span`, drop a part that has a `block`, and replace an attachment by a text (`conversation.edits`).
    """

    kind: Kind
    text: str = ""
    call_id: str | None = None
    name: str | None = field(default=None, compare=False)
    is_error: bool | None = None
    media: Media | None = None
    span: Span | None = field(default=None, compare=False)
    block: Span | None = field(default=None, compare=False)
    wrapper: Wrapper | None = None
    sealed: int = 0
    text_block: Callable[[str], Any] | None = field(default=None, compare=False)

    @property
    def spelled(self) -> str:
        """All that the model reads: `text`, in its wrapper where it has one."""
        return self.text if self.wrapper is None else self.wrapper.around(self.text)


class Companion(NamedTuple):
    """A line of the file that belongs to a message and is never sent, such as the progress of a call; `kind` names it.

    It is removed with its message.
    """

    span: Span
    kind: str


@dataclass(frozen=True, slots=True)
class Message:
    """One speaker's contribution. A tool result is a message of its own even where it shares an element.

    `is_injected`: a user message that the client wrote, not the person; `is_summary`: one that stands for all that was
    said before it. `turn`: the number of its turn where the file says it. `metadata`: debug keys that a stage may set,
    as (key, value) pairs. `index` is the position among the messages as read, None for an inserted one; `spans` is
    all that goes when the message goes. `agent_visible`: a hidden message stays in the file, but is neither sent nor
    counted; `user_visible`: the person is shown it; `kind`: what a stage made of it, such as `tool_result_archived`.
    `action`: the call that an assistant message spells in its text; it answers for the result after it and costs
    nothing besides. `is_demo`: part of a demonstration, which is needed less than anything of the session itself.
    `companions` are lines that are removed with the message.
    """

    role: Role
    parts: tuple[Part, ...]
    name: str | None = field(default=None, compare=False)
    is_injected: bool = field(default=False, compare=False)
    is_summary: bool = field(default=False, compare=False)
    metadata: tuple[tuple[str, int], ...] = ()
    index: int | None = field(default=None, compare=False)
    spans: tuple[Span, ...] = field(default=(), compare=False)
    turn: int | None = field(default=None, compare=False)
    agent_visible: bool = True
    user_visible: bool = True
    kind: str | None = None
    action: Part | None = field(default=None, compare=False)
    is_demo: bool = field(default=False, compare=False)
    companions: tuple[Companion, ...] = field(default=(), compare=False)

    @property
    def calls(self) -> Iterator[Part]:
        """Its tool calls, in order."""
        return (part for part in self.parts if part.kind == "tool_call")

    @property
    def result(self) -> Part | None:
        """The first part that belongs to a tool result (they all share one call id), or None."""
        return next((part for part in self.parts if part.kind == "tool_result"), None)


@dataclass(frozen=True, slots=True)
class OutputFormat:
    """The structured output that a request asks for: its JSON schema as JSON text, its name and its description."""

    schema: str
    name: str = ""
    description: str = ""


@dataclass(frozen=True, slots=True)
class RequestOptions:
    """Fields of a request, besides messages and tools, that cost input tokens.

    `api` is the API that the request is for, None where the file does not show it. `reasoning` is the mode that the
    request asks for: `enabled` or `adaptive` (Anthropic), `pro` (OpenAI). `task_budget` and `citations` are of
    Anthropic.
    """

    api: Api | None = None
    output: OutputFormat | None = None
    reasoning: str | None = None
    task_budget: bool = False
    citations: bool = False

    def __or__(self, later: "RequestOptions") -> "RequestOptions":
        """The fields of two parts of one request; the first wins."""
        return RequestOptions(
            self.api or later.api,
            self.output or later.output,
            self.reasoning or later.reasoning,
            self.task_budget or later.task_budget,
            self.citations or later.citations,
        )


@dataclass(frozen=True, slots=True)
class Usage:
    """What the provider counted for one request, in tokens: its prompt, and the answer to it.

    `message` is the index of the answer among the messages as read; the prompt is what stands before it, and whatever
    the client sent besides. None where the file says it of the whole conversation. `model` is the one that counted,
    where the file says so. `total_tokens`: the sum, where the file records nothing else; prompt and answer then are 0.
    """

    prompt_tokens: int
    completion_tokens: int
    message: int | None = None
    model: str | None = None
    total_tokens: int | None = None

    def held(self, answer: int) -> int:
        """The tokens of the prompt and its answer, which has at least `answer`: some clients record its first word."""
        if self.total_tokens is not None:
            return self.total_tokens
        return self.prompt_tokens + max(self.completion_tokens, answer)


@dataclass(frozen=True, slots=True)
class Source:
    """The verbatim lines and the messages that were found in them.

    `places`: the line of the file at which a span starts, where a document goes over several.
    """

    lines: tuple[Line, ...]
    messages: tuple[Message, ...]
    places: Mapping[Span, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Transcript:
    """One conversation on its way, and what the request sends beside its messages.

    `tools` is the JSON text of the tool schemas, `tool_choice` the name of the only one allowed, or a word like `none`;
    `model` the last one that answered, `id` the file's own name for it. `pointer` is the JSON path of the conversation
    inside a larger document, `()` where it is the whole line; `uncounted` how many of its messages nobody understands,
    which stay as they are; `usages` what answers recorded, in their order. `hides`: its format can say that a message
    is hidden; where it cannot, what is to be hidden is dropped. `must_alternate`: user and assistant have to take
    turns. `adds_texts`: an answer can get another text. `options` are the other fields of the request that cost tokens.
    Stages change `messages`, never `source`.
    """

    messages: tuple[Message, ...]
    source: Source = field(compare=False)
    tools: str | None = None
    tool_choice: str | None = None
    model: str | None = field(default=None, compare=False)
    id: str | None = field(default=None, compare=False)
    pointer: Path = field(default=(), compare=False)
    uncounted: int = field(default=0, compare=False)
    usages: tuple[Usage, ...] = field(default=(), compare=False)
    records_calls: bool = field(default=True, compare=False)
    hides: bool = field(default=False, compare=False)
    must_alternate: bool = field(default=False, compare=False)
    adds_texts: bool = field(default=False, compare=False)
    options: RequestOptions = field(default=RequestOptions(), compare=False)

    @property
    def usage(self) -> Usage | None:
        """What the last answer recorded: usage of several requests is never summed."""
        return self.usages[-1] if self.usages else None

    @property
    def line(self) -> int:
        """The line of the file at which it starts, counted from 1."""
        return self.line_at(Span(0, self.pointer))

    def without_companions(self) -> "Transcript":
        """The same transcript, from which no line that belongs to a message is removed with it."""
        if not any(message.companions for message in self.messages):
            return self
        messages = tuple(replace(message, companions=()) for message in self.messages)
        return replace(self, messages=messages, source=replace(self.source, messages=messages))

    def line_of(self, message: Message) -> int | None:
        """The line of the file at which a message starts, counted from 1; None for an inserted one."""
        return self.line_at(message.spans[0]) if message.spans else None

    def line_at(self, span: Span) -> int:
        """The line of the file at which a span starts, counted from 1."""
        return self.source.places.get(span) or self.source.lines[span.line].number
