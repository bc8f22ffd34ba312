"""Messages of typed blocks, as Goose, Crush, Kiro and Bedrock store them.

An element may contain several messages: each result is a message, and so is each run of other
blocks. Blocks that are not sent belong to a message next to them. An element without any message is
not sent.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from ctxtrim.formats.base import Insertion, Site
from ctxtrim.formats.fields import Located, members
from ctxtrim.formats.message_lists import ListContents, element_of, insert_around
from ctxtrim.formats.message_parts import event_id, text_of
from ctxtrim.model import Message, Part, Role, Span


def add_messages(
    role: Role,
    pieces: Iterable[Located],
    contents: ListContents,
    part: Callable[[Any, Span], Part | None],
    result: Callable[[Any, Span], tuple[Part, ...]],
) -> None:
    """Add the messages of an element.

    `part` returns what is sent of a block, `result` the parts of a result; none for any other
    block.
    """
    start = len(contents.messages)
    parts: list[Part] = []
    spans: list[Span] = []  # of the blocks since the last message
    for value, span in pieces:
        answer = result(value, span)
        if answer:
            if parts:
                contents.add(role, parts, *spans)
                parts, spans = [], []
            contents.add("tool", answer, *spans, span, value=value)
            spans = []
        else:
            spans.append(span)
            new_part = part(value, span)
            if new_part is not None:
                parts.append(new_part)
    if parts:
        contents.add(role, parts, *spans)
    elif spans and len(contents.messages) > start:
        contents.change(-1, spans=(*contents.messages[-1].spans, *spans))


def insert_blocks(
    run: Sequence[Message],
    site: Site,
    key: str,
    spell: Callable[[Message, Mapping[str, Any], str | None], Any],
) -> list[Insertion]:
    """Each message as an element, in the form of a neighbour and with a new id if that has an id.

    `key` is the member with the blocks. An element around new messages is split; its second half
    gets a new id too.
    """

    def element(span: Span) -> Span:
        return element_of(span, (key,))

    def value(message: Message, neighbour: Any, number: int) -> Any:
        neighbour = members(neighbour)
        return spell(message, neighbour, _new_id(neighbour, text_of(message.parts), number))

    def half(neighbour: Any, cut: Span, number: int) -> dict[str, Any]:
        rest = {name: value for name, value in neighbour.items() if name != key}
        half_id = _new_id(neighbour, str(cut.path), number)
        return rest if half_id is None else rest | {"id": half_id}

    return insert_around(run, site, element, value, half)


def _new_id(neighbour: Mapping[str, Any], content: str, number: int) -> str | None:
    """An id for a new element, None if its neighbour has none."""
    return event_id(neighbour["id"], content, number) if "id" in neighbour else None
