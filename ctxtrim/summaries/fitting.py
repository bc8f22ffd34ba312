"""The facts of a summary that fit its limit: which lines of which sections are kept."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence

from ctxtrim.summaries.sections import (
    ANSWER,
    EARLIER,
    FACTS,
    GAP,
    REQUESTS,
    SECTIONS,
    Facts,
    Outline,
    Section,
    facts_text,
    heading_of,
)
from ctxtrim.tokens.tokenizer import Tokenizer

_CHARACTERS = 128  # characters per token, an upper bound: longer texts do not fit and need no count
_NUMBERED = re.compile(r"[#*>\s-]*\(?\d{1,3}[.):]")
_REPLY = 15  # characters: shorter requests are replies such as "yes" and "go on"
_SHARES = ((EARLIER, 0.45), (REQUESTS, 0.4), (ANSWER, 0.35))
"""The part of the room that some sections take, one after the other, before all take turns."""


def fitted(facts: Facts, limit: int, tokenizer: Tokenizer, layout: Outline = FACTS) -> str:
    """The text of a summary in at most `limit` tokens, which counts the lines left out.

    Empty if not one line fits.
    """
    facts = _of_layout(facts, layout)
    if not any(facts.lines.values()):
        return ""
    whole = facts_text(facts, layout)
    if len(whole) <= _CHARACTERS * limit and tokenizer.count(whole) <= limit:
        return whole
    costs: dict[str, int] = {}
    room = limit
    while room > 0:
        kept = _kept(facts, room, tokenizer, layout, costs)
        if not any(kept.lines.values()):
            return ""
        text = facts_text(kept, layout)
        over = tokenizer.count(text) - limit
        if over <= 0:
            return text
        room -= over
    return ""


def _of_layout(facts: Facts, layout: Outline) -> Facts:
    """The facts in the sections of a layout."""
    names = {section.name for _, sections in layout for section in sections}
    lines = {name: texts for name, texts in facts.lines.items() if name in names}
    left_out = {name: number for name, number in facts.left_out.items() if name in names}
    return Facts(facts.messages, lines, left_out)


def _kept(
    facts: Facts, room: int, tokenizer: Tokenizer, layout: Outline, costs: dict[str, int]
) -> Facts:
    """The facts that take about `room` tokens, and the numbers of lines left out."""

    def cost(line: str) -> int:
        if line not in costs:
            costs[line] = tokenizer.count(line + "\n")
        return costs[line]

    bare = [f"## {heading}" for heading, _ in layout if heading is not None]
    room -= sum(map(cost, (facts_text(Facts(facts.messages, {}, {})), *bare)))
    shown = [section for section in SECTIONS if any(section in sections for _, sections in layout)]
    taken, room = _taken(facts, shown, room, cost)
    lines: dict[str, tuple[str, ...]] = {}
    left_out: dict[str, int] = {}
    for section in shown:
        name = section.name
        if name in taken:
            every, positions = facts.lines[name], sorted(taken[name])
            lines[name] = (
                chosen_lines(every, positions)
                if section.is_text
                else tuple(every[position] for position in positions)
            )
        missing = _number(facts.lines.get(name, ())) - _number(lines.get(name, ()))
        missing += facts.left_out.get(name, 0)
        if not missing or (section is ANSWER and name not in taken):
            continue
        price = 0 if name in taken else cost(f"### {heading_of(section, missing)}")
        if price <= room:
            room -= price
            left_out[name] = missing
    return Facts(facts.messages, lines, left_out)


def _number(lines: Iterable[str]) -> int:
    """The number of lines, without gaps."""
    return sum(line != GAP for line in lines)


def chosen_lines(lines: Sequence[str], positions: Iterable[int]) -> tuple[str, ...]:
    """The lines of a text at some positions, in order, with gaps where lines are left out."""
    chosen: list[str] = []
    expected = 0
    for position in sorted(positions):
        if position > expected:
            chosen.append(GAP)
        chosen.append(lines[position])
        expected = position + 1
    if expected < len(lines):
        chosen.append(GAP)
    return tuple(chosen)


def _taken(
    facts: Facts, shown: Sequence[Section], room: int, cost: Callable[[str], int]
) -> tuple[dict[str, list[int]], int]:
    """By section, the positions of the lines that fit into `room` tokens, and the rest of the room.

    Some sections take their share first. Then sections take turns, one line each; texts get the
    rest. A section whose next line does not fit takes no other.
    """
    queues = {section.name: _order(facts.lines.get(section.name, ()), section) for section in shown}
    taken: dict[str, list[int]] = {}
    rest = room

    def take(section: Section) -> None:
        """Take the next line of a section if it fits."""
        nonlocal rest
        name = section.name
        position = next(queues.get(name, iter(())), None)
        if position is None:
            queues.pop(name, None)
            return
        price = cost(section.bullet + facts.lines[name][position])
        if name not in taken:
            price += cost(f"### {heading_of(section, facts.left_out.get(name, 0))}")
        if price > rest:
            del queues[name]
            return
        rest -= price
        taken.setdefault(name, []).append(position)

    for section, share in _SHARES:
        least = rest - share * rest
        while section.name in queues and rest > least:
            take(section)
    facts_only = [section for section in shown if not section.is_text]
    for sections in (facts_only, shown):
        while any(section.name in queues for section in sections):
            for section in sections:
                take(section)
    return taken, rest


def _order(lines: Sequence[str], section: Section) -> Iterator[int]:
    """The positions of lines in the order in which they are kept: newest first, with the opening
    request second and requests of a word or two last.
    """
    if section.keeps == "points":
        return iter(text_order(lines))
    if section.keeps == "ends":
        return iter(_from_ends(lines))
    positions = list(
        range(len(lines)) if section.keeps == "first" else range(len(lines) - 1, -1, -1)
    )
    if section is not REQUESTS:
        return iter(positions)
    replies = [position for position in positions if len(lines[position]) < _REPLY]
    requests = [position for position in positions if len(lines[position]) >= _REPLY]
    if len(requests) > 2:
        requests.insert(1, requests.pop())
    return iter(requests + replies)


def text_order(lines: Sequence[str]) -> list[int]:
    """The positions of the lines of a text in the order in which they are kept, without gaps: the
    first line, numbered ones, since replies name their numbers, then two of the head for each of
    the tail.
    """
    places = [position for position, line in enumerate(lines) if line != GAP]
    numbered = [position for position in places if _NUMBERED.match(lines[position])]
    order = [*places[:1], *numbered]
    first, last = 0, len(places) - 1
    while first <= last:
        order += places[first : first + 2]
        order.append(places[last])
        first, last = first + 2, last - 1
    return list(dict.fromkeys(order))


def _from_ends(lines: Sequence[str]) -> list[int]:
    """The positions of lines from both ends, without gaps: two of the tail for each of the head,
    since the end of an earlier summary is current work.
    """
    places = [position for position, line in enumerate(lines) if line != GAP]
    order: list[int] = []
    first, last = 0, len(places) - 1
    while first <= last:
        order += reversed(places[max(first, last - 1) : last + 1])
        order.append(places[first])
        first, last = first + 1, last - 2
    return list(dict.fromkeys(order))
