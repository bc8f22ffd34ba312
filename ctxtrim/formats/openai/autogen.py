"""Edits of messages of AutoGen 0.2 and AG2 with several results.

::

    {"role": "tool", "content": "one\\n\\ntwo",
     "tool_responses": [{"tool_call_id", "role": "tool", "content": "one"}, …]}

AutoGen sends the responses instead of such a message, whose content joins theirs. Before a message
with another role, which a person wrote during calls, it sends the responses too.
[microsoft/autogen 0.2, `ConversableAgent._generate_oai_reply_from_client`]
"""

from collections.abc import Iterator, Sequence
from typing import Any

from msgspec.structs import replace

from ctxtrim.formats.base import Edit, Insertion
from ctxtrim.formats.fields import members
from ctxtrim.formats.openai import RESPONSES
from ctxtrim.formats.openai.chat_results import CONTENT
from ctxtrim.model import Span
from ctxtrim.text.records import dump


def with_copies(edit: Edit) -> Edit:
    """The edit with contents that join the responses, and without messages that lose all."""
    removed = set(edit.removed)
    changes: list[tuple[Span, dict[str, Any]]] = []
    for message in set(_messages(edit)):
        content, value = message.inside(CONTENT), edit.value_at(message)
        if content not in edit.removed and value.get("role") != "tool":
            continue  # its own content stays
        texts = [_text(response) for response in _responses(edit, message, value[RESPONSES])]
        if texts:
            removed.discard(content)
            changes.append((message, {"role": "tool", CONTENT: "\n\n".join(texts)}))
        else:
            removed.add(message)
    return replace(edit.with_members(changes), removed=removed)


def _messages(edit: Edit) -> Iterator[Span]:
    """The messages with responses of which an edit changes a response or removes the content."""
    for span in edit.changed:
        if RESPONSES in span.path:
            yield Span(span.line, span.path[: span.path.index(RESPONSES)])
    for span in edit.removed:
        message = span.outer
        if span.path[-1:] == (CONTENT,) and RESPONSES in edit.value_at(message):
            yield message


def _responses(edit: Edit, message: Span, responses: Sequence[Any]) -> Iterator[Any]:
    """The responses of a message after an edit."""
    spans = (message.inside(RESPONSES, index) for index in range(len(responses)))
    for item in edit.in_order(spans):
        yield item.value if isinstance(item, Insertion) else edit.copy_at(item)


def _text(response: Any) -> str:
    content = members(response).get(CONTENT)
    return content if isinstance(content, str) else dump(content)
