"""Messages of the AI SDK's user interface (`UIMessage`), as chats are stored.

::

    {"id", "role": "system" | "user" | "assistant", "parts": [part, …], "metadata"?}

    text | reasoning | file       sent, and so are "reasoning-file" and "custom"
    tool-NAME | dynamic-tool      {"toolCallId", "state", "input", "output" | "errorText"}
    tool-invocation               {"toolInvocation": {…, "args", "result"}}      before version 5
    step-start                    begins a new answer
    source-url | data-NAME | …    not sent

Before version 4.2, without parts; attachments also before version 5::

    {"id", "role", "content": text, "toolInvocations"?: [{…, "args", "result"}, …],
     "experimental_attachments"?: [{"url", "contentType"}, …]}

An answer is one or more steps. A step is read as an assistant message and one tool result for each
of its finished calls, as `convertToModelMessages` sends them [vercel/ai,
packages/ai/src/ui/convert-to-model-messages.ts]. Parts that are not sent belong to a step next to
them. Tools and system prompt are not in the file. `ai_sdk_ui_edits` inserts messages.
"""

from base64 import b64decode
from collections.abc import Iterable, Iterator, Sequence
from itertools import starmap
from typing import Any

from ctxtrim.formats.agents import UI_ROLES, knows_ui_part, ui_tool
from ctxtrim.formats.fields import Located, elements, first_string, located, members, string
from ctxtrim.formats.gemini.parts import response_text
from ctxtrim.formats.media_blocks import inline_media, media_of, text_block, typed_text
from ctxtrim.formats.message_lists import Element, ListContents
from ctxtrim.formats.message_parts import call_part, content_parts, json_part, result_parts
from ctxtrim.formats.openai.ai_sdk import DENIED
from ctxtrim.model import Part, Role, Span
from ctxtrim.text.records import dump

_FINISHED = ("output-available", "output-error", "output-denied", "result")
_STREAMED = ("input-streaming", "partial-call")


def read(items: Iterable[Element], contents: ListContents) -> None:
    """Read the messages of each element."""
    for item in items:
        value, span, _ = item
        role = UI_ROLES.get(string(members(value).get("role")))
        if role is None:
            contents.uncounted += "role" in members(value)
            continue
        model = members(value.get("metadata")).get("model")
        contents.model = first_string((model, contents.model))
        pieces = located(value.get("parts"), span.inside("parts"))
        contents.uncounted += not all(knows_ui_part(part) for part, _ in pieces)
        if role == "assistant" and pieces:
            _add_answer(pieces, contents)
        elif role == "assistant" and elements(value.get("toolInvocations")):
            _add_old_answer(item, contents)
        else:
            _add_prompt(role, item, pieces, contents)


def _add_prompt(
    role: Role, item: Element, pieces: Sequence[Located], contents: ListContents
) -> None:
    """Add a prompt, or a message before version 5 that has only a text."""
    value, span, whole = item
    parts = tuple(filter(None, starmap(_text_or_file, pieces)))
    if not pieces and isinstance(value.get("content"), str):
        parts = content_parts(value["content"], span.inside("content"), json_part)
    if role == "user":
        parts += tuple(_attachments(value, span.inside("experimental_attachments")))
    if parts:
        contents.add(role, parts, whole)


def _attachments(value: dict[str, Any], home: Span) -> Iterator[Part]:
    """The files next to the text of a prompt, before version 5. One without a type is not sent
    [vercel/ai, packages/ai/core/prompt/attachments-to-parts.ts].
    """
    for index, file in enumerate(elements(value.get("experimental_attachments"))):
        url, kind = string(members(file).get("url")), string(members(file).get("contentType"))
        if kind and kind.startswith("text/") and url and url.startswith("data:"):
            yield Part("text", _text_in_url(url), block=home.inside(index))
        elif kind:
            media = inline_media(url, kind)
            yield Part("attachment", media=media, block=home.inside(index))


def _text_in_url(url: str) -> str:
    """The text in a data URL; the URL itself if that is not base64."""
    try:
        return b64decode(url.partition(",")[2]).decode(errors="replace")
    except ValueError:
        return url


def _text_or_file(value: Any, span: Span) -> Part | None:
    """A text or a file; None for a part that is not sent."""
    part = members(value)
    if part.get("type") == "file":
        data = part.get("url", part.get("data"))
        media = inline_media(data, part.get("mediaType", part.get("mimeType")))
        return Part("attachment", media=media, block=span, text_block=text_block)
    return typed_text(value, span)


def _add_answer(pieces: Sequence[Located], contents: ListContents) -> None:
    """Add the steps of an answer, each followed by its results."""
    for step in _steps(pieces):
        _add_step(_parts_of(step), tuple(span for _, span in step), step, contents)


def _add_old_answer(item: Element, contents: ListContents) -> None:
    """Add an answer before version 4.2: its text and all its calls, followed by the results
    [vercel/ai, packages/ai/core/prompt/convert-to-core-messages.ts].
    """
    value, span, whole = item
    if "content" not in value:
        contents.uncounted += 1
        return
    home, text = span.inside("toolInvocations"), string(value["content"]) or ""
    calls = located(value["toolInvocations"], home)
    # An empty text takes the text that a stage adds; the list of calls has no place for it.
    text_part = Part("text", text, span=span.inside("content"))
    _add_step((text_part, *_parts_of(calls)), (whole,), calls, contents)


