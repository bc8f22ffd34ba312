"""Gemini API contents: `{"contents": [{role, parts}], "systemInstruction"?, "tools"?, "model"?}`, or one a line.

The same lists stand under `history` (checkpoints of Gemini CLI), `request.contents` (batches) and, one inside each
event, under `events` (Agent Development Kit). Keys are spelled in camel or snake case. Calls seldom have ids, so they
are paired by order. What the model wrote as thought counts as reasoning, and its signature by its length.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from ctxtrim.formats.base import Insertion, Site
from ctxtrim.formats.gemini.parts import (
    ROLES,
    SPELLED,
    element_of,
    is_content,
    is_media,
    messages_of,
    part_of,
    put,
    spelled_content,
    text_part,
)
from ctxtrim.formats.ids import made_id
from ctxtrim.formats.message_lists import Dialect, Element, Envelope, Found
from ctxtrim.formats.request_options import gemini_options
from ctxtrim.formats.usage import gemini_usage, is_complete
from ctxtrim.model import Message, Span
from ctxtrim.text.json_paths import Path
from ctxtrim.text.records import dump

_SYSTEM = ("systemInstruction", "system_instruction")
_EVENT = ("invocation_id", "invocationId", "timestamp")  # what an inserted event takes over from the one beside it


def knows(value: object) -> bool:
    """A content, or an event that holds one."""
    return is_content(value) or (isinstance(value, dict) and "author" in value and is_content(value.get("content")))


def read(elements: Sequence[Element], found: Found) -> None:
    """The messages of each content. Parts of a message that is still streamed are no context: the whole follows."""
    for value, at, whole in elements:
        inner, home = _content(value, at)
        if inner is None:
            continue
        name = inner.get("role")
        role = ROLES.get(name) if name is None or isinstance(name, str) else None
        parts = inner.get("parts")
        if role is None:
            found.uncounted += 1
            continue
        if value.get("partial") is True:
            continue
        pieces = [(part, home.inside("parts", place)) for place, part in enumerate(parts or ())]
        messages = messages_of(role, pieces, (whole,), len(found.messages))
        if role == "assistant" and is_complete(value):
            usage = gemini_usage(value.get("usageMetadata", value.get("usage_metadata")), len(found.messages))
            if usage is not None:
                found.usages.append(usage)
        found.messages += messages


def _content(value: Any, at: Span) -> tuple[dict[str, Any] | None, Span]:
    """The content that an element is or holds, and where it stands; None where it is none."""
    if isinstance(value, dict):
        inner = value.get("content")
        if isinstance(inner, dict):
            value, at = inner, at.inside("content")
        if "role" in value or "parts" in value:
            return (value, at) if isinstance(value.get("parts", []), list) else (None, at)
    return None, at


def envelope(value: dict[str, Any], at: Span) -> Envelope:
    """The system instruction, tools, the choice among them and the model, beside the contents or under `config`."""
    around = [(value, at)]
    if isinstance(value.get("config"), dict):
        around.append((value["config"], at.inside("config")))
    members = {key: inner for outer, _ in reversed(around) for key, inner in outer.items()}
    tools, model, name = members.get("tools"), members.get("model", members.get("modelVersion")), members.get("id")
    return Envelope(
        dump(tools) if tools and isinstance(tools, list) else None,
        _choice(members),
        model if isinstance(model, str) else None,
        name if isinstance(name, str) else None,
        gemini_usage(members.get("usageMetadata", members.get("usage_metadata"))),
        tuple(_system(around)),
        gemini_options(members),
    )


def _system(around: Sequence[tuple[dict[str, Any], Span]]) -> Iterator[Message]:
    for outer, at in around:
        for key in _SYSTEM:
            inner, where = outer.get(key), at.inside(key)
            if isinstance(inner, str):
                pieces = [(inner, where)]
            elif isinstance(inner, dict) and isinstance(inner.get("parts"), list):
                pieces = [(part, where.inside("parts", place)) for place, part in enumerate(inner["parts"])]
            elif isinstance(inner, dict) and isinstance(inner.get("parts"), dict):  # the API takes a single part too
                pieces = [(inner["parts"], where.inside("parts"))]
            else:
                continue
            parts = tuple(part_of(part, place, False) for part, place in pieces)
            yield Message("system", parts, index=0, spans=(where,))
            return


def _choice(members: dict[str, Any]) -> str | None:
    """The name of the only function allowed, or a word like `auto` and `none`."""
    config = members.get("toolConfig", members.get("tool_config"))
    inner = (
        config.get("functionCallingConfig", config.get("function_calling_config")) if isinstance(config, dict) else 0
    )
    mode = inner.get("mode") if isinstance(inner, dict) else None
    if not isinstance(inner, dict) or not isinstance(mode, str):
        return None
    names = inner.get("allowedFunctionNames", inner.get("allowed_function_names"))
    only = names[0] if isinstance(names, list) and len(names) == 1 else None
    return only if mode == "ANY" and isinstance(only, str) else mode.lower()


def owner(array: Path) -> Path | None:
    """A content goes when the last of its parts goes, and an event with its content."""
    if array[-1] != "parts":
        return None
    if is_media(array):
        return array
    return array[:-2] if array[-2:-1] == ("content",) else array[:-1]


def insert(run: Sequence[Message], site: Site) -> Sequence[Insertion]:
    """Each message as a content of its own, results together in one; see `put`."""
    return put(run, site, _home, ("parts",), _spelled)


def _home(span: Span) -> Span | None:
    """The element that a message stands in; the system instruction stands in none."""
    if any(key in span.path for key in _SYSTEM):
        return None
    outer = element_of(span, ("content", "parts"))
    return outer if outer != span else element_of(span, ("parts",))


def _spelled(messages: Sequence[Message], near: Any, number: int) -> dict[str, Any]:
    """Messages of one role as a content; as an event with one, where the one beside it is an event."""
    content = spelled_content(messages)
    if not isinstance(near, dict) or not isinstance(near.get("content"), dict):
        return content
    name = made_id(near.get("id"), dump(content), number)
    author = near.get("author") if messages[0].role in ("assistant", "tool") else SPELLED[messages[0].role]
    return {key: near[key] for key in _EVENT if key in near} | {"author": author, "content": content, "id": name}


DIALECT = Dialect(
    "gemini",
    knows,
    read,
    envelope,
    owner,
    insert,
    places=("contents", "history", "events", "request.contents", "[*].contents", "[*].history", "[*].events", ""),
    must_alternate=True,
    text_block=text_part,
)
