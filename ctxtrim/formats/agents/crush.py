"""Crush: sessions in its database, one per line, and what `crush session show --json` writes.

::

    {"session": {"id", …}, "messages": [message, …]}        from the database
    {"meta": {"uuid", …}, "messages": [message, …]}         shown: parts without `data`

    message   {"id", "role", "parts": [{"type", "data": {…}}], "model"?, "is_summary_message"?, …}
    part      text {"text", "hidden"?} | reasoning {"thinking", "signature", "responses_data"}
              tool_call {"id", "name", "input"} tool_result {"tool_call_id", "content", "is_error"}
              binary {"Path", "MIMEType", "Data"} | image_url {"url"} | shell_command {"command",
              "output", "exit_code"} | finish {"reason"}

Source: `internal/message/content.go`, `internal/agent/agent.go` and `internal/cmd/session.go` of
charmbracelet/crush (2026). Crush sends the text of the summary that the session names as a user
message, and the messages after it. A database marks summaries that failed, too.
"""

from base64 import b64decode
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from ctxtrim.errors import NotEditableError
from ctxtrim.formats.base import BEFORE_SUMMARY, Insertion, Site, parts_owner
from ctxtrim.formats.block_messages import add_messages, insert_blocks
from ctxtrim.formats.fields import boolean, located, members, role_in, string
from ctxtrim.formats.media_blocks import block_part, inline_media, text_block
from ctxtrim.formats.message_lists import Dialect, Element, Envelope, ListContents
from ctxtrim.formats.message_parts import call_part, result_parts, text_of
from ctxtrim.model import Message, Part, Role, Span
from ctxtrim.text.records import dump

_ROLES: dict[object, Role] = {
    "user": "user",
    "assistant": "assistant",
    "system": "system",
    "tool": "user",
}
_KINDS = (
    "text", "reasoning", "tool_call", "tool_result", "binary", "image_url", "finish",
    "shell_command",
)  # fmt: skip
_UNSENT = ("finish", "_meta")
_BEFORE_FILES = (
    "\n<system_info>The files below have been attached by the user, "
    "consider them in your response</system_info>\n"
)


def knows(value: object) -> bool:
    """Whether a value is a message with parts that have a type and data, or with shown parts."""
    parts = members(value).get("parts")
    if not isinstance(parts, list) or role_in(value, "role", _ROLES) is None or not parts:
        return False
    is_shown = all(isinstance(members(value).get(key), str) for key in ("id", "created"))
    return any(map(_is_known, parts)) and all(_is_part(part, is_shown) for part in parts)


def _is_known(part: object) -> bool:
    return members(part).get("type") in _KINDS


def _is_part(part: Any, is_shown: bool) -> bool:
    is_typed = isinstance(members(part).get("type"), str)
    return is_typed and (isinstance(part.get("data"), dict) or (is_shown and "data" not in part))


def _fields(part: Any, span: Span) -> tuple[dict[str, Any], Span]:
    """The fields of a part and the span of the object that holds them."""
    data = part.get("data")
    return (data, span.inside("data")) if isinstance(data, dict) else (part, span)


def read(items: Iterable[Element], contents: ListContents) -> None:
    """Read the messages of each element that Crush sends."""
    items = list(items)
    messages = [item for item in items if knows(item.value)]
    contents.uncounted += sum(_is_unknown(item.value) for item in items)
    summaries = [
        position for position, item in enumerate(messages) if item.value.get("is_summary_message")
    ]
    if summaries:
        position = summaries[-1]
        _add_summary(messages[position], messages[:position], contents)
        messages = messages[position + 1 :]
    for item in messages:
        _add(item, contents)


def _add_summary(summary: Element, older: Sequence[Element], contents: ListContents) -> None:
    """Add the texts of a summary. It is removed with the older messages, which it replaces."""
    pieces = located(summary.value["parts"], summary.span.inside("parts"))
    texts = [_part(part, span, None) for part, span in pieces if part["type"] == "text"]
    if texts:
        spans = (item.whole for item in (summary, *older))
        contents.add_summary(filter(None, texts), *spans)


def _add(item: Element, contents: ListContents) -> None:
    """Add the messages of an element."""
    value, index = item.value, len(contents.messages)
    parts = located(value["parts"], item.span.inside("parts"))
    first_file = next((span for part, span in parts if _is_text_file(part)), None)
    add_messages(
        _ROLES[value["role"]], parts, contents, partial(_part, first_file=first_file), _result
    )
    if value["role"] == "user" and _is_hidden(value):
        for position in range(index, len(contents.messages)):
            contents.change(position, is_injected=True)
    if value["role"] == "assistant":
        contents.model = string(value.get("model")) or contents.model


def _is_unknown(value: Any) -> bool:
    """Whether a value may be a message of an unknown kind. Answers begin without parts."""
    return (
        isinstance(value, dict)
        and "role" in value
        and not knows(value)
        and value.get("parts") != []
    )


def _is_hidden(value: Mapping[str, Any]) -> bool:
    """Whether Crush wrote a user message: it hides the first text."""
    text_part = next((part for part in value["parts"] if part["type"] == "text"), None)
    return text_part is not None and _fields(text_part, Span(0))[0].get("hidden") is True


