"""Responses and outputs of OpenAI's Responses API among messages of Chat Completions.

mini-swe-agent stores each response as an element, next to plain messages:

::

    {"role": "user", "content": "…", "extra"?}
    {"object": "response", "output": [item, …], "model", "usage", "extra", …}
    {"type": "function_call_output", "call_id", "output", "extra"}

It sends the items of the responses and the other elements, all without `extra`. The responses
repeat its one tool. It is not read, because it would be lost with the last of them.
[SWE-agent/mini-swe-agent 2, src/minisweagent/models/litellm_response_model.py]
"""

from typing import Any

from ctxtrim.formats.fields import elements, string
from ctxtrim.formats.message_lists import Element, ListContents
from ctxtrim.formats.openai.item_kinds import kind_of
from ctxtrim.formats.openai.item_parts import answer_parts, needs_reasoning, with_needed_reasoning
from ctxtrim.formats.openai.items import after, read_items
from ctxtrim.formats.usage import responses_usage
from ctxtrim.model import Message, Part, Span


def add_item(value: dict[str, Any], span: Span, contents: ListContents) -> None:
    """Add a response as one answer, or an output as a result."""
    if value.get("object") != "response":
        read_items([Element(value, span, span)], contents)
        return
    parts: list[Part] = []
    is_needed = False
    for position, item in enumerate(elements(value.get("output"))):
        item_span = span.inside("output", position)
        if after(kind_of(item)) is None:
            contents.uncounted += 1
        else:
            parts += answer_parts(item, item_span, item_span)
            is_needed = is_needed or needs_reasoning(item)
    if not parts:  # nothing is sent
        return
    index = len(contents.messages)
    message = Message("assistant", tuple(parts), index=index, spans=(span,))
    contents.messages.append(with_needed_reasoning(message) if is_needed else message)
    contents.model = string(value.get("model")) or contents.model
    contents.add_usage(responses_usage(value.get("usage"), index))
