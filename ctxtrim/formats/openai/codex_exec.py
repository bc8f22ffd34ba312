"""The output of `codex exec --json`: one event per line. Only `item.completed` events are read.

`item.started` and `item.updated` are earlier states of the same item. A command contains its call
and its result. The stream contains neither the user's prompt nor the changes of a patch. The usage
of a turn sums all turns so far, so it does not describe one request.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from msgspec.structs import replace

from ctxtrim.conversation.tool_results import METADATA
from ctxtrim.formats.base import Format, Insertion, Layout, Site
from ctxtrim.formats.media_blocks import media_of, text_block
from ctxtrim.formats.message_lists import insert_elements
from ctxtrim.model import Line, Message, Part, Role, Source, Span, Transcript
from ctxtrim.text.json_paths import Path
from ctxtrim.text.records import Record, dump

_TYPES = ("thread.started", "turn.started", "turn.completed", "turn.failed")
_ITEMS = ("item.started", "item.updated", "item.completed")
_SPEAKERS: dict[str, Role] = {
    "agent_message": "assistant",
    "user_message": "user",
    "system_message": "system",
}
_ASIDE = ("error",)


def sniff(value: object) -> Layout | None:
    """Whether a value is an event of a thread or turn, or of an item with a type."""
    if not isinstance(value, dict):
        return None
    item = value.get("item")
    is_item = (
        value.get("type") in _ITEMS and isinstance(item, dict) and isinstance(item.get("type"), str)
    )
    return "events" if is_item or value.get("type") in _TYPES else None


def read(records: Sequence[Record], lines: tuple[Line, ...]) -> list[Transcript]:
    """The one conversation of the stream."""
    found: list[Message] = []
    thread: str | None = None
    for line, record in enumerate(records):
        value = record.value
        if isinstance(value, dict) and isinstance(value.get("thread_id"), str):
            thread = thread or value["thread_id"]
        elif sniff(value) and value["type"] == "item.completed":
            metadata = tuple((key, value[key]) for key in METADATA if type(value.get(key)) is int)
            for message in _messages(value["item"], Span(line, ("item",))):
                noted = metadata if message.role == "tool" else ()
                found.append(
                    replace(message, index=len(found), spans=(Span(line),), metadata=noted)
                )
    messages = tuple(found)
    return [Transcript(messages, Source(lines, messages), id=thread)] if messages else []


def _messages(item: dict[str, Any], item_span: Span) -> Iterator[Message]:
    """The messages of an item: a call and its result, or a text.

    An unknown item counts as its JSON.
    """
    kind, text = item["type"], item.get("text")
    if kind == "command_execution":
        code, output = item.get("exit_code"), item.get("aggregated_output")
        is_error = bool(code) if isinstance(code, int) else None
        text, span = (
            (output, item_span.inside("aggregated_output"))
            if isinstance(output, str)
            else ("", None)
        )
        yield Message("assistant", (_call(item, "shell", "command", item_span),))
        yield Message("tool", (Part("tool_result", text, _id(item), None, is_error, span=span),))
    elif kind == "mcp_tool_call":
        name = ".".join(
            value for value in (item.get("server"), item.get("tool")) if isinstance(value, str)
        )
        yield Message("assistant", (_call(item, name, "arguments", item_span),))
        yield Message("tool", tuple(_returned(item, item_span)))
    elif kind == "reasoning" and isinstance(text, str):
        yield Message("assistant", (Part("reasoning", text),))
    elif kind in _SPEAKERS and isinstance(text, str):
        yield Message(_SPEAKERS[kind], (Part("text", text, span=item_span.inside("text")),))
    elif kind not in _ASIDE:
        yield Message("assistant", (Part("text", dump(item)),))


def _id(item: dict[str, Any]) -> str | None:
    return item["id"] if isinstance(item.get("id"), str) else None


def _call(item: dict[str, Any], name: str, key: str, span: Span) -> Part:
    arguments = item.get(key)
    if isinstance(arguments, str):
        return Part("tool_call", arguments, _id(item), name, span=span.inside(key))
    return Part("tool_call", dump(arguments), _id(item), name)


def _returned(item: dict[str, Any], span: Span) -> Iterator[Part]:
    """The parts of an MCP server's answer, or its error."""
    error, result = item.get("error"), item.get("result")
    if isinstance(error, dict) and isinstance(error.get("message"), str):
        yield Part(
            "tool_result",
            error["message"],
            _id(item),
            None,
            True,
            span=span.inside("error", "message"),
        )
        return
    content = result.get("content") if isinstance(result, dict) else None
    blocks = content if isinstance(content, list) else []
    if not any(isinstance(block, dict) and media_of(block) is None for block in blocks):
        yield Part("tool_result", "", _id(item))
    for index, block in enumerate(blocks):
        inner_span = span.inside("result", "content", index)
        media = media_of(block) if isinstance(block, dict) else None
        if media is not None:
            yield Part(
                "attachment", "", _id(item), media=media, block=inner_span, text_block=text_block
            )
        elif isinstance(block, dict) and isinstance(block.get("text"), str):
            yield Part(
                "tool_result",
                block["text"],
                _id(item),
                span=inner_span.inside("text"),
                block=inner_span,
            )
        else:
            yield Part("tool_result", dump(block), _id(item), block=inner_span)


def owner(array: Path) -> Path | None:
    """None: no object is removed with an array."""
    return None


def insert(run: Sequence[Message], site: Site) -> Sequence[Insertion]:
    """Each message as a completed item."""
    return insert_elements(run, site, _json_value)


def _json_value(message: Message) -> dict[str, Any]:
    text = "".join(part.text for part in message.parts)
    kind = next((kind for kind, role in _SPEAKERS.items() if role == message.role), "agent_message")
    return {"type": "item.completed", "item": {"type": kind, "text": text}}


FORMAT = Format("codex-exec", sniff, read, owner, insert)
