"""Gemini API contents: `{"contents": [{role, parts}], "systemInstruction"?, …}`, or one per line.

The same lists occur under `history` (checkpoints of Gemini CLI), `request.contents` (batches, with
the answer in `response`) and, one inside each event, under `events` (Agent Development Kit). Keys
are in camel or snake case. Requests as Google's SDK takes them have other fields in `config`, and
also texts and parts among the contents, or a text in their place
[googleapis/python-genai, `google/genai/_transformers.py`, `t_contents`].
Calls seldom have ids, so calls and results are paired by order. Thoughts count as reasoning, and
their signatures by length.
"""

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Any

from msgspec.structs import replace

from ctxtrim.formats.base import Insertion, Site
from ctxtrim.formats.fields import Located, identifier, located, members, string
from ctxtrim.formats.gemini.parts import (
    CALL,
    GEMINI_ROLES,
    ROLES,
    SentContent,
    content_value,
    insert_contents,
    is_content,
    is_media,
    member,
    messages_of,
    part_of,
)
from ctxtrim.formats.media_blocks import untyped_text
from ctxtrim.formats.message_lists import (
    Dialect,
    Element,
    Envelope,
    ListContents,
    element_of,
    sent_site,
)
from ctxtrim.formats.message_parts import event_id
from ctxtrim.formats.request_options import gemini_options
from ctxtrim.formats.usage import gemini_usage, is_complete
from ctxtrim.model import Message, Role, Span
from ctxtrim.text.json_paths import Path, Place, each_element
from ctxtrim.text.records import dump

_CONTENTS = "contents"
_LEAST = {"model", _CONTENTS}
_OF_CONTENT = frozenset(("role", "parts", "content"))
"""Members of contents, which no part has."""
_SYSTEM = ("systemInstruction", "system_instruction")
# keys that an inserted event copies from its neighbour
_EVENT = ("invocation_id", "invocationId", "timestamp")


def knows(value: object) -> bool:
    """Whether a value is a content, or an event that contains one."""
    return is_content(value) or (
        isinstance(value, dict) and "author" in value and is_content(value.get("content"))
    )


def read(elements: Iterable[Element], contents: ListContents) -> None:
    """Read the messages of each content that is sent.

    Partial events of a streamed message are skipped; the full one follows.
    """
    elements = list(elements)
    if any(_is_event(element.value) for element in elements):
        _read_events(elements, contents)
        return
    start = len(contents.messages)
    for role, group in groupby(elements, _loose_role):
        if role is not None:
            _add_loose(role, list(group), contents)
            continue
        for content in filter(None, map(_content, group)):
            _add(content, contents)
    pair_by_order(contents.messages, start)


def _read_events(elements: Sequence[Element], contents: ListContents) -> None:
    """Read the messages of events of the Agent Development Kit."""
    from ctxtrim.formats.gemini.adk_events import sent_contents  # for events only
    from ctxtrim.formats.gemini.adk_responses import with_last_responses

    for content in with_last_responses(sent_contents(elements)):
        start = len(contents.messages)
        _add(content, contents)
        messages = contents.messages[start:]
        contents.messages[start:] = [_of_event(message, content) for message in messages]


def _of_event(message: Message, content: SentContent) -> Message:
    """The message of a content, which may be a summary, with the spans of its response."""
    result = message.result
    spans = content.response_spans.get(result.call_id or "", ()) if result else ()
    if not (content.is_summary or spans):
        return message
    return replace(message, is_summary=content.is_summary, spans=(*message.spans, *spans))


def pair_by_order(messages: list[Message], start: int) -> None:
    """Pair calls without ids to results with one, as Gemini CLI writes them.

    [google-gemini/gemini-cli, `packages/core/src/core/turn.ts`]
    """
    results = (message.result for message in messages[start:])
    if not any(result is not None and result.call_id is not None for result in results):
        return
    if any(call.call_id is None for message in messages[start:] for call in message.calls):
        from ctxtrim.formats.anthropic.call_order import by_order  # for such results only

        messages[start:] = by_order(messages[start:])


