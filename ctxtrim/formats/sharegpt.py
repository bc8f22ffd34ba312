"""ShareGPT: `{"conversations": [{"from", "value"}], "system"?, "tools"?}`, or an array of these.

`tools` is JSON as a string.

A `function_call` contains `{"name", "arguments"}` (or an array of them) as a JSON string. The
arguments are the call's text; the rest is its frame. Hermes writes calls into the text, in
`<tool_call>` tags. If a result follows, they are also read as calls, but counted as text. There are
no ids, so an `observation` answers the nearest call before it. The answer right before a `tool` or
`function` turn is the call itself, in any notation (ToolACE, ToolBench). `chosen` and `rejected`
are single answers next to the conversation and are not read.
"""

import json
from collections.abc import Iterable, Sequence
from typing import Any

from ctxtrim.formats.fields import identifier, members, string
from ctxtrim.formats.message_lists import Dialect, Element, Envelope, ListContents, each_as
from ctxtrim.formats.message_parts import call_part, system_prompt, text_of
from ctxtrim.formats.request_options import marks_in, unread_media
from ctxtrim.loading import lazy_function
from ctxtrim.model import Message, Part, Role, Span
from ctxtrim.model.request import RequestOptions
from ctxtrim.summaries.markers import leads_of
from ctxtrim.text.json_paths import each_element
from ctxtrim.text.records import dump

ROLES: dict[object, Role] = {
    "human": "user",
    "user": "user",
    "gpt": "assistant",
    "assistant": "assistant",
    "chatgpt": "assistant",
    "model": "assistant",
    "bing": "assistant",
    "bard": "assistant",
    "system": "system",
    "function_call": "assistant",
    "function-call": "assistant",
    "tool_call": "assistant",
    "reasoning": "assistant",
    "observation": "tool",
    "tool": "tool",
    "function": "tool",
    "function_response": "tool",
    "function-response": "tool",
    "tool_response": "tool",
}
_CALLS = ("function_call", "function-call", "tool_call")
_ANSWER_TEXTS = ("tool", "function")  # senders of results whose calls may be texts of answers
_SPELLED = {"user": "human", "assistant": "gpt", "system": "system", "tool": "observation"}
_DECODER = json.JSONDecoder()
_TAG, _END = "<tool_call>", "</tool_call>"


def knows(value: object) -> bool:
    """Whether a value is a message with a known `from` and a string `value`."""
    return (
        isinstance(value, dict)
        and ROLES.get(_sender(value)) is not None
        and isinstance(value.get("value"), str)
    )


def read(elements: Iterable[Element], contents: ListContents) -> None:
    """Read one message per element."""
    elements = list(elements)
    for number, (value, span, whole) in enumerate(elements):
        name = _sender(value)
        role = ROLES.get(name)
        if role is None or not isinstance(value.get("value"), str):
            contents.uncounted += members(value).get("from") is not None
            continue
        contents.uncounted += bool(value.get("tool_calls"))  # of no known program
        text, inner_span = value["value"], span.inside("value")
        action = None
        if role == "tool":
            parts = [Part("tool_result", text, span=inner_span)]
        elif name in _CALLS:
            parts = calls_in(text, inner_span)
        elif name == "reasoning":
            parts = [Part("reasoning", text, span=inner_span)]
        else:
            parts = [Part("text", text, span=inner_span)]
            next_sender = _sender_at(elements, number + 1) if role == "assistant" else None
            if _TAG in text and ROLES.get(next_sender) == "tool":
                parts += map(_tagged, _texts_in_tags(text))
            elif next_sender in _ANSWER_TEXTS:
                action = Part("tool_call", text)
        continues = role == "assistant" and _sender_at(elements, number - 1) == "reasoning"
        contents.add(role, parts, whole, value=value, continues=continues, action=action)


def _sender(value: Any) -> str | None:
    """The sender of a message in lower case; NeMo writes `User` and `Assistant`."""
    name = value.get("from") if isinstance(value, dict) else None
    return name.lower() if isinstance(name, str) else None


def _sender_at(elements: Sequence[Element], number: int) -> str | None:
    """The sender of an element; None before the first one and after the last one."""
    return _sender(elements[number].value) if 0 <= number < len(elements) else None


def _texts_in_tags(text: str) -> list[str]:
    """The texts in `<tool_call>` tags, without those that a digest at the beginning quotes.

    Linear, also without ends, which a pattern is not.
    """
    fragments = (leads_of(text).own or "").split(_END)[:-1]
    return [fragment.partition(_TAG)[2].strip() for fragment in fragments if _TAG in fragment]


def _tagged(text: str) -> Part:
    """A call inside a text. The text counts its tokens."""
    value = _json(text)
    return Part("tool_call", name=value["name"] if _is_call(value) else None)


def calls_in(text: str, span: Span, block: Span | None = None) -> list[Part]:
    """The calls in a JSON string: one object, or an array of several.

    Other text is a call without a name. The arguments keep their original JSON text, because the
    token count depends on it.
    """
    value = _json(text)
    calls: dict[tuple[int, ...], Any] = {(): value}
    if isinstance(value, list):
        calls = {(index,): call for index, call in enumerate(value)}
    if not calls or not all(map(_is_call, calls.values())):
        return [Part("tool_call", text, span=span, block=block)]
    keys = {
        path: "arguments" if "arguments" in call else "parameters" for path, call in calls.items()
    }
    from ctxtrim.text.splice import locate  # for several texts that quote each other only

    starts = locate(text, [(*path, key) for path, key in keys.items()])
    parts = []
    for path, call in calls.items():
        arguments, start = call.get(keys[path]), starts.get((*path, keys[path]))
        if start is not None and isinstance(arguments, (dict, list)):
            arguments = text[start : _DECODER.raw_decode(text, start)[1]]
        parts.append(call_part(arguments, None, call["name"], None, block))
    return parts


def _json(text: str) -> Any:
    try:
        return _DECODER.decode(text)
    except (ValueError, RecursionError):
        return None


def _is_call(value: Any) -> bool:
    return isinstance(value, dict) and isinstance(value.get("name"), str)


def tools_in(value: Any) -> str | None:
    """Tool schemas as JSON text, from JSON or from a string that contains JSON."""
    if isinstance(value, str):
        schemas = _json(value)
        if schemas is None and value.strip():
            return dump(value)  # a description in prose
        return value if schemas else None
    return dump(value) if value and isinstance(value, (list, dict)) else None


def envelope(value: dict[str, Any], span: Span) -> Envelope:
    """The tools, model and id next to the messages. A system prompt there comes first."""
    return Envelope(
        tools_in(value.get("tools")),
        model=string(value.get("model")),
        id=identifier(value.get("id")),
        preamble=system_prompt(value.get("system") or None, span.inside("system")),
        options=RequestOptions(unread=tuple(unread_media(value))),
        marks=marks_in(value),
    )


def _json_value(message: Message) -> dict[str, Any]:
    return {"from": _SPELLED[message.role], "value": text_of(message.parts)}


_IN_VALUES = (("messages",), ("conversation",), ("items",))
_OTHER_PLACES = (*_IN_VALUES, *(tuple(map(each_element, places)) for places in _IN_VALUES))

DIALECT = Dialect(
    "sharegpt",
    knows,
    read,
    each_as(_json_value),
    envelope=envelope,
    places=("conversations", "[*].conversations", ""),
    other_places=_OTHER_PLACES,
    must_alternate=True,
    relink=lazy_function("ctxtrim.formats.media_marks:relink"),
    links_texts=True,
)
