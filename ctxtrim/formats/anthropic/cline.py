"""Results in histories of Cline: texts of the user after calls of the API.

::

    {"role": "assistant", "content": [{"type": "tool_use", "id", "name", "input"}]}
    {"role": "user", "content": ["[read_file for 'a.py'] Result:", "…", "<environment_details>…"]}

Each string is the text of a block. The text of a result may also follow its label in one block. The
name in brackets may differ from that of the call, so results answer the calls in order. The label
is never removed alone, because it shows that the texts are a result. Feedback in a separate block
is a message of the user. What the person typed as the result of a question is never shortened.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from msgspec.structs import replace

from ctxtrim.formats.anthropic import CLINE_RESULT, CLINE_TAGS
from ctxtrim.formats.fields import members, metadata_in
from ctxtrim.model import Message, Part, Span, Wrapper

_ENVIRONMENT = "<environment_details>"
_LABEL = re.compile(rf"{CLINE_RESULT.pattern}\s*")
# results of questions, and of other tools with what the person typed to accept or deny them
_TYPED = re.compile(
    r"\[(?:ask_followup_question|attempt_completion|plan_mode_respond)\b|.*?\n<feedback>\n",
    re.DOTALL,
)


def with_results(
    messages: Iterable[Message], calls: Sequence[Part], content: Sequence[Any]
) -> Iterator[Message]:
    """The messages of an element of the user after calls, with the texts that are results.

    `content`: its blocks.
    """
    read = list(messages)
    answered = {message.result.call_id for message in read if message.result is not None}
    open_calls = [call for call in calls if call.call_id not in answered]
    index = read[0].index or 0
    for message in read:
        pieces = [message]
        if message.role == "user":
            pieces = list(_split(message, open_calls, content))
            del open_calls[: sum(piece.role == "tool" for piece in pieces)]
        for piece in pieces:
            yield replace(piece, index=index)
            index += 1


def _split(message: Message, calls: Sequence[Part], content: Sequence[Any]) -> Iterator[Message]:
    """The results in a message, and a message with the rest."""
    groups, rest = _grouped(message.parts, len(calls))
    is_whole = any(part.block is None for part in message.parts)  # a part cannot be removed alone
    if is_whole or not groups:
        yield message
        return
    for call, group in zip(calls, groups, strict=False):
        spans = _blocks(group)
        yield Message(
            "tool",
            tuple(_result(group, call)),
            call.name,
            metadata=metadata_in(members(content[int(spans[0].path[-1])])),
            spans=spans,
        )
    if rest:
        is_typed = any(tag in part.text for part in rest for tag in CLINE_TAGS)
        yield replace(message, parts=tuple(rest), spans=_blocks(rest), is_injected=not is_typed)


def _grouped(parts: Iterable[Part], most: int) -> tuple[list[list[Part]], list[Part]]:
    """The parts of each result, of at most so many, and the other parts."""
    groups: list[list[Part]] = []
    rest: list[Part] = []
    is_inside = False  # whether the part before belongs to a result
    for part in parts:
        if len(groups) < most and CLINE_RESULT.match(part.text):
            groups.append([part])
            is_inside = True
        elif is_inside and not _ends(groups[-1], part):
            groups[-1].append(part)
        else:
            rest.append(part)
            is_inside = False
    return groups, rest


def _ends(result: Sequence[Part], part: Part) -> bool:
    """Whether a result ends before a part: the state of the editor, or what the person typed.

    The text right after a label may begin with any tag.
    """
    is_label = len(result) == 1 and _LABEL.fullmatch(result[0].text) is not None
    tags = () if is_label else CLINE_TAGS
    return part.text.lstrip().startswith((_ENVIRONMENT, *tags))


def _result(group: Sequence[Part], call: Part) -> Iterator[Part]:
    """The parts of the result of a call; the first one has the label, which is never edited."""
    head, *others = (replace(part, call_id=call.call_id, name=call.name) for part in group)
    texts = [part.text for part in group if part.media is None]
    label = _LABEL.match(head.text)
    if _TYPED.match("\n".join(texts[:2])):
        for part in (head, *others):
            yield part if part.media is not None else replace(part, kind="tool_result", span=None)
        return
    if label is not None and label.end() < len(head.text):
        wrapper = Wrapper(label[0], "", is_json=False)
        text = head.text[label.end() :]
        yield replace(head, kind="tool_result", text=text, wrapper=wrapper)
    elif others:
        yield replace(head, kind="text", span=None)
        if len(texts) == 1:  # pictures alone
            yield Part("tool_result", "", call.call_id, call.name)
    else:
        yield replace(head, kind="tool_result", span=None)
    for part in others:
        yield part if part.media is not None else replace(part, kind="tool_result")


def _blocks(parts: Sequence[Part]) -> tuple[Span, ...]:
    """The blocks of some parts, of which a block may have several."""
    return tuple(dict.fromkeys(part.block for part in parts if part.block is not None))
