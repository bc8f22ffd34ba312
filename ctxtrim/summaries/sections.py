"""Facts as sections of lines: how they are written, read back, merged and made to fit.

::

    [Summary of 40 earlier messages]
    ## User requests (2 left out)
    > verbatim head of a request
    ## Commands
    - [0] a command and its exit status before it

What was written can be read back, so a later summary is merged with an earlier one and not put on top of it.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from ctxtrim.summaries.excerpts import head
from ctxtrim.tokens import Tokenizer

Merge = Literal["union", "sum", "newest"]


@dataclass(frozen=True, slots=True)
class Section:
    """A kind of facts: its heading, what its lines begin with, how two of them merge and which lines stay longest.

    `union`: the lines of both in order, each once, where it was last said; `sum`: numbers of the same thing are added;
    `newest`: the later one stands alone. `key` is what makes two lines the same.
    """

    name: str
    bullet: str = "- "
    merge: Merge = "union"
    stays: Literal["newest", "first"] = "newest"
    key: Callable[[str], str] = str


def _command(line: str) -> str:
    return line.partition("] ")[2]


REQUESTS = Section("User requests", "> ")
CONSTRAINTS = Section("Constraints", "> ")
CHANGED = Section("Files changed")
READ = Section("Files read")
COMMANDS = Section("Commands", key=_command)
ERRORS = Section("Errors")
TOOLS = Section("Tool calls", merge="sum", stays="first")
DECISIONS = Section("Decisions", "> ")
ANSWERS = Section("Answers", "> ")
NEXT = Section("Announced", "> ", "newest")
EARLIER = Section("Earlier summary", "> ", "newest", "first")
SECTIONS = (REQUESTS, CHANGED, ERRORS, EARLIER, DECISIONS, COMMANDS, CONSTRAINTS, ANSWERS, NEXT, READ, TOOLS)
"""All kinds, those that matter most first: in this order they get room, a line each in turn."""

Layout = tuple[tuple[str | None, tuple[Section, ...]], ...]
"""The order on the page: headings of their own, and the sections under each."""
FACTS: Layout = ((None, (EARLIER, REQUESTS, ANSWERS, CHANGED, READ, COMMANDS, ERRORS, TOOLS, DECISIONS)),)

Lines = Mapping[str, tuple[str, ...]]
_TITLE = re.compile(r"^\[Summary of (\d+) earlier messages?\]$", re.MULTILINE)
_TITLE_LINES = 4  # before the title may stand what a preset puts above a summary
_HEADING = re.compile(r"#{2,3} (.+?)(?: \((\d+) left out\))?")
_COUNTED = re.compile(r"(.*) × (\d+)")
_CHARACTERS = 128  # a token has hardly more: a longer text is not counted to see whether it fits
_QUOTED = 300  # characters of one line of a foreign summary
_NAMES = {section.name: section for section in SECTIONS}


@dataclass(frozen=True)
class Facts:
    """What was said and done in a number of messages: lines and how many were left out, by section."""

    messages: int
    lines: Lines
    left_out: Mapping[str, int]

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to say."""
        return not any(self.lines.values()) and not any(self.left_out.values())


def is_facts(text: str) -> bool:
    """Whether a text is a summary that was written here, so that it can be read back."""
    return any(_TITLE.fullmatch(line) for line in text.split("\n", _TITLE_LINES)[:_TITLE_LINES])


def read(text: str) -> Facts:
    """The facts of a summary; one in foreign words is kept as quoted lines."""
    if not is_facts(text):
        quoted = tuple(head(line, _QUOTED) for line in text.split("\n") if line.strip())
        return Facts(1, {EARLIER.name: quoted}, {})
    lines: dict[str, list[str]] = {}
    left_out: dict[str, int] = {}
    section: Section | None = None
    title = _TITLE.search(text)
    for line in text.split("\n"):
        if line.startswith("#"):
            heading = _HEADING.fullmatch(line)
            section = _NAMES.get(heading[1]) if heading else None
            if section and heading and heading[2]:
                left_out[section.name] = int(heading[2])
        elif section and line.startswith(section.bullet):
            lines.setdefault(section.name, []).append(line.removeprefix(section.bullet))
    return Facts(int(title[1]) if title else 0, {name: tuple(one) for name, one in lines.items()}, left_out)


def merged(earlier: Facts, later: Facts) -> Facts:
    """Two summaries as one: nothing stands twice, and counts are added."""
    lines: dict[str, tuple[str, ...]] = {}
    left_out: dict[str, int] = {}
    for section in SECTIONS:
        name = section.name
        old, new = earlier.lines.get(name, ()), later.lines.get(name, ())
        gone = (earlier.left_out.get(name, 0), later.left_out.get(name, 0))
        if section.merge == "newest":
            lines[name] = new or old
            left_out[name] = gone[1] if new else gone[0]
            continue
        left_out[name] = sum(gone)
        lines[name] = _summed((*old, *new)) if section.merge == "sum" else _united((*old, *new), section.key)
    changed = set(lines[CHANGED.name])
    lines[READ.name] = tuple(path for path in lines[READ.name] if path not in changed)
    return Facts(earlier.messages + later.messages, lines, left_out)