def _is_event(value: object) -> bool:
    """Whether a value is an event of the Agent Development Kit."""
    return isinstance(value, dict) and "author" in value and "role" not in value


def _add(content: SentContent, contents: ListContents) -> None:
    """Add the messages of a content, and the usage next to it."""
    value, spans, name = content.event, content.spans, content.content.get("role")
    role = ROLES.get(name) if name is None or isinstance(name, str) else None
    if role is None:
        contents.uncounted += 1
        return
    if value.get("partial") is True:
        return
    index = len(contents.messages)
    if content.transcriptions:
        contents.add(role, content.transcriptions, *spans)
    else:
        parts = located(content.content.get("parts"), content.span.inside("parts"))
        pieces = [part for number, part in enumerate(parts) if number not in content.omissions]
        contents.messages += messages_of(role, pieces, spans, index)
    if role == "assistant" and is_complete(value):
        usage = value.get("usageMetadata", value.get("usage_metadata"))
        contents.add_usage(gemini_usage(usage, index))


def _loose_role(element: Element) -> Role | None:
    """The role of a text or a part among the contents; None for a content."""
    value = element.value
    if _CONTENTS not in element.span.path[-2:]:
        return None
    if isinstance(value, str):
        return "user"
    if not isinstance(value, dict) or not _OF_CONTENT.isdisjoint(value):
        return None
    return "user" if member(value, CALL) is None else "assistant"


def _add_loose(role: Role, elements: Sequence[Element], contents: ListContents) -> None:
    """Add the messages of texts and parts in a row, which the SDK sends as one content."""
    pieces = [(element.value, element.span) for element in elements]
    spans = tuple(element.whole for element in elements)
    contents.messages += messages_of(role, pieces, spans, len(contents.messages))


def _content(element: Element) -> SentContent | None:
    """The content of an element; None if there is none."""
    value, span, whole = element
    if not isinstance(value, dict):
        return None
    content = value
    if isinstance(value.get("content"), dict):
        content, span = value["content"], span.inside("content")
    has_members = "role" in content or "parts" in content
    if not has_members or not isinstance(content.get("parts", []), list):
        return None
    return SentContent(content, span, (whole,), value)


def envelope(value: dict[str, Any], span: Span) -> Envelope:
    """The system instruction, tools, tool choice and model, next to the contents or
    under `config`.
    """
    objects = [(value, span)]
    if isinstance(value.get("config"), dict):
        objects.append((value["config"], span.inside("config")))
    request = {key: inner for outer, _ in reversed(objects) for key, inner in outer.items()}
    tools = request.get("tools")
    return Envelope(
        dump(tools) if tools and isinstance(tools, list) else None,
        tool_choice=_choice(request),
        model=string(request.get("model", request.get("modelVersion"))),
        id=identifier(request.get("id")),
        usage=gemini_usage(request.get("usageMetadata", request.get("usage_metadata"))),
        preamble=_system(objects),
        options=gemini_options(request),
    )


def header(value: object) -> Envelope:
    """The model and the usage of an answer: in a result of a batch, or alone."""
    answer = members(members(value).get("response", value))
    usage = answer.get("usageMetadata", answer.get("usage_metadata"))
    return Envelope(model=string(answer.get("modelVersion")), usage=gemini_usage(usage))


def owns_place(place: Place) -> bool:
    """Whether a list or a text is the contents of a request as Google's SDK takes it."""
    around, model = place.envelope, place.envelope.get("model")
    if place.path[-1:] != (_CONTENTS,) or not isinstance(model, str):
        return False
    is_chat = "gemini" in model and "embed" not in model
    return is_chat and (isinstance(around.get("config"), dict) or around.keys() <= _LEAST)