def _part(value: Any, span: Span, first_file: Span | None) -> Part | None:
    """What Crush sends of a part; None for the end of an answer.

    `first_file`: the span of the first text file of the message, which follows a notice.
    """
    kind, (data, data_span) = value["type"], _fields(value, span)
    spell = text_block if data_span == span else _text_block
    if kind in _UNSENT:
        return None
    if kind == "text" and isinstance(data.get("text"), str):
        return Part("text", data["text"], span=data_span.inside("text"), block=span)
    if kind == "reasoning" and isinstance(data.get("thinking"), str):
        size = _sealed_size(data) if data["thinking"] else 0  # else Crush sends neither
        return Part("reasoning", data["thinking"], block=span, sealed=size)
    if kind == "tool_call":
        call = data.get("id", data.get("tool_call_id"))
        return call_part(data.get("input"), call, data.get("name"), data_span.inside("input"), span)
    if kind == "binary":
        return _file(data, span, spell, _BEFORE_FILES if span == first_file else "")
    if kind == "shell_command":
        output, code = data.get("output"), data.get("exit_code")
        return Part("text", f"$ {data.get('command')}\n{output}\n(exit code {code})", block=span)
    is_image = kind == "image_url"
    return block_part({"type": kind, "image_url": data} if is_image else value, span, spell)


def _sealed_size(data: Mapping[str, Any]) -> int:
    """The characters of the encrypted reasoning next to a summary of it."""
    outer = members(data.get("responses_data"))
    inner = members(outer.get("data", outer))
    return len(string(inner.get("encrypted_content")) or "")


def _mime(data: Mapping[str, Any]) -> str:
    return string(data.get("MIMEType", data.get("mime_type"))) or ""


def _is_text_file(part: Any) -> bool:
    data, _ = _fields(part, Span(0))
    return part["type"] == "binary" and _mime(data).startswith("text/")


def _file(data: Mapping[str, Any], span: Span, spell: Callable[[str], Any], notice: str) -> Part:
    """A file: the text of a text file, else an attachment that `spell` replaces by a text."""
    mime, content = _mime(data), data.get("Data")
    if mime.startswith("text/"):
        text = f"<file path='{data.get('Path')}'>\n\n{_file_text(content)}\n</file>\n"
        return Part("text", notice + text, block=span)
    media = inline_media(content, mime)
    return Part("attachment", media=media, block=span, text_block=spell)


def _file_text(content: Any) -> str:
    try:
        return b64decode(content).decode(errors="replace") if isinstance(content, str) else ""
    except ValueError:
        return str(content)


def _result(value: Any, span: Span) -> tuple[Part, ...]:
    """The parts of a result; none for any other part."""
    if value["type"] != "tool_result":
        return ()
    data, data_span = _fields(value, span)
    text = data.get("content")
    is_error = boolean(data.get("is_error"))
    if isinstance(text, str):
        parts = [Part("text", text, span=data_span.inside("content"))]
    else:
        parts = [Part("text", dump(text))]
    if data.get("data") and not is_error:
        media = inline_media(data["data"], data.get("mime_type"))
        parts.append(Part("attachment", media=media, block=data_span.inside("data")))
    call, name = string(data.get("tool_call_id")), string(data.get("name"))
    return result_parts(parts, call, name, is_error)


def _text_block(text: str) -> dict[str, Any]:
    return {"type": "text", "data": {"text": text}}


def envelope(value: dict[str, Any], span: Span) -> Envelope:
    """The id of the session. Its messages name the model."""
    name = members(value.get("session")).get("id", members(value.get("meta")).get("uuid"))
    return Envelope(id=string(name))


def insert(run: Sequence[Message], site: Site) -> Sequence[Insertion]:
    """Each message as a message with one part. See `insert_blocks`.

    Raises a `NotEditableError` before the summary of a compaction, which Crush sends first.
    """
    later = () if site.later is None else site.later.spans
    if any(members(site.value_of(span)).get("is_summary_message") for span in later):
        raise NotEditableError(BEFORE_SUMMARY)
    return insert_blocks(run, site, "parts", _json_value)


def _json_value(message: Message, neighbour: Mapping[str, Any], name: str | None) -> dict[str, Any]:
    part, result = _text_block(text_of(message.parts)), message.result
    if result is not None:
        fields = {"tool_call_id": result.call_id, "name": result.name, "is_error": result.is_error}
        data = {key: value for key, value in fields.items() if value is not None}
        part = {"type": "tool_result", "data": data | {"content": text_of(message.parts)}}
    if "created" in neighbour:  # as shown
        part = {"type": part["type"], **part["data"]}
    keys = ("session_id", "created", "created_at", "updated_at")
    value: dict[str, Any] = {} if name is None else {"id": name}
    value |= {key: neighbour[key] for key in keys if key in neighbour}
    return value | {"role": message.role, "parts": [part]}


DIALECT = Dialect("crush", knows, read, insert, envelope=envelope, owner=parts_owner)
