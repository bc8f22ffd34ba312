"""How items are put into lists of items: what is spelled, where it goes, and what keeps answers apart."""

from collections.abc import Callable, Iterator, Sequence, Set
from typing import Any

from ctxtrim.formats.base import Insertion
from ctxtrim.formats.message_lists import Element
from ctxtrim.formats.openai.items import Kind, State, after, answers, begins, home, kind_of
from ctxtrim.model import Message, Span

APART: dict[str, Any] = {"type": "message", "role": "assistant", "content": []}
"""What stands between two answers that would else be read as one. It says nothing."""

Spell = Callable[[dict[str, Any], Span], Any]
"""How an item is spelled beside the one at a span."""


def spelled(message: Message, call: dict[str, Any] | None) -> dict[str, Any]:
    """A message as an item; `call` is the item that a result answers, where that is known."""
    text = "".join(part.text for part in message.parts)
    result = message.result
    if result is None:
        kind = "output_text" if message.role == "assistant" else "input_text"
        return {"type": "message", "role": message.role, "content": [{"type": kind, "text": text}]}
    if result.call_id is None:
        return {"type": "tool_result", "name": result.name, "result": text}
    kind = "custom_tool_call" if call is not None and call.get("type") == "custom_tool_call" else "function_call"
    return {"type": f"{kind}_output", "call_id": result.call_id, "output": text}


def called(call_id: str | None, near: Span, value_of: Callable[[Span], Any]) -> dict[str, Any] | None:
    """The call with an id, looked for from an item, or the line of one, backwards."""
    line, path = near
    places = (
        (Span(line, (*path[:-1], index)) for index in range(int(path[-1]), -1, -1))
        if path and isinstance(path[-1], int)
        else (Span(index) for index in range(line, -1, -1))
    )
    for place in places:
        item = _item(value_of(place))
        if isinstance(item, dict) and item.get("call_id") == call_id and kind_of(item) == "call":
            return item
    return None


def _item(value: Any) -> Any:
    """The item that a line of Codex holds; anything else is itself."""
    return value.get("payload", value) if isinstance(value, dict) else value


def apart(
    elements: Sequence[Element], removed: Set[Span], inserted: Sequence[Insertion], spell: Spell
) -> list[Insertion]:
    """What is inserted, with what keeps answers apart that would be read as one when what is between them goes."""
    kept = (
        [one.whole for one in items if one.whole not in removed] for kind, items in answers(elements) if kind == "text"
    )
    first = {spans[0] for spans in kept if spans}
    known = {element.whole for element in elements}
    found = [one for one in inserted if one.where not in known or one.replaces]
    state: State = None
    place: Span | None = None
    for element, one in _sequence(elements, removed, inserted):
        kind = kind_of(element.value)
        if kind in ("aside", "unknown"):
            continue
        if home(element) != place:
            state, place = None, home(element)
        if one is not None or element.whole in first:
            where, is_after = (element.whole, False) if one is None else (one.where, one.is_after)
            found += [Insertion(spell(APART, where), where, is_after)] * _lacking(kind, state)
        if one is not None:
            found.append(one)
        state = after(kind)
    return found


def _lacking(kind: Kind, state: State) -> int:
    """How many empty texts must stand before an item so that it does not go on with the answer before it.

    One that follows reasoning belongs to it; one that follows anything else begins an answer.
    """
    if after(kind) is None or begins(kind, state):
        return 0
    return (state == "reasoning") + (kind == "call")


def _sequence(
    elements: Sequence[Element], removed: Set[Span], inserted: Sequence[Insertion]
) -> Iterator[tuple[Element, Insertion | None]]:
    """The items as they will be, those that are inserted each with its insertion."""
    beside: dict[tuple[Span, bool], list[Insertion]] = {}
    for one in inserted:
        if not one.replaces:
            beside.setdefault((one.where, one.is_after), []).append(one)
    for element in elements:
        for one in beside.get((element.whole, False), ()):
            yield Element(_item(one.value), element.at, element.whole), one
        if element.whole not in removed:
            yield element, None
        for one in beside.get((element.whole, True), ()):
            yield Element(_item(one.value), element.at, element.whole), one