def is_piece(place: Place) -> bool:
    """Whether an answer alone is a piece of a streamed one: it says nothing about its end."""
    is_alone = place.path[:1] == ("candidates",)
    return is_alone and place.envelope.keys().isdisjoint(("finishReason", "finish_reason"))


def _system(objects: Sequence[tuple[dict[str, Any], Span]]) -> tuple[Message, ...]:
    """The first system instruction in some objects, as a message."""
    for outer, span in objects:
        for key in _SYSTEM:
            home = span.inside(key)
            pieces = _system_pieces(outer.get(key), home)
            if pieces is not None:
                parts = tuple(part_of(part, place) for part, place in pieces)
                return (Message("system", parts, index=0, spans=(home,)),)
    return ()


def _system_pieces(value: Any, span: Span) -> list[Located] | None:
    """The parts of a system instruction; None for another value.

    The API also accepts a single part, and Google's SDK texts and parts.
    """
    if isinstance(value, str):
        return [(value, span)]
    if isinstance(value, list) and value:
        return located(value, span)
    parts = members(value).get("parts")
    if isinstance(parts, list):
        return located(parts, span.inside("parts"))
    if isinstance(parts, dict):
        return [(parts, span.inside("parts"))]
    return [(value, span)] if isinstance(members(value).get("text"), str) else None


def _choice(request: dict[str, Any]) -> str | None:
    """The name of the only allowed function, or a word like `auto` or `none`."""
    config = members(request.get("toolConfig", request.get("tool_config")))
    inner = members(config.get("functionCallingConfig", config.get("function_calling_config")))
    mode = inner.get("mode")
    if not isinstance(mode, str):
        return None
    names = inner.get("allowedFunctionNames", inner.get("allowed_function_names"))
    name = names[0] if isinstance(names, list) and len(names) == 1 else None
    return name if mode == "ANY" and isinstance(name, str) else mode.lower()


def owner(array: Path) -> Path | None:
    """A content is removed with the last of its parts, and an event with its content."""
    if array[-1] != "parts":
        return None
    if is_media(array):
        return array
    return array[:-2] if array[-2:-1] == ("content",) else array[:-1]


def insert(run: Sequence[Message], site: Site) -> Sequence[Insertion]:
    """Each message as a content; consecutive results share one. See `insert_contents`."""
    site = sent_site(site, _content_around)
    return insert_contents(run, site, _content_around, ("parts",), _json_value)


def _content_around(span: Span) -> Span | None:
    """The span of the element that contains a message; None for the system instruction."""
    if any(key in span.path for key in _SYSTEM):
        return None
    return element_of(span, ("content", "parts"), ("parts",))


def _json_value(messages: Sequence[Message], neighbour: Any, number: int) -> dict[str, Any]:
    """Messages of one role as a content, or as an event if their neighbour is an event."""
    content = content_value(messages)
    if not isinstance(neighbour, dict) or not isinstance(neighbour.get("content"), dict):
        return content
    name = event_id(neighbour.get("id"), dump(content), number)
    role = messages[0].role
    author = neighbour.get("author") if role in ("assistant", "tool") else GEMINI_ROLES[role]
    fields = {key: neighbour[key] for key in _EVENT if key in neighbour}
    return fields | {"author": author, "content": content, "id": name}


# [Vertex AI, batch prediction; Gemini API, Batch API]
_BATCH = "request.contents + response.candidates[0].content"
DIALECT = Dialect(
    "gemini",
    knows,
    read,
    insert,
    envelope=envelope,
    owner=owner,
    places=(
        "contents", "history", "events", "[*].contents", "[*].history", "[*].events",
        _BATCH, each_element(_BATCH), "candidates[0].content", "",
    ),
    header=header,
    owns_place=owns_place,
    refuses_place=is_piece,
    texts=((_CONTENTS,),),
    answers=(("content",),),
    must_alternate=True,
    text_block=untyped_text,
)  # fmt: skip