def _parts_of(step: Sequence[Located]) -> tuple[Part, ...]:
    """The parts of a step that are sent.

    Calls without a result come last, so that a new result can follow those of other calls.
    """
    pieces = sorted(step, key=lambda piece: waits(piece[0]))
    return tuple(filter(None, starmap(_answer_part, pieces)))


def _add_step(
    parts: tuple[Part, ...],
    spans: tuple[Span, ...],
    pieces: Sequence[Located],
    contents: ListContents,
) -> None:
    """Add an assistant message and the results of its calls."""
    contents.add("assistant", parts, *spans)
    for value, span in pieces:
        result = _result(members(value), span)
        if result:
            contents.add("tool", result, span, value=value)


def _steps(pieces: Sequence[Located]) -> list[list[Located]]:
    """The parts of each step that sends something."""
    steps: list[list[Located]] = [[]]
    is_sent = False
    last_call: Any = None  # the last call of the step, before version 5
    for value, span in pieces:
        if is_sent and _begins(members(value), last_call):
            steps.append([])
            is_sent, last_call = False, None
        steps[-1].append((value, span))
        if members(value).get("toolInvocation") is not None:
            last_call = value["toolInvocation"]
        is_sent = is_sent or _answer_part(value, span) is not None
    if not is_sent:
        rest = steps.pop()
        if steps:
            steps[-1] += rest
    return steps


def _begins(part: dict[str, Any], last_call: Any) -> bool:
    """Whether a part begins a new step: by its type, or after a call before version 5."""
    if part.get("type") == "step-start":
        return True
    if last_call is None:
        return False
    step, call = members(last_call).get("step", 0), members(part.get("toolInvocation"))
    return part.get("type") == "text" or call.get("step", step) != step


def _answer_part(value: Any, span: Span) -> Part | None:
    """A part of an answer; None if it is not sent."""
    part = members(value)
    tool, text = ui_tool(part), part.get("text", part.get("reasoning"))
    if part.get("type") == "reasoning" and isinstance(text, str):
        return Part("reasoning", text, block=span)
    if part.get("type") == "reasoning-file":
        return _text_or_file(part | {"type": "file"}, span)
    if part.get("type") == "custom":
        return json_part(value, span)
    if not tool:
        return _text_or_file(value, span)
    if tool.get("state") in _STREAMED:
        return None
    if tool.get("providerExecuted"):
        return json_part(value, span)
    keys = ("input", "args", "rawInput")
    arguments = next((tool[key] for key in keys if tool.get(key) is not None), None)
    return call_part(dump(arguments), tool.get("toolCallId"), _name(tool), None, span)


def waits(value: Any) -> bool:
    """Whether a part is a call without a result."""
    tool = ui_tool(members(value))
    return bool(tool) and not tool.get("providerExecuted") and tool.get("state") not in _FINISHED


def _name(tool: dict[str, Any]) -> str | None:
    kind = string(tool.get("type")) or ""
    return string(tool.get("toolName")) or kind.removeprefix("tool-") or None


def _result(part: dict[str, Any], span: Span) -> tuple[Part, ...]:
    """The parts of a result; none for any other part or a call without a result."""
    tool = ui_tool(part)
    state, call_id, name = tool.get("state"), string(tool.get("toolCallId")), _name(tool)
    if state not in _FINISHED or tool.get("providerExecuted"):
        return ()
    home = span if tool is part else span.inside("toolInvocation")
    if state == "output-denied":
        reason = string(members(tool.get("approval")).get("reason"))
        place = home.inside("approval", "reason") if reason else None
        return (Part("tool_result", reason or DENIED, call_id, name, True, span=place),)
    if state == "output-error":
        error = tool.get("errorText")
        place = home.inside("errorText") if isinstance(error, str) else None
        text = error if isinstance(error, str) else dump(error)
        return (Part("tool_result", text, call_id, name, True, span=place),)
    key = "output" if "output" in tool else "result"
    return tuple(_output(tool.get(key), home.inside(key), call_id, name))


def _output(value: Any, span: Span, call_id: str | None, name: str | None) -> Iterator[Part]:
    """The parts of an output: a text, the blocks of MCP, or an object that contains a text."""
    blocks = elements(members(value).get("content"))
    if blocks and all(isinstance(members(block).get("type"), str) for block in blocks):
        parts = [_block(*block) for block in located(blocks, span.inside("content"))]
        yield from result_parts(parts, call_id, name, value.get("isError") is True or None)
        return
    response = response_text(value, span)
    place = response.span
    source = None if place is None else span
    yield Part("tool_result", response.text, call_id, name, span=place, source=source)
    if place is not None and isinstance(value, dict):
        rest = dump(value | {str(place.path[-1]): ""})
        yield Part("text", rest, call_id, source=span)


def _block(value: dict[str, Any], span: Span) -> Part:
    if (text := typed_text(value, span)) is not None:
        return text
    media = media_of(value)
    return json_part(value, span) if media is None else Part("attachment", media=media, block=span)
