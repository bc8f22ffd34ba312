"""Builds messages and parts that most formats write alike."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any
from uuid import NAMESPACE_OID, uuid5

from msgspec import Struct
from msgspec.structs import replace

from ctxtrim.formats.fields import elements, members
from ctxtrim.model import Message, Part, Role, Span
from ctxtrim.text.json_paths import Path
from ctxtrim.text.records import dump

SYSTEM_PROMPTS = ("system", "systemPrompt", "system_prompt")
"""Keys of a system prompt next to the messages; agents write the last two."""


def content_parts(content: Any, span: Span, block: Callable[[Any, Span], Part]) -> tuple[Part, ...]:
    """The parts of a content: a string, a list of blocks, or nothing; else its JSON text."""
    if isinstance(content, str):
        return (Part("text", content, span=span),)
    if isinstance(content, list):
        return tuple(block(value, span.inside(index)) for index, value in enumerate(content))
    return () if content is None else (Part("text", dump(content)),)


def json_part(value: Any, span: Span) -> Part:
    """A value as its JSON text, which is never edited, but can be removed."""
    return Part("text", dump(value), block=span)


def call_part(
    arguments: Any, call_id: object, name: object, span: Span | None, block: Span | None
) -> Part:
    """A tool call. Only arguments that are a string at `span` can be edited."""
    known_id = call_id if isinstance(call_id, str) else None
    known_name = name if isinstance(name, str) else None
    if isinstance(arguments, str):
        return Part("tool_call", arguments, known_id, known_name, span=span, block=block)
    text = "" if arguments is None else dump(arguments)
    return Part("tool_call", text, known_id, known_name, block=block)


def function_call(function: dict[str, Any], call_id: object, span: Span, block: Span) -> Part:
    """The call of a function `{name, arguments}` at a span."""
    arguments = span.inside("arguments")
    return call_part(function.get("arguments"), call_id, function.get("name"), arguments, block)


def listed_calls(calls: Any, span: Span, arguments: str, call_id: str = "id") -> list[Part]:
    """The calls in a list of objects at a span, with the keys of their arguments and id."""
    parts = []
    for index, call in enumerate(map(members, elements(calls))):
        block = span.inside(index)
        values = call.get(arguments), call.get(call_id), call.get("name")
        parts.append(call_part(*values, block.inside(arguments), block))
    return parts


def result_parts(
    parts: Sequence[Part],
    call_id: str | None,
    name: str | None = None,
    is_error: bool | None = None,
) -> tuple[Part, ...]:
    """The parts of a tool result: its texts, at least one, and its attachments."""
    result = []
    has_text = False
    for part in parts:
        if part.media is not None:
            result.append(replace(part, call_id=call_id, name=name))
        else:
            has_text = True
            result.append(
                Part(
                    "tool_result",
                    part.text,
                    call_id,
                    name,
                    is_error,
                    span=part.span,
                    block=part.block,
                    source=part.source,
                    cites=part.cites,
                    stored=part.stored,
                )
            )
    if not has_text:
        result.insert(0, Part("tool_result", "", call_id, name, is_error))
    return tuple(result)


def text_of(parts: Iterable[Part]) -> str:
    """The texts of an inserted message, joined."""
    return "".join(part.text for part in parts if part.kind in ("text", "tool_result"))


def event_id(neighbour: object, content: str, number: int = 0) -> str:
    """The id of an inserted event, from its content, its neighbour, and its position among
    insertions.
    """
    seed = f"{neighbour} {number} {content}" if number else f"{neighbour} {content}"
    return str(uuid5(NAMESPACE_OID, seed.encode(errors="surrogatepass").decode(errors="replace")))


def system_prompt(
    prompt: Any, span: Span, block: Callable[[Any, Span], Part] | None = None
) -> tuple[Message, ...]:
    """A system prompt next to the messages, as a message: a string or, with a reader of blocks, a
    list of them; none for other values.
    """
    if isinstance(prompt, str):
        parts: tuple[Part, ...] = (Part("text", prompt, span=span),)
    elif isinstance(prompt, list) and prompt and block is not None:
        parts = content_parts(prompt, span, block)
    else:
        return ()
    return (Message("system", parts, index=0, spans=(span,)),)


def prompt_around(
    value: dict[str, Any], span: Span, block: Callable[[Any, Span], Part]
) -> tuple[Message, ...]:
    """The system prompt in the object around the messages, as a message. Open WebUI writes it in
    `params`.

    An agent's `system_prompt` next to messages that begin with a system message repeats it.
    """
    if value.get("system"):
        return system_prompt(value["system"], span.inside("system"), block)
    if members(value.get("params")).get("system"):
        return system_prompt(value["params"]["system"], span.inside("params", "system"), block)
    prompt = value.get("system_prompt")
    if not prompt or any(map(_begins_with_prompt, value.values())):
        return ()
    return system_prompt(prompt, span.inside("system_prompt"), block)


def _begins_with_prompt(value: Any) -> bool:
    """Whether a value is a list of messages that begins with a system message."""
    return members(next(iter(elements(value)), None)).get("role") in ("system", "developer")


def is_system_prompt(path: Path) -> bool:
    """Whether a path is that of a system prompt in the object around the messages."""
    return bool(path) and path[-1] in SYSTEM_PROMPTS


def joined_message(first: Message, rest: Sequence[Message]) -> Message:
    """The first message with the parts and the spans of the rest after its own."""
    parts = [*first.parts, *(part for message in rest for part in message.parts)]
    spans = [*first.spans, *(span for message in rest for span in message.spans)]
    return replace(first, parts=tuple(parts), spans=tuple(spans))


class MessageDraft(Struct):
    """A message whose events are still being read."""

    role: Role
    parts: list[Part]
    spans: list[Span]
    metadata: tuple[tuple[str, int], ...] = ()
    is_injected: bool = False

    @property
    def text(self) -> str:
        """The texts without reasoning."""
        return "".join(part.text for part in self.parts if part.kind == "text")

    def message(self, index: int) -> Message:
        """The message with its index."""
        return Message(
            self.role,
            tuple(self.parts),
            metadata=self.metadata,
            is_injected=self.is_injected,
            index=index,
            spans=tuple(self.spans),
        )


def add_to_answer(role: Role, part: Part, span: Span, drafts: list[MessageDraft]) -> None:
    """Add a part to the answer before it, or as a message."""
    if role == "assistant" and drafts and drafts[-1].role == role:
        drafts[-1].parts.append(part)
        drafts[-1].spans.append(span)
    else:
        drafts.append(MessageDraft(role, [part], [span]))
