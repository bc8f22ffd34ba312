"""The output of `codex exec --json`: one event per line. Only `item.completed` events are read.

`item.started` and `item.updated` are earlier states of the same item. A command contains its call
and its result. The stream contains neither the user's prompt nor the changes of a patch. The usage
of a turn sums all turns so far, so it does not describe one request.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from ctxtrim.formats.base import Format, layout_of_events, session
from ctxtrim.formats.fields import located, members, string
from ctxtrim.formats.media_blocks import text_or_block
from ctxtrim.formats.message_lists import ListContents, each_as
from ctxtrim.formats.message_parts import result_parts, text_of
from ctxtrim.model import Line, Message, Part, Role, Span, Transcript
from ctxtrim.text.records import JsonRecord, dump

_TYPES = ("thread.started", "turn.started", "turn.completed", "turn.failed")
_ITEMS = ("item.started", "item.updated", "item.completed")
_SPEAKERS: dict[str, Role] = {
    "agent_message": "assistant",
    "user_message": "user",
    "system_message": "system",
}


def knows(value: object) -> bool:
    """Whether a value is an event of a thread or turn, or of an item with a type."""
    if not isinstance(value, dict):
        return False
    kind, item = value.get("type"), members(value.get("item"))
    return kind in _TYPES or (kind in _ITEMS and isinstance(item.get("type"), str))


def read(records: Iterable[JsonRecord], lines: Sequence[Line]) -> list[Transcript]:
    """The one conversation of the stream."""
    contents = ListContents()
    thread: str | None = None
    for line, record in enumerate(records):
        value = record.value
        if isinstance(value, dict) and isinstance(value.get("thread_id"), str):
            thread = thread or value["thread_id"]
        elif knows(value) and value["type"] == "item.completed":
            for message in _messages(value["item"], Span(line, ("item",))):
                contents.add(message.role, message.parts, Span(line), value=value)
    return session(contents.messages, lines, id=thread)


def _messages(item: dict[str, Any], item_span: Span) -> Iterator[Message]:
    """The messages of an item: a call and its result, or a text.

    An unknown item counts as its JSON.
    """
    kind, text = item["type"], item.get("text")
    call_id = string(item.get("id"))
    if kind == "command_execution":
        code, output = item.get("exit_code"), string(item.get("aggregated_output"))
        is_error = bool(code) if isinstance(code, int) else None
        span = item_span.inside("aggregated_output") if output is not None else None
        yield Message("assistant", (_call(item, "shell", "command", item_span),))
        result = Part("tool_result", output or "", call_id, None, is_error, span=span)
        yield Message("tool", (result,))
    elif kind == "mcp_tool_call":
        names = (string(item.get("server")), string(item.get("tool")))
        name = ".".join(value for value in names if value is not None)
        yield Message("assistant", (_call(item, name, "arguments", item_span),))
        yield Message("tool", _mcp_result(item, item_span, call_id))
    elif kind == "reasoning" and isinstance(text, str):
        yield Message("assistant", (Part("reasoning", text),))
    elif kind in _SPEAKERS and isinstance(text, str):
        yield Message(_SPEAKERS[kind], (Part("text", text, span=item_span.inside("text")),))
    elif kind != "error":
        yield Message("assistant", (Part("text", dump(item)),))


def _call(item: dict[str, Any], name: str, key: str, span: Span) -> Part:
    arguments = item.get(key)
    text = arguments if isinstance(arguments, str) else dump(arguments)
    value_span = span.inside(key) if isinstance(arguments, str) else None
    return Part("tool_call", text, string(item.get("id")), name, span=value_span)


def _mcp_result(item: dict[str, Any], span: Span, call_id: str | None) -> tuple[Part, ...]:
    """The parts of an MCP server's answer, or its error."""
    error = members(item.get("error")).get("message")
    if isinstance(error, str):
        value_span = span.inside("error", "message")
        return (Part("tool_result", error, call_id, None, True, span=value_span),)
    content = members(item.get("result")).get("content")
    blocks = located(content, span.inside("result", "content"))
    return result_parts([text_or_block(*block) for block in blocks], call_id)


def _json_value(message: Message) -> dict[str, Any]:
    text = text_of(message.parts)
    kind = next((kind for kind, role in _SPEAKERS.items() if role == message.role), "agent_message")
    return {"type": "item.completed", "item": {"type": kind, "text": text}}


def session_of(value: Mapping[str, Any]) -> str | None:
    """The id of the thread that an event begins."""
    return string(value.get("thread_id")) if value.get("type") == "thread.started" else None


FORMAT = Format(
    "codex-exec", layout_of_events(knows), read, each_as(_json_value), session_of=session_of
)
