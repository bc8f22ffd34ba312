"""Sessions of Kiro CLI (`~/.kiro/sessions/cli/ID.jsonl`): one record per line.

::

    {"version", "kind": "Prompt" | "AssistantMessage" | "ToolResults",
     "data": {"message_id", "content": [{"kind", "data"}, …], "meta"?}}
    {"version", "kind": "Compaction", "data": {"summary"}}
    {"version", "kind": "Clear"}

Blocks are `text`, `image`, `thinking`, `toolUse` and `toolResult`. A `Clear` removes everything
before it from the context. Kiro CLI is closed source: this is what public readers of its files
agree on (k-k1/agent-fleet, measured with version 2.14.1; bugyo; agentglass; 2026). Model and id are
in the file `ID.json` next to the session.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from ctxtrim.formats.base import Format, Insertion, Site, layout_of_events, session
from ctxtrim.formats.block_messages import add_messages
from ctxtrim.formats.fields import elements, located, members, string
from ctxtrim.formats.media_blocks import media_of
from ctxtrim.formats.message_lists import ListContents, insert_around
from ctxtrim.formats.message_parts import call_part, event_id, json_part, result_parts, text_of
from ctxtrim.model import Line, Message, Part, Role, Span, Transcript
from ctxtrim.text.json_paths import Path
from ctxtrim.text.records import JsonRecord, dump

_ROLES: dict[object, Role] = {
    "Prompt": "user",
    "AssistantMessage": "assistant",
    "ToolResults": "user",
}
_KINDS: dict[Role, str] = {
    "user": "Prompt",
    "system": "Prompt",
    "assistant": "AssistantMessage",
    "tool": "ToolResults",
}


def knows(value: object) -> bool:
    """Whether a value is a record with blocks."""
    record = members(value)
    blocks = members(record.get("data")).get("content")
    is_known = isinstance(kind := record.get("kind"), str) and kind in _ROLES
    if not is_known or not isinstance(blocks, list):
        return False
    return all("kind" in members(block) for block in blocks)


def read(records: Iterable[JsonRecord], lines: Sequence[Line]) -> list[Transcript]:
    """The one conversation of the session, from its last `Clear` on."""
    contents = ListContents()
    for line, record in enumerate(records):
        value, span = members(record.value), Span(line)
        data = members(value.get("data"))
        if value.get("kind") == "Clear":
            contents = ListContents()
        elif value.get("kind") == "Compaction" and string(data.get("summary")):
            part = Part("text", data["summary"], span=span.inside("data", "summary"))
            contents.add_summary([part], span)  # what it replaces is not known
        elif knows(value):
            blocks = located(data["content"], span.inside("data", "content"))
            add_messages(_ROLES[value["kind"]], blocks, contents, _part, _result)
    return session(contents.messages, lines)


def _part(value: Any, span: Span) -> Part | None:
    """A block of a prompt or an answer; None for an empty text."""
    kind, data = value["kind"], value.get("data")
    if kind == "text" and isinstance(data, str):
        return Part("text", data, span=span.inside("data"), block=span) if data else None
    if kind == "thinking":
        text = data if isinstance(data, str) else string(members(data).get("text"))
        return Part("reasoning", text or "", block=span)
    if kind == "toolUse":
        call, data_span = members(data), span.inside("data", "input")
        return call_part(
            call.get("input"), call.get("toolUseId"), call.get("name"), data_span, span
        )
    if kind == "image":
        media = media_of({"type": "image"} | members(data))
        return Part("attachment", media=media, block=span, text_block=_text_block)
    return json_part(value, span)


def _text_block(text: str) -> dict[str, str]:
    return {"kind": "text", "data": text}


def _result(value: Any, span: Span) -> tuple[Part, ...]:
    """The parts of a result; none for any other block.

    The values of a command follow its output.
    """
    if value["kind"] != "toolResult":
        return ()
    data, data_span = members(value.get("data")), span.inside("data", "content")
    blocks = list(map(members, elements(data.get("content"))))
    outputs = [_output(block, data_span.inside(index)) for index, block in enumerate(blocks)]
    call_id = string(data.get("toolUseId"))
    is_error = True if data.get("status") == "error" else None
    rest = (
        Part("text", dump(block["data"] | {"stdout": ""}), call_id, source=output.source)
        for block, output in zip(blocks, outputs, strict=True)
        if _has_output(block) and len(block["data"]) > 1
    )
    return (*result_parts(outputs, call_id, None, is_error), *rest)


def _has_output(block: dict[str, Any]) -> bool:
    """Whether a block has the output of a command next to other values."""
    return isinstance(members(block.get("data")).get("stdout"), str)


def _output(block: dict[str, Any], span: Span) -> Part:
    """A text or the output of a command; any other block as its JSON."""
    data, data_span = block.get("data"), span.inside("data")
    if block.get("kind") == "text" and isinstance(data, str):
        return Part("text", data, span=data_span, block=span)
    if _has_output(block):
        source = data_span if len(block["data"]) > 1 else None
        return Part("text", block["data"]["stdout"], span=data_span.inside("stdout"), source=source)
    return Part("text", dump(block.get("data", block)))


def owner(array: Path) -> Path | None:
    """A record is removed with its last block; a result stays without a text."""
    return () if array == ("data", "content") else None


def insert(run: Sequence[Message], site: Site) -> Sequence[Insertion]:
    """Each message as a record; a record around it is split."""
    return insert_around(run, site, lambda span: Span(span.line), _record, _half)


def _half(record: dict[str, Any], cut: Span, number: int) -> dict[str, Any]:
    head = {key: record[key] for key in ("version", "kind") if key in record}
    return head | _id(record, str(cut.path), number)


def _record(message: Message, neighbour: dict[str, Any], number: int) -> dict[str, Any]:
    text, result = text_of(message.parts), message.result
    block: dict[str, Any] = _text_block(text)
    if result is not None:
        status = "error" if result.is_error else "success"
        answer = {"toolUseId": result.call_id, "content": [block], "status": status}
        block = {"kind": "toolResult", "data": answer}
    head = {"version": neighbour["version"]} if "version" in neighbour else {}
    data = _id(neighbour, text, number) | {"content": [block]}
    return head | {"kind": _KINDS[message.role], "data": data}


def _id(neighbour: dict[str, Any], content: str, number: int) -> dict[str, str]:
    """The id of a new record, if its neighbour has one."""
    name = members(neighbour.get("data")).get("message_id")
    return {"message_id": event_id(name, content, number)} if isinstance(name, str) else {}


FORMAT = Format("kiro-cli", layout_of_events(knows), read, insert, owner=owner)
