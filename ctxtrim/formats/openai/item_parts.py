"""Reads the parts of Responses items: texts, reasoning, calls and outputs."""

from collections.abc import Iterator
from typing import Any, Literal

from ctxtrim.formats.json_in_string import failed, unwrapped
from ctxtrim.formats.media_blocks import input_text, media_of, output_text
from ctxtrim.model import Media, Part, Span
from ctxtrim.text.records import dump

# calls that always have an output
_PAIRED = (
    "function_call",
    "custom_tool_call",
    "local_shell_call",
    "tool_call",
)
_ARGUMENTS = ("arguments", "input", "action", "operation")


def content(value: dict[str, Any], span: Span) -> Iterator[Part]:
    """The parts of a message's content: a string, or a list of blocks."""
    key = "content" if "content" in value else "message"
    inner = value.get(key)
    if isinstance(inner, str):
        yield Part("text", inner, span=span.inside(key))
    elif isinstance(inner, list):
        for index, block in enumerate(inner):
            yield _block(block, span.inside(key, index), value.get("role") == "assistant")
    elif inner is not None:
        yield Part("text", dump(inner))


def _block(block: Any, span: Span, is_answer: bool = False) -> Part:
    """A block of any content.

    An unknown block counts as its whole JSON text and is never edited.
    """
    if isinstance(block, dict):
        if isinstance(block.get("text"), str):
            kind: Literal["reasoning", "text"] = (
                "reasoning" if block.get("type") == "reasoning" else "text"
            )
            return Part(kind, block["text"], span=span.inside("text"), block=span)
        if isinstance(block.get("refusal"), str):
            return Part("text", block["refusal"], span=span.inside("refusal"), block=span)
        media = media_of(block)
        if media is not None:
            spell = output_text if is_answer else input_text
            return Part("attachment", media=media, block=span, text_block=spell)
    return Part("text", dump(block), block=span)


def answer_parts(value: dict[str, Any], span: Span, whole: Span) -> Iterator[Part]:
    """The parts of one item of an answer.

    Calls can be removed alone; reasoning cannot, as the next item needs it.
    """
    kind = value.get("type")
    if kind in ("message", None):
        yield from content(value, span)
    elif kind == "reasoning":
        yield from _reasoning(value)
    elif isinstance(value.get("call_id"), str) or kind in _PAIRED:
        yield _call(value, span, whole)
    else:
        yield from _built_in(value)


def _reasoning(value: dict[str, Any]) -> Iterator[Part]:
    """The text of reasoning, or its public summary and the encrypted text."""
    texts = [
        value.get("text"),
        *(block for key in ("content", "summary") for block in _blocks(value.get(key))),
    ]
    for text in texts:
        if isinstance(text, str):
            yield Part("reasoning", text)
    if isinstance(value.get("encrypted_content"), str):
        yield Part("reasoning", media=sealed(value))


def sealed(value: dict[str, Any]) -> Media | None:
    """The encrypted content of an item."""
    return media_of(
        {"type": "encrypted_content", "encrypted_content": value.get("encrypted_content")}
    )


def _blocks(content: Any) -> Iterator[Any]:
    for block in content if isinstance(content, list) else [content]:
        yield block.get("text") if isinstance(block, dict) else block


def _call(value: dict[str, Any], span: Span, whole: Span) -> Part:
    function = value.get("function")
    name = value.get("name", function.get("name") if isinstance(function, dict) else None)
    if not isinstance(name, str):
        name = value["type"].removesuffix("_call")
    key = next((key for key in _ARGUMENTS if key in value), "arguments")
    arguments = value.get(key)
    if isinstance(arguments, str):
        return Part(
            "tool_call", arguments, call_id(value), name, span=span.inside(key), block=whole
        )
    return Part(
        "tool_call", "" if arguments is None else dump(arguments), call_id(value), name, block=whole
    )


def call_id(value: dict[str, Any]) -> str | None:
    """The id of a call, or of the call that an output answers.

    A local shell call may have it under `id`.
    """
    ids = (
        value.get("call_id"),
        value.get("id") if value["type"].startswith("local_shell_call") else None,
    )
    return next((text for text in ids if isinstance(text, str)), None)


def _built_in(value: dict[str, Any]) -> Iterator[Part]:
    """A call that the provider ran itself: its whole JSON, except images."""
    media = media_of(value)
    if media is not None:
        yield Part("attachment", media=media)
        return
    outputs = value.get("outputs")
    pictures = (
        [output for output in outputs if isinstance(output, dict) and "url" in output]
        if isinstance(outputs, list)
        else []
    )
    for picture in pictures:
        yield Part("attachment", media=media_of({"type": "image", "image": picture["url"]}))
    rest = (
        [output for output in outputs if output not in pictures]
        if pictures and outputs
        else outputs
    )
    yield Part("text", dump(value | {"outputs": rest} if pictures else value))


def output(value: Any, span: Span, answers: str | None, name: str | None) -> Iterator[Part]:
    """The parts of an output: a string, an object with a text, or a list of blocks."""
    if isinstance(value, str):
        inner = unwrapped(value)
        if inner is None:
            yield Part("tool_result", value, answers, name, span=span)
        else:
            yield Part(
                "tool_result",
                inner.text,
                answers,
                name,
                inner.is_error,
                span=span,
                wrapper=inner.wrapper,
            )
        return
    if isinstance(value, dict) and isinstance(value.get("content"), str):
        success = value.get("success")
        is_error = not success if isinstance(success, bool) else None
        yield Part(
            "tool_result", value["content"], answers, name, is_error, span=span.inside("content")
        )
        return
    blocks = [_block(value, span)] if isinstance(value, dict) else []
    if isinstance(value, list):
        blocks = [_block(block, span.inside(index)) for index, block in enumerate(value)]
    if all(part.media is not None for part in blocks):
        text = "" if value is None or isinstance(value, (list, dict)) else dump(value)
        yield Part("tool_result", text, answers, name)
    is_error = failed(value) if isinstance(value, dict) else None
    for part in blocks:
        block = part.block if isinstance(value, list) else None
        if part.media is None:
            yield Part("tool_result", part.text, answers, name, is_error, None, part.span, block)
        else:
            spell = part.text_block if block is not None else None
            yield Part(
                "attachment", "", answers, name, media=part.media, block=block, text_block=spell
            )
