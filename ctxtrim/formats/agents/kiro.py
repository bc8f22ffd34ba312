"""Conversations that Kiro CLI and Amazon Q CLI save: `{"conversation_id", "history": […]}`.

An entry of the history is a pair::

    {"user": {"content": {"Prompt" | "ToolUseResults" | "CancelledToolUses": …}},
     "assistant": {"Response" | "ToolUse": {"content", "tool_uses"?}}}

Checked against `chat-cli/src/cli/chat/conversation.rs` and `message.rs` of
aws/amazon-q-developer-cli (2026). Older versions write the fields of a content without their names.
`kiro_pairs` keeps the pairs whole.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from msgspec.structs import replace

from ctxtrim.formats.fields import elements, members, metadata_in, string
from ctxtrim.formats.media_blocks import media_of
from ctxtrim.formats.message_lists import Dialect, Element, Envelope, ListContents
from ctxtrim.formats.message_parts import listed_calls, result_parts
from ctxtrim.loading import lazy_function
from ctxtrim.model import Message, Part, Span
from ctxtrim.text.records import dump

_ANSWERS = ("ToolUse", "Response")


def knows(value: object) -> bool:
    """Whether a value is an entry of a history."""
    if not isinstance(value, dict):
        return False
    if not (isinstance(value.get("user"), dict) and isinstance(value.get("assistant"), dict)):
        return False
    return "content" in value["user"] and any(key in value["assistant"] for key in _ANSWERS)


def read(items: Iterable[Element], contents: ListContents) -> None:
    """Read the messages of each entry. A half without a text, a call or a result is no message."""
    for value, span, _ in items:
        if knows(value):
            for message in (*_user(value["user"], span), *_assistant(value["assistant"], span)):
                contents.add_message(message)


def _user(value: dict[str, Any], entry: Span) -> Iterator[Message]:
    """The results of a user half, then its prompt. The last result has the images of all."""
    span = entry.inside("user", "content")
    for kind, inner in members(value["content"]).items():
        inner_span = span.inside(kind)
        if kind == "Prompt":
            text, place = _field(inner, "prompt", inner_span)
            yield from _prompt(value, entry.inside("user"), text, place)
        else:
            results, place = _field(inner, "tool_use_results", inner_span)
            messages = [
                _result(result, place.inside(index))
                for index, result in enumerate(map(members, elements(results)))
            ]
            if kind == "ToolUseResults" and messages:
                messages[-1] = _with_images(messages[-1], value, entry.inside("user", "images"))
            yield from messages
            if kind == "CancelledToolUses":
                prompt = inner_span.inside("prompt")
                yield from _prompt(value, prompt, members(inner).get("prompt"), prompt)


def _field(value: Any, key: str, span: Span) -> tuple[Any, Span]:
    """A field of a content with its span; older versions write only the field."""
    return (value.get(key), span.inside(key)) if isinstance(value, dict) else (value, span)


def _prompt(value: dict[str, Any], whole: Span, text: Any, span: Span) -> Iterator[Message]:
    """A prompt with its context and images."""
    context = string(value.get("additional_context"))
    parts = [Part("text", context)] if context else []
    parts += [Part("text", text, span=span)] if isinstance(text, str) and text else []
    parts += _images(value)
    if parts:
        yield Message("user", tuple(parts), spans=(whole,))


def _images(value: dict[str, Any]) -> Iterator[Part]:
    """The images of a user half: those of its prompt, or those that its calls read."""
    for image in map(members, elements(value.get("images"))):
        yield Part("attachment", media=media_of({"type": "image"} | image))


def _result(value: dict[str, Any], span: Span) -> Message:
    """A tool result; a block of JSON counts as its text, and cannot be shortened."""
    parts: list[Part] = []
    for index, block in enumerate(map(members, elements(value.get("content")))):
        inner_span = span.inside("content", index)
        text = block.get("Text")
        if isinstance(text, str):
            parts.append(Part("text", text, span=inner_span.inside("Text"), block=inner_span))
        else:
            parts.append(Part("text", dump(block.get("Json", block)), block=inner_span))
    is_error = True if value.get("status") == "Error" else None
    message_parts = result_parts(parts, string(value.get("tool_use_id")), None, is_error)
    return Message("tool", message_parts, metadata=metadata_in(value), spans=(span,))


def _with_images(result: Message, value: dict[str, Any], span: Span) -> Message:
    """A result with the images of a user half, which does not say whose they are. They are removed
    with it.
    """
    call_id = result.parts[0].call_id
    images = [replace(image, call_id=call_id) for image in _images(value)]
    if not images:
        return result
    return replace(result, parts=(*result.parts, *images), spans=(*result.spans, span))


def _assistant(value: dict[str, Any], entry: Span) -> Iterator[Message]:
    kind = next(key for key in _ANSWERS if key in value)
    inner, span = members(value[kind]), entry.inside("assistant", kind)
    parts: list[Part] = []
    thinking = members(members(inner.get("thinking")).get("reasoningText"))
    if string(thinking.get("text")):
        parts.append(Part("reasoning", thinking["text"]))
    if string(inner.get("content")):
        parts.append(Part("text", inner["content"], span=span.inside("content")))
    parts += listed_calls(inner.get("tool_uses"), span.inside("tool_uses"), "args")
    if parts:
        yield Message("assistant", tuple(parts), spans=(entry.inside("assistant"),))


def envelope(value: dict[str, Any], span: Span) -> Envelope:
    """The id, the model, the tools of all origins, and the summary of a compaction."""
    tools = [tool for group in members(value.get("tools")).values() for tool in elements(group)]
    info = members(value.get("model_info"))
    summary = next(iter(elements(value.get("latest_summary"))), None)
    preamble: tuple[Message, ...] = ()
    if isinstance(summary, str) and summary:
        inner_span = span.inside("latest_summary")
        part = Part("text", summary, span=inner_span.inside(0))
        preamble = (
            Message(
                "user", (part,), is_injected=True, is_summary=True, index=0, spans=(inner_span,)
            ),
        )
    return Envelope(
        dump(tools) if tools else None,
        model=string(info.get("model_id", value.get("model"))),
        id=string(value.get("conversation_id")),
        preamble=preamble,
    )


_PAIRS = "ctxtrim.formats.agents.kiro_pairs"
DIALECT = Dialect(
    "kiro",
    knows,
    read,
    lazy_function(f"{_PAIRS}:insert"),
    envelope=envelope,
    relink=lazy_function(f"{_PAIRS}:relink"),
    places=("history", "[*].history", ""),
    must_alternate=True,
)