def counted(name: str, number: int) -> str:
    """A line of a section whose numbers are added."""
    return f"{name} × {number}"


def _united(lines: Sequence[str], key: Callable[[str], str]) -> tuple[str, ...]:
    found: dict[str, str] = {}
    for line in lines:
        found.pop(key(line), None)
        found[key(line)] = line
    return tuple(found.values())


def _summed(lines: Sequence[str]) -> tuple[str, ...]:
    numbers: dict[str, int] = {}
    for line in lines:
        if found := _COUNTED.fullmatch(line):
            numbers[found[1]] = numbers.get(found[1], 0) + int(found[2])
    order = sorted(numbers.items(), key=lambda item: (-item[1], item[0]))
    return tuple(counted(name, number) for name, number in order)


def written(facts: Facts, layout: Layout = FACTS) -> str:
    """The text of a summary, with everything in it; empty sections are left out."""
    facts = _shown(facts)
    page = [f"[Summary of {facts.messages} earlier message{'' if facts.messages == 1 else 's'}]"]
    for heading, sections in layout:
        inside = [line for section in sections for line in _spelled(facts, section, "##" if heading is None else "###")]
        if heading is not None and inside:
            page.append(f"## {heading}")
        page += inside
    return "\n".join(page)


def _shown(facts: Facts) -> Facts:
    """The facts without answers, where there is anything else to tell."""
    others = [name for name in (*facts.lines, *facts.left_out) if name != ANSWERS.name]
    if not any(facts.lines.get(name) or facts.left_out.get(name) for name in others):
        return facts
    lines = {name: lines for name, lines in facts.lines.items() if name != ANSWERS.name}
    return Facts(facts.messages, lines, {name: gone for name, gone in facts.left_out.items() if name != ANSWERS.name})


def _spelled(facts: Facts, section: Section, level: str) -> Iterator[str]:
    lines, left_out = facts.lines.get(section.name, ()), facts.left_out.get(section.name, 0)
    if lines or left_out:
        yield f"{level} {section.name}" + (f" ({left_out} left out)" if left_out else "")
        for line in lines:
            yield section.bullet + line


def fitted(facts: Facts, limit: int, tokenizer: Tokenizer, layout: Layout = FACTS) -> str:
    """The text of a summary with at most `limit` tokens, which counts what there is no room for.

    Empty where not one line fits.
    """
    facts = _shown(facts)
    shown = {section.name for _, sections in layout for section in sections}
    if not any(facts.lines.get(name) for name in shown):
        return ""
    whole = written(facts, layout)
    if len(whole) <= _CHARACTERS * limit and tokenizer.count(whole) <= limit:
        return whole
    costs: dict[str, int] = {}
    room = limit
    while room > 0:
        some = _kept(facts, room, tokenizer, layout, costs)
        if not any(some.lines.get(name) for name in shown):
            return ""
        text = written(some, layout)
        over = tokenizer.count(text) - limit
        if over <= 0:
            return text
        room -= over
    return ""


def _kept(facts: Facts, room: int, tokenizer: Tokenizer, layout: Layout, costs: dict[str, int]) -> Facts:
    """The facts that take about `room` tokens: section after section gets a line, until there is no room for more."""

    def cost(line: str) -> int:
        if line not in costs:
            costs[line] = tokenizer.count(line + "\n")
        return costs[line]

    bare = [f"## {heading}" for heading, _ in layout if heading is not None]
    room -= sum(map(cost, (written(Facts(facts.messages, {}, {})), *bare)))
    shown = [section for section in SECTIONS if any(section in sections for _, sections in layout)]
    queues = {section.name: _order(facts.lines.get(section.name, ()), section) for section in shown}
    taken: dict[str, list[int]] = {}
    while queues:
        for section in shown:
            if section.name not in queues:
                continue
            place = next(queues[section.name], None)
            if place is not None:
                price = cost(section.bullet + facts.lines[section.name][place])
                price += 0 if section.name in taken else cost(f"### {section.name} (1000 left out)")
                if price <= room:
                    room -= price
                    taken.setdefault(section.name, []).append(place)
                    continue
            del queues[section.name]
    lines = {name: tuple(facts.lines[name][place] for place in sorted(places)) for name, places in taken.items()}
    left_out: dict[str, int] = {}
    for section in shown:
        name = section.name
        gone = facts.left_out.get(name, 0) + len(facts.lines.get(name, ())) - len(lines.get(name, ()))
        if gone and (name in taken or cost(f"### {name} ({gone} left out)") <= room):
            room -= 0 if name in taken else cost(f"### {name} ({gone} left out)")
            left_out[name] = gone
    return Facts(facts.messages, lines, left_out)


def _order(lines: Sequence[str], section: Section) -> Iterator[int]:
    """The places of lines, those that stay longest first: the newest; of requests the one that opened it is second."""
    places = list(range(len(lines)) if section.stays == "first" else range(len(lines) - 1, -1, -1))
    if section is REQUESTS and len(places) > 2:
        places.insert(1, places.pop())
    return iter(places)
