"""Gemini contents `{role, parts}`: reads their messages, and inserts messages among them.

One content may contain several messages: each function response (with the media right after it) is
a tool result, and each run of other parts is a message. A response is an object. If one of its
members is clearly the text, that member can be edited, and the others are read as one more text.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from ctxtrim.formats.base import Insertion, Site
from ctxtrim.formats.fields import Located, elements, metadata_in, string
from ctxtrim.formats.media_blocks import block_part, media_of, untyped_text
from ctxtrim.formats.message_parts import MessageDraft, text_of
from ctxtrim.model import Message, Part, Role, Span
from ctxtrim.text.json_paths import Path
from ctxtrim.text.records import dump

ROLES: dict[object, Role] = {
    "user": "user",
    "model": "assistant",
    "gemini": "assistant",  # the model, in records of Gemini CLI
    "system": "system",
    "function": "user",  # the role of function responses in old versions of the API
    "tool": "user",
    None: "user",
}
GEMINI_ROLES = {"user": "user", "assistant": "model", "system": "system", "tool": "user"}
"""The Gemini role of each role."""

CALL = ("functionCall", "function_call")
RESPONSE = ("functionResponse", "function_response")
_MEMBERS = (
    "text", "inlineData", "inline_data", "fileData", "file_data", *CALL, *RESPONSE,
    "executableCode", "executable_code", "codeExecutionResult", "code_execution_result", "thought",
    "thoughtSignature", "videoMetadata", "video_metadata",
)  # fmt: skip
# members of a response
_TEXTS = ("output", "result", "content", "text", "stdout", "message", "report", "error")


class SentContent(Struct, frozen=True):
    """A content that is sent, its span, all that is removed with it, and the value around it.

    Of sessions of the Agent Development Kit: `transcriptions`: their texts, in the place of parts.
    `is_summary`: it is the content of a compaction. `omissions`: the indices of parts that are not
    sent. `response_spans`: the spans that are removed with the response to a call, by its id.
    """

    content: dict[str, Any]
    span: Span
    spans: tuple[Span, ...]
    event: dict[str, Any]
    transcriptions: tuple[Part, ...] = ()
    is_summary: bool = False
    omissions: frozenset[int] = frozenset()
    response_spans: Mapping[str, tuple[Span, ...]] = {}


def is_content(value: object) -> bool:
    """Whether a value has a Gemini role and parts."""
    if not isinstance(value, dict) or "content" in value:
        return False
    role, parts = value.get("role"), value.get("parts")
    if not isinstance(parts, list) or not (isinstance(role, str) or len(value) == 1):
        return False
    if role not in ROLES or not all(map(_is_part, parts)):
        return False
    return bool(parts) or ROLES[role] == "assistant"


def _is_part(value: object) -> bool:
    return isinstance(value, dict) and "type" not in value and any(key in value for key in _MEMBERS)


def messages_of(
    role: Role,
    pieces: Iterable[Located],
    spans: tuple[Span, ...],
    index: int,
    *,
    is_injected: bool = False,
) -> list[Message]:
    """The messages in the parts of one content.

    `spans` are removed with the only message of a model or system. Calls in a user content are
    read as text. Results may be in a model content, too: Google's harness for agents writes them
    so.
    """
    pieces = list(pieces)
    is_answer = role == "assistant"
    has_results = any(member(value, RESPONSE) is not None for value, _ in pieces)
    if role == "system" or (is_answer and not has_results):
        parts = (part_of(value, span, calls=is_answer) for value, span in pieces)
        return [Message(role, tuple(parts), index=index, spans=spans)]
    drafts: list[MessageDraft] = []
    for value, span in pieces:
        if member(value, RESPONSE) is not None:
            response = list(parts_of_response(value, span))
            drafts.append(MessageDraft("tool", response, [span], metadata_in(value)))
            continue
        part = part_of(value, span, calls=is_answer)
        is_after_result = bool(drafts) and drafts[-1].role == "tool"
        if is_after_result and part.media is not None:  # it belongs to the result; a text would not
            part = replace(part, call_id=drafts[-1].parts[0].call_id, text_block=None)
        elif is_after_result or not drafts:
            drafts.append(MessageDraft(role, [], [], is_injected=is_injected))
        drafts[-1].parts.append(part)
        drafts[-1].spans.append(span)
    if not drafts:
        return [Message("user", (), is_injected=is_injected, index=index, spans=spans)]
    return [draft.message(position) for position, draft in enumerate(drafts, index)]


def part_of(value: Any, span: Span, *, calls: bool = False) -> Part:
    """Any part except a function response, with the length of its signature as sealed reasoning.

    `calls`: in an answer, where a function call is a call, not text.
    """
    part = _part_of(value, span, calls)
    if not isinstance(value, dict):
        return part
    signature = value.get("thoughtSignature", value.get("thought_signature"))
    return replace(part, sealed=len(signature)) if isinstance(signature, str) else part


def _part_of(value: Any, span: Span, calls: bool) -> Part:
    """A part without its signature.

    An unknown part counts as its whole JSON text and is never edited.
    """
    if isinstance(value, str):
        return Part("text", value, span=span, block=span)
    if not isinstance(value, dict):
        return block_part(value, span)
    text = value.get("text")
    if isinstance(text, str):
        if value.get("thought") is True:
            return Part("reasoning", text, block=span)
        return Part("text", text, span=span.inside("text"), block=span)
    call = member(value, CALL)
    if call is not None and calls:
        return call_of(call, span)
    return block_part(value, span, untyped_text)


def call_of(call: dict[str, Any], block: Span) -> Part:
    """A call with a name, an arguments object, and an optional id. `block` is removed with it."""
    arguments = call.get("args")
    text = "" if arguments is None else dump(arguments)
    return Part("tool_call", text, string(call.get("id")), string(call.get("name")), block=block)


def member(value: Any, keys: tuple[str, ...]) -> dict[str, Any] | None:
    """The object under one of the keys. Some clients write the unused keys as null."""
    if not isinstance(value, dict):
        return None
    return next((value[key] for key in keys if isinstance(value.get(key), dict)), None)


def parts_of_response(value: dict[str, Any], part_span: Span) -> tuple[Part, ...]:
    """The parts of the result in a function response part."""
    key = next(key for key in RESPONSE if isinstance(value.get(key), dict))
    return response_parts(value[key], part_span.inside(key))


def response_parts(response: dict[str, Any], span: Span) -> tuple[Part, ...]:
    """The parts of a function response at a span: its text, its other members, and its media."""
    call_id, name = string(response.get("id")), string(response.get("name"))
    inner = span.inside("response")
    text, text_span, rest, is_error = response_text(response.get("response"), inner)
    parts = [Part("tool_result", text, call_id, name, is_error, span=text_span, source=inner)]
    if rest is not None:
        parts.append(Part("text", rest, call_id, source=inner))
    for position, item in enumerate(elements(response.get("parts"))):
        media = media_of(item) if isinstance(item, dict) else None
        block = span.inside("parts", position)
        if media is None:
            parts.append(Part("tool_result", dump(item), call_id, name, is_error, block=block))
        else:
            parts.append(Part("attachment", "", call_id, media=media, block=block))
    return tuple(parts)


class ResponseText(NamedTuple):
    """The text of a response, its span if it can be edited, the JSON of the other members, and
    whether the response is an error.
    """

    text: str
    span: Span | None = None
    rest: str | None = None
    is_error: bool | None = None


def response_text(response: Any, span: Span) -> ResponseText:
    """The text of a response at a span.

    Keys alone decide which member is the text, so that it stays the same after an edit.
    """
    if isinstance(response, str):
        return ResponseText(response, span)
    if not isinstance(response, dict):
        return ResponseText("" if response is None else dump(response))
    is_error = True if response.get("error") else None
    strings = [key for key, value in response.items() if isinstance(value, str)]
    text = next((key for key in _TEXTS if key in strings), None)
    if len(strings) == 1:
        text = strings[0]
    if text is None:
        return ResponseText(dump(response), is_error=is_error)
    # the frame of the call covers the braces of a single member
    rest = dump(response | {text: ""}) if len(response) > 1 else None
    if text == "error" and not is_error:
        return ResponseText("", rest=rest)  # a text would make the result an error
    return ResponseText(response[text], span.inside(text), rest, is_error)


def is_media(array: Path) -> bool:
    """Whether the array at a path holds the media of a function response."""
    return len(array) > 1 and array[-1] == "parts" and array[-2] in RESPONSE


def part_value(message: Message) -> dict[str, Any]:
    """A message as one part."""
    if message.result is None:
        return untyped_text(text_of(message.parts))
    return {"functionResponse": response(message)}


def response(message: Message) -> dict[str, Any]:
    """A tool result as a function response."""
    result = message.result
    link = {} if result is None else {"id": result.call_id, "name": result.name}
    fields = {key: value for key, value in link.items() if value is not None}
    return fields | {"response": {"output": text_of(message.parts)}}


def content_value(messages: Sequence[Message]) -> dict[str, Any]:
    """Messages of one role as one content."""
    return {
        "role": GEMINI_ROLES[messages[0].role],
        "parts": [part_value(message) for message in messages],
    }


def insert_contents(
    run: Sequence[Message],
    site: Site,
    content_around: Callable[[Span], Span | None],
    parts: Path,
    spell: Callable[[Sequence[Message], Any, int], Any],
) -> list[Insertion]:
    """Insertions of messages among contents, as parts or as contents made by `spell` from a
    neighbour.

    `content_around` returns the span of the content that contains a span; `parts` is the path of
    its parts. Between two messages of one content, messages become parts. Results join the results
    before them, then those after them; otherwise they get a content right after the call. Other
    messages get a content before the next message.
    """
    earlier, later = site.earlier, site.later
    before = content_around(earlier.spans[-1]) if earlier is not None else None
    after = content_around(later.spans[0]) if later is not None else None
    are_results = all(message.role == "tool" for message in run)
    is_inside = before is not None and before == after
    if earlier is not None and (is_inside or (are_results and _is_result_part(earlier, parts))):
        return [Insertion(part_value(message), earlier.spans[-1], is_after=True) for message in run]
    if later is not None and are_results and _is_result_part(later, parts):
        return [Insertion(part_value(message), later.spans[0]) for message in run]
    is_after = after is None or (run[0].role == "tool" and before is not None)
    span = (
        (before if is_after else after) or content_around(site.last.spans[0]) or site.last.spans[0]
    )
    neighbour = site.value_of(span)
    return [
        Insertion(spell(messages, neighbour, number), span, is_after)
        for number, messages in enumerate(_with_results_together(run))
    ]


def _is_result_part(message: Message, parts: Path) -> bool:
    """Whether a message is a result in the list of parts of a content."""
    return message.role == "tool" and message.spans[0].path[-len(parts) - 1 : -1] == parts


def _with_results_together(run: Iterable[Message]) -> list[list[Message]]:
    """The messages in groups: consecutive results together, any other message alone."""
    groups: list[list[Message]] = []
    for message in run:
        if groups and message.role == groups[-1][0].role == "tool":
            groups[-1].append(message)
        else:
            groups.append([message])
    return groups
