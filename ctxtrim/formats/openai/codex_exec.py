"""What `codex exec --json` prints: one event a line, of which only `item.completed` is read.

`item.started` and `item.updated` show the same item on its way. A command holds its call and its result in one line.
What the user asked is not in it, nor is what a patch changed; the usage of a turn is that of all turns so far, so it
tells of no request.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from ctxtrim.conversation.tool_results import METADATA
from ctxtrim.formats.base import Format, Insertion, Layout, Site
from ctxtrim.formats.media_blocks import media_of, text_block
from ctxtrim.formats.message_lists import beside
from ctxtrim.model import Line, Message, Part, Role, Source, Span, Transcript
from ctxtrim.text.json_paths import Path
from ctxtrim.text.records import Record, dump

_TYPES = ("thread.started", "turn.started", "turn.completed", "turn.failed")
_ITEMS = ("item.started", "item.updated", "item.completed")
_SPEAKERS: dict[str, Role] = {"agent_message": "assistant", "user_message": "user", "system_message": "system"}
_ASIDE = ("error",)


def sniff(value: object) -> Layout | None:
    """An event of a thread, of a turn, or of an item with a type."""
    if not isinstance(value, dict):
        return None
    item = value.get("item")
    is_item = value.get("type") in _ITEMS and isinstance(item, dict) and isinstance(item.get("type"), str)
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
                found.append(replace(message, index=len(found), spans=(Span(line),), metadata=noted))
    messages = tuple(found)
    return [Transcript(messages, Source(lines, messages), id=thread)] if messages else []


def _messages(item: dict[str, Any], at: Span) -> Iterator[Message]:
    """What an item says: a call and its result, or a text of somebody. One that is unknown counts as its JSON."""
    kind, text = item["type"], item.get("text")
    if kind == "command_execution":
        code, output = item.get("exit_code"), item.get("aggregated_output")
        is_error = bool(code) if isinstance(code, int) else None
        text, span = (output, at.inside("aggregated_output")) if isinstance(output, str) else ("", None)
        yield Message("assistant", (_call(item, "shell", "command", at),))
        yield Message("tool", (Part("tool_result", text, _id(item), None, is_error, span=span),))
    elif kind == "mcp_tool_call":
        name = ".".join(one for one in (item.get("server"), item.get("tool")) if isinstance(one, str))
        yield Message("assistant", (_call(item, name, "arguments", at),))
        yield Message("tool", tuple(_returned(item, at)))
    elif kind == "reasoning" and isinstance(text, str):
        yield Message("assistant", (Part("reasoning", text),))
    elif kind in _SPEAKERS and isinstance(text, str):
        yield Message(_SPEAKERS[kind], (Part("text", text, span=at.inside("text")),))
    elif kind not in _ASIDE:
        yield Message("assistant", (Part("text", dump(item)),))


def _id(item: dict[str, Any]) -> str | None:
    return item["id"] if isinstance(item.get("id"), str) else None


def _call(item: dict[str, Any], name: str, key: str, at: Span) -> Part:
    arguments = item.get(key)
    if isinstance(arguments, str):
        return Part("tool_call", arguments, _id(item), name, span=at.inside(key))
    return Part("tool_call", dump(arguments), _id(item), name)


def _returned(item: dict[str, Any], at: Span) -> Iterator[Part]:
    """The parts of what a server sent back, or its error."""
    error, result = item.get("error"), item.get("result")
    if isinstance(error, dict) and isinstance(error.get("message"), str):
        yield Part("tool_result", error["message"], _id(item), None, True, span=at.inside("error", "message"))
        return
    content = result.get("content") if isinstance(result, dict) else None
    blocks = content if isinstance(content, list) else []
    if not any(isinstance(block, dict) and media_of(block) is None for block in blocks):
        yield Part("tool_result", "", _id(item))
    for index, block in enumerate(blocks):
        where = at.inside("result", "content", index)
        media = media_of(block) if isinstance(block, dict) else None
        if media is not None:
            yield Part("attachment", "", _id(item), media=media, block=where, text_block=text_block)
        elif isinstance(block, dict) and isinstance(block.get("text"), str):
            yield Part("tool_result", block["text"], _id(item), span=where.inside("text"), block=where)
        else:
            yield Part("tool_result", dump(block), _id(item), block=where)


def owner(array: Path) -> Path | None:
    """Nothing goes with an array."""
    return None


def insert(run: Sequence[Message], site: Site) -> Sequence[Insertion]:
    """Each message as a completed item of its own."""
    return beside(run, site, _spelled)


def _spelled(message: Message) -> dict[str, Any]:
    text = "".join(part.text for part in message.parts)
    kind = next((kind for kind, role in _SPEAKERS.items() if role == message.role), "agent_message")
    return {"type": "item.completed", "item": {"type": kind, "text": text}}


FORMAT = Format("codex-exec", sniff, read, owner, insert)
