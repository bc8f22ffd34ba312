"""Gemini's contents, `{role, parts}`: what they are as messages, and where messages are put among them.

One content may hold several messages: each function response is a tool result of its own (with the media right after
it), and so is each run of other parts. A response is an object; where one of its members is plainly the text, that is
what can be edited, and the others are read beside it.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

from ctxtrim.conversation.tool_results import METADATA
from ctxtrim.formats.base import Insertion, Site
from ctxtrim.formats.media_blocks import media_of
from ctxtrim.model import Message, Part, Role, Span
from ctxtrim.text.json_paths import Path
from ctxtrim.text.records import dump

ROLES: dict[object, Role] = {
    "user": "user",
    "model": "assistant",
    "gemini": "assistant",  # the name that Gemini CLI gives the model in its own records
    "system": "system",
    "function": "user",  # the role of function responses in old versions of the API
    "tool": "user",
    None: "user",
}
SPELLED = {"user": "user", "assistant": "model", "system": "system", "tool": "user"}
"""The role in which a message of ours is spelled."""

Piece = tuple[Any, Span]
"""A part as it was read, and where it stands."""

_CALL = ("functionCall", "function_call")
_RESPONSE = ("functionResponse", "function_response")
_KNOWN = (
    "text", "inlineData", "inline_data", "fileData", "file_data", *_CALL, *_RESPONSE, "executableCode",
    "executable_code", "codeExecutionResult", "code_execution_result", "thought", "thoughtSignature",
    "videoMetadata", "video_metadata",
)  # fmt: skip
_TEXTS = ("output", "result", "content", "text", "stdout", "message", "report", "error")  # of a response


def is_content(value: object) -> bool:
    """A role of Gemini's and parts that no other dialect has."""
    if not isinstance(value, dict) or not isinstance(value.get("parts"), list) or "content" in value:
        return False
    role, parts = value.get("role"), value["parts"]
    if not (isinstance(role, str) or len(value) == 1) or role not in ROLES or not all(map(_is_part, parts)):
        return False
    return bool(parts) or ROLES[role] == "assistant"


def _is_part(value: object) -> bool:
    return isinstance(value, dict) and "type" not in value and any(key in value for key in _KNOWN)


def messages_of(
    role: Role, pieces: Iterable[Piece], whole: tuple[Span, ...], index: int, *, is_injected: bool = False
) -> list[Message]:
    """The messages in the parts of one content; `whole` is what goes with the only message of the model or the system.

    What looks like a call of the user, or a result of the model, is something to read.
    """
    if role != "user":
        parts = (part_of(value, where, role == "assistant") for value, where in pieces)
        return [Message(role, tuple(parts), index=index, spans=whole)]
    found: list[Message] = []
    for value, where in pieces:
        response = member(value, _RESPONSE)
        if response is not None:
            found.append(result_of(value, where, index + len(found)))
            continue
        part, last = part_of(value, where, False), found[-1] if found else None
        if last is not None and (last.role == "user" or part.media is not None):
            found[-1] = _with(last, part, where)
        else:
            found.append(Message("user", (part,), None, is_injected, index=index + len(found), spans=(where,)))
    return found or [Message("user", (), None, is_injected, index=index, spans=whole)]


def _with(message: Message, part: Part, where: Span) -> Message:
    """The message with one more part; media after a result belong to it, a text would not."""
    if message.result is not None:
        part = replace(part, call_id=message.result.call_id, text_block=None)
    return replace(message, parts=(*message.parts, part), spans=(*message.spans, where))


def part_of(value: Any, where: Span, calls: bool) -> Part:
    """Any part but a function response, with the reasoning that its signature seals."""
    part = _part_of(value, where, calls)
    signature = value.get("thoughtSignature", value.get("thought_signature")) if isinstance(value, dict) else None
    return replace(part, sealed=len(signature)) if isinstance(signature, str) else part


def _part_of(value: Any, where: Span, calls: bool) -> Part:
    """A part without its signature; one that is unknown counts as its whole JSON text and is never edited."""
    if isinstance(value, str):
        return Part("text", value, span=where, block=where)
    if not isinstance(value, dict):
        return Part("text", dump(value), block=where)
    text = value.get("text")
    if isinstance(text, str):
        if value.get("thought") is True:
            return Part("reasoning", text, block=where)
        return Part("text", text, span=where.inside("text"), block=where)
    call = member(value, _CALL)
    if call is not None and calls:
        return call_of(call, where)
    media = media_of(value)
    if media is not None:
        return Part("attachment", media=media, block=where, text_block=text_part)
    return Part("text", dump(value), block=where)


def call_of(call: dict[str, Any], block: Span) -> Part:
    """A call with a name, arguments that are an object, and maybe an id; `block` is what goes with it."""
    arguments, call_id, name = call.get("args"), call.get("id"), call.get("name")
    return Part(
        "tool_call",
        "" if arguments is None else dump(arguments),
        call_id if isinstance(call_id, str) else None,
        name if isinstance(name, str) else None,
        block=block,
    )


def member(value: Any, keys: tuple[str, ...]) -> dict[str, Any] | None:
    """The object under one of the keys; some clients write the others too, as null."""
    if not isinstance(value, dict):
        return None
    return next((value[key] for key in keys if isinstance(value.get(key), dict)), None)


