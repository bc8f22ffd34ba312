"""Edits of Anthropic Messages: which elements are removed, inserted messages, and Droid's links."""

from collections.abc import Callable, Mapping, Sequence
from itertools import takewhile
from typing import Any

from ctxtrim.errors import NotEditableError
from ctxtrim.formats.anthropic import is_compaction
from ctxtrim.formats.anthropic.amp import is_summary as is_amp_summary
from ctxtrim.formats.anthropic.blocks import json_value
from ctxtrim.formats.anthropic.detect import ROLES, inner
from ctxtrim.formats.base import BEFORE_SUMMARY, Edit, Insertion, Site
from ctxtrim.formats.message_lists import sent_site
from ctxtrim.formats.message_parts import event_id, is_system_prompt
from ctxtrim.model import Message, Span
from ctxtrim.text.json_paths import Path
from ctxtrim.text.records import dump

_INSIDE = (("message",), ("redact_message",))  # the second: Strands Agents


def owner(array: Path) -> Path | None:
    """An element is removed with the last block of its content, and a system prompt with its last
    block.
    """
    if is_system_prompt(array):
        return array
    is_result = array[-3:-2] == ("content",) and isinstance(array[-2], int)
    if array[-1] != "content" or is_result:
        return None
    return array[:-2] if array[-2:-1] in _INSIDE else array[:-1]


def insert(run: Sequence[Message], site: Site) -> Sequence[Insertion]:
    """Messages as blocks and elements of Anthropic. See `insert_as`."""
    return insert_as(run, site, json_value, _json_value)


def insert_as(
    run: Sequence[Message],
    site: Site,
    block: Callable[[Message], Any],
    element: Callable[[Sequence[Message], Any, int], Any],
) -> list[Insertion]:
    """Results join the results before or after them.

    Other messages become elements before the next message. If the messages before and after share
    an element, it is split: adjacent texts in one element would be one message.

    `block`: a result as a block. `element`: an element of results, or of one other message, from a
    neighbour and its position among the new ones.
    """
    site = sent_site(site, _element)
    earlier, later = site.earlier, site.later
    before = None if earlier is None else _element(earlier.spans[0])
    after = None if later is None else _element(later.spans[0])
    if after is not None and _is_summary(site.value_of(after)):
        raise NotEditableError(BEFORE_SUMMARY)
    is_inside = before is not None and before == after
    results = list(takewhile(_is_result, run))
    rest = run[len(results) :]
    host = next(filter(_is_result, filter(None, (earlier, later))), None)
    insertions: list[Insertion] = []
    if host is not None and (not rest or (host is earlier and not is_inside)):
        is_after = host is earlier
        place = host.spans[-1] if is_after else host.spans[0]
        insertions += (Insertion(block(result), place, is_after) for result in results)
        results = []
    near = before or after or _element(site.last.spans[0]) or _first(site.last)
    neighbour = site.value_of(near) or {}
    answer = [element(results, neighbour, 0)] if results else []
    others = [element([message], neighbour, number) for number, message in enumerate(rest)]
    if later is not None and is_inside:
        cut = later.spans[0]
        return insertions + [Insertion(value, cut, cuts=True) for value in (*answer, *others)]
    is_after = before is not None or after is None
    insertions += (Insertion(value, near, is_after) for value in answer)
    insertions += (Insertion(value, after or near, is_after=after is None) for value in others)
    return insertions


def _is_result(message: Message) -> bool:
    return message.role == "tool"


def _is_summary(element: object) -> bool:
    """Whether an element is a summary that Droid or Amp sends first, wherever it is."""
    return is_compaction(element) or is_amp_summary(element)


def _element(span: Span) -> Span | None:
    """The element that contains a span; None for the system prompt, which is outside the list."""
    if is_system_prompt(span.path):
        return None
    element_path = owner(span.path[:-1]) if span.path[-2:-1] == ("content",) else None
    return span if element_path is None else Span(span.line, element_path)


def _first(system: Message) -> Span:
    """The span of the first element, for a conversation with only a system prompt."""
    return system.spans[0].outer.inside("messages", 0)


def _json_value(
    messages: Sequence[Message], neighbour: Mapping[str, Any], number: int
) -> dict[str, Any]:
    """An element of results, or of one other message, in the form of the neighbouring element."""
    first = messages[0]
    role = first.role if first.role in ROLES else "user"
    blocks = [json_value(message) for message in messages]
    if not inner(neighbour)[2] and not is_compaction(neighbour):
        content = blocks if first.role == "tool" else blocks[0]["text"]
        return {"role": role, "content": content}
    if "role" in neighbour:  # Cursor
        return {"role": role, "message": {"content": blocks}}
    name = event_id(neighbour.get("id"), dump(blocks), number)
    envelope = {"type": "message"} if "type" in neighbour else {}
    envelope |= {key: neighbour[key] for key in ("timestamp",) if key in neighbour}
    return envelope | {"id": name, "parentId": None, "message": {"role": role, "content": blocks}}


def relink(edit: Edit) -> Edit:
    """The edit with updated links, if elements name their parents as Droid writes them."""
    is_linked = any(isinstance(value, dict) and "parentId" in value for value in edit.values)
    if not is_linked:
        return edit
    from ctxtrim.formats.anthropic.droid import GRAPH  # for its sessions only

    return GRAPH.relink(edit)