def response_of(value: Any) -> dict[str, Any] | None:
    """The function response in a part, if it is one."""
    return member(value, _RESPONSE)


def result_of(value: dict[str, Any], where: Span, index: int, call_id: str | None = None) -> Message:
    """The tool result in a part that holds a function response; `call_id` where that says no id."""
    key = next(key for key in _RESPONSE if isinstance(value.get(key), dict))
    inner, at = value[key], where.inside(key)
    name, own = inner.get("name"), inner.get("id")
    call_id = own if isinstance(own, str) else call_id
    name = name if isinstance(name, str) else None
    text, span, rest, is_error = _told(inner.get("response"), at.inside("response"))
    parts = [Part("tool_result", text, call_id, name, is_error, None, span)]
    if rest is not None:
        parts.append(Part("text", rest, call_id))
    more = inner.get("parts")
    for place, one in enumerate(more if isinstance(more, list) else ()):
        media = media_of(one) if isinstance(one, dict) else None
        block = at.inside("parts", place)
        if media is None:
            parts.append(Part("tool_result", dump(one), call_id, name, is_error, None, None, block))
        else:
            parts.append(Part("attachment", "", call_id, media=media, block=block))
    return Message("tool", tuple(parts), metadata=metadata_of(value), index=index, spans=(where,))


def metadata_of(value: dict[str, Any]) -> tuple[tuple[str, int], ...]:
    """What a stage noted beside a result."""
    return tuple((key, value[key]) for key in METADATA if type(value.get(key)) is int)


def _told(response: Any, where: Span) -> tuple[str, Span | None, str | None, bool | None]:
    """What a response says: its text and where that stands, the JSON of what else it says, and whether it is an error.

    Which member is the text is told by the keys alone, so that it is the same one after an edit.
    """
    if isinstance(response, str):
        return response, where, None, None
    if not isinstance(response, dict):
        return "" if response is None else dump(response), None, None, None
    is_error = True if response.get("error") else None
    strings = [key for key, value in response.items() if isinstance(value, str)]
    text = strings[0] if len(strings) == 1 else next((key for key in _TEXTS if key in strings), None)
    if text is None:
        return dump(response), None, None, is_error
    rest = dump(response | {text: ""}) if len(response) > 1 else None  # alone, its braces are the frame of the call
    return response[text], where.inside(text), rest, is_error


def is_media(array: Path) -> bool:
    """Whether the array at a path holds the media of a function response."""
    return len(array) > 1 and array[-1] == "parts" and array[-2] in _RESPONSE


def text_part(text: str) -> dict[str, Any]:
    """A text as a part."""
    return {"text": text}


def spelled_part(message: Message) -> dict[str, Any]:
    """A message as one part."""
    result = message.result
    text = "".join(part.text for part in message.parts if part.kind in ("text", "tool_result"))
    if result is None:
        return text_part(text)
    response = {"id": result.call_id, "name": result.name, "response": {"output": text}}
    return {"functionResponse": {key: value for key, value in response.items() if value is not None}}


def spelled_content(messages: Sequence[Message]) -> dict[str, Any]:
    """Messages of one role as one content."""
    return {"role": SPELLED[messages[0].role], "parts": [spelled_part(one) for one in messages]}


def put(
    run: Sequence[Message],
    site: Site,
    home: Callable[[Span], Span | None],
    parts: Path,
    spell: Callable[[Sequence[Message], Any, int], Any],
) -> list[Insertion]:
    """Where messages go among contents, as parts or as contents of their own, which `spell` makes beside another.

    `home` is the content that a span stands in, `parts` the end of the path of its parts. Between two messages of one
    content, parts go. Results join those before them, else those that follow, else they have a content right after
    the call. All else has a content of its own, before what follows.
    """
    earlier, later = site.earlier, site.later
    before = home(earlier.spans[-1]) if earlier is not None else None
    after = home(later.spans[0]) if later is not None else None
    are_results = all(message.role == "tool" for message in run)

    def has_company(message: Message) -> bool:
        return are_results and message.role == "tool" and message.spans[0].path[-len(parts) - 1 : -1] == parts

    if earlier is not None and ((before is not None and before == after) or has_company(earlier)):
        return [Insertion(spelled_part(message), earlier.spans[-1], is_after=True) for message in run]
    if later is not None and has_company(later):
        return [Insertion(spelled_part(message), later.spans[0]) for message in run]
    is_after = after is None or (run[0].role == "tool" and before is not None)
    where = (before if is_after else after) or home(site.any.spans[0]) or site.any.spans[0]
    near = site.value_of(where)
    groups: list[list[Message]] = []
    for message in run:
        if groups and message.role == groups[-1][0].role == "tool":
            groups[-1].append(message)
        else:
            groups.append([message])
    return [Insertion(spell(messages, near, number), where, is_after) for number, messages in enumerate(groups)]


def element_of(span: Span, parts: Path) -> Span:
    """The element that a span of a message is, or stands in as one of its parts, which are at a path inside it."""
    deep = len(parts) + 1
    return Span(span.line, span.path[:-deep]) if span.path[-deep:-1] == parts else span
