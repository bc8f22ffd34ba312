"""Facts as sections of lines: write, parse and merge them.

::

    [Summary of 40 earlier messages]
    ## User requests (2 left out)
    > verbatim head of a request
    ## Commands
    - [✓] a command, after the mark of its outcome

A written summary can be parsed, so a later summary is merged with it, not appended to it.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Literal

from msgspec import Struct

from ctxtrim.loading import lazy_pattern
from ctxtrim.summaries.excerpts import head
from ctxtrim.text.numbers import most_first

Merge = Literal["union", "sum", "newest"]


class Section(Struct, frozen=True):
    """A kind of facts: its heading, its bullet, how two sections merge, and which lines are kept
    longest.

    `union`: the lines of both in order, each once, at its last occurrence; `sum`: counts of the
    same line are added; `newest`: only the later section is kept. `key` identifies equal lines.
    `points` and `ends`: the lines are those of one text, of which head and tail are kept; of
    `points`, numbered ones come before them.
    """

    name: str
    bullet: str = "- "
    merge: Merge = "union"
    keeps: Literal["newest", "first", "points", "ends"] = "newest"
    key: Callable[[str], str] = str

    @property
    def is_text(self) -> bool:
        """Whether the lines are those of one text, with a gap for the lines left out."""
        return self.keeps in ("points", "ends")


def _command(line: str) -> str:
    return line.partition("] ")[2]


REQUESTS = Section("User requests", "> ")
CONSTRAINTS = Section("Constraints", "> ")
CHANGED = Section("Files changed")
READ = Section("Files read")
COMMANDS = Section("Commands", key=_command)
ERRORS = Section("Errors")
TOOLS = Section("Tool calls", merge="sum", keeps="first")
DECISIONS = Section("Decisions", "> ")
ANSWER = Section("Last answer", "> ", "newest", "points")
NEXT = Section("Announced", "> ", "newest")
EARLIER = Section("Earlier summary", "> ", "newest", "ends")
SECTIONS = (
    REQUESTS,
    ANSWER,
    CHANGED,
    ERRORS,
    EARLIER,
    DECISIONS,
    COMMANDS,
    CONSTRAINTS,
    NEXT,
    READ,
    TOOLS,
)
"""All kinds, most important first. They get room in this order, one line at a time."""

Outline = tuple[tuple[str | None, tuple[Section, ...]], ...]
"""The order of headings, and the sections under each."""
FACTS: Outline = (
    (None, (EARLIER, REQUESTS, ANSWER, CHANGED, READ, COMMANDS, ERRORS, TOOLS, DECISIONS)),
)
CHECKPOINT: Outline = (
    ("Goal", (REQUESTS,)),
    ("Constraints & Preferences", (CONSTRAINTS,)),
    ("Progress", (ANSWER, CHANGED, READ, COMMANDS, TOOLS)),
    ("Key Decisions", (DECISIONS,)),
    ("Next Steps", (NEXT,)),
    ("Critical Context", (ERRORS, EARLIER)),
)
"""The headings that an LLM uses for the checkpoint of a compaction."""
HEADINGS = tuple(heading for heading, _ in CHECKPOINT if heading)

SectionLines = Mapping[str, tuple[str, ...]]
_TITLE = lazy_pattern(r"^\[Summary of (\d+) earlier messages?\]$", re.MULTILINE)
_TITLE_LINES = 4  # presets may put lines above the title
_HEADING = lazy_pattern(r"#{2,3} (.+?)(?: \((\d+)(?: lines?)? left out\))?")
_COUNTED = lazy_pattern(r"(.*) × (\d+)")
_QUOTED = 240  # characters of one line of a summary in another layout
_AROUND = lazy_pattern(
    r"This session is being continued from a previous conversation"
    r"|Please continue the conversation from where we left it off"
    r"|Another language model started to solve this problem"
    r"|The conversation history before this point was compacted"
    r"|The following is a summary and serialized record of earlier conversation"
)
_BEGIN = ("Summary:", "<summary>")
_TAG = lazy_pattern("</?(?:summary|conversation-checkpoint|recent-context)>")
_NAMES = {section.name: section for section in SECTIONS}
GAP = "[…]"
"""The line in place of lines of a text that are left out."""


class Facts(Struct, frozen=True):
    """The facts of a number of messages: by section, the lines and the number of lines left out."""

    messages: int
    lines: SectionLines
    left_out: Mapping[str, int]

    @property
    def is_empty(self) -> bool:
        """Whether there are no facts."""
        return not any(self.lines.values()) and not any(self.left_out.values())


def is_facts(text: str) -> bool:
    """Whether a text is a summary in this layout, so that it can be parsed."""
    return any(_TITLE.fullmatch(line) for line in text.split("\n", _TITLE_LINES)[:_TITLE_LINES])


def parse_facts(text: str) -> Facts:
    """The facts of a summary. A summary in another layout becomes quoted lines."""
    if not is_facts(text):
        return Facts(1, {EARLIER.name: _quoted(text)}, {})
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
    return Facts(
        int(title[1]) if title else 0,
        {name: tuple(texts) for name, texts in lines.items()},
        left_out,
    )


def _quoted(text: str) -> tuple[str, ...]:
    """The lines of a summary in another layout, without what agent programs write around it.

    Claude Code keeps the model's analysis before the summary, which repeats it.
    """
    lines = [line.strip() for line in text.split("\n") if any(map(str.isalnum, line))]
    lines = [line for line in lines if not _AROUND.match(line)]
    if lines[:1] in (["Analysis:"], ["<analysis>"]):
        start = next((place for place, line in enumerate(lines) if line in _BEGIN), -1)
        lines = lines[start + 1 :]
    return tuple(head(line, _QUOTED) for line in lines if not _TAG.fullmatch(line))


def merged(earlier: Facts, later: Facts) -> Facts:
    """Two summaries as one, without duplicate lines and with added counts."""
    lines: dict[str, tuple[str, ...]] = {}
    left_out: dict[str, int] = {}
    for section in SECTIONS:
        name = section.name
        old, new = earlier.lines.get(name, ()), later.lines.get(name, ())
        left_out_counts = (earlier.left_out.get(name, 0), later.left_out.get(name, 0))
        if section.merge == "newest":
            lines[name] = new or old
            left_out[name] = left_out_counts[1] if new else left_out_counts[0]
            continue
        left_out[name] = sum(left_out_counts)
        lines[name] = (
            _summed((*old, *new)) if section.merge == "sum" else _united((*old, *new), section.key)
        )
    changed = set(lines[CHANGED.name])
    lines[READ.name] = tuple(path for path in lines[READ.name] if path not in changed)
    return Facts(earlier.messages + later.messages, lines, left_out)


def counted(name: str, number: int) -> str:
    """A name with its count."""
    return f"{name} × {number}"


def parse_counted(text: str) -> dict[str, int]:
    """The name and the count in such a text; empty for any other text."""
    match = _COUNTED.fullmatch(text)
    return {match[1]: int(match[2])} if match else {}


def _united(lines: Sequence[str], key: Callable[[str], str]) -> tuple[str, ...]:
    lines_by_key: dict[str, str] = {}
    for line in lines:
        lines_by_key.pop(key(line), None)
        lines_by_key[key(line)] = line
    return tuple(lines_by_key.values())


def _summed(lines: Sequence[str]) -> tuple[str, ...]:
    totals: Counter[str] = Counter()
    for line in lines:
        totals.update(parse_counted(line))
    return tuple(counted(name, count) for name, count in most_first(totals))


def facts_text(facts: Facts, layout: Outline = FACTS) -> str:
    """The text of a summary with all facts; empty sections are left out."""
    page = [f"[Summary of {facts.messages} earlier message{'' if facts.messages == 1 else 's'}]"]
    for heading, sections in layout:
        inside: list[str] = []
        for section in sections:
            inside += _spelled(facts, section, "##" if heading is None else "###")
        if heading is not None and inside:
            page.append(f"## {heading}")
        page += inside
    return "\n".join(page)


def _spelled(facts: Facts, section: Section, level: str) -> Iterator[str]:
    lines, left_out = facts.lines.get(section.name, ()), facts.left_out.get(section.name, 0)
    if lines or left_out:
        yield f"{level} {heading_of(section, left_out)}"
        for line in lines:
            yield section.bullet + line


def heading_of(section: Section, left_out: int) -> str:
    """The heading of a section, with the number of facts or lines left out."""
    if not left_out:
        return section.name
    if not section.is_text:
        return f"{section.name} ({left_out} left out)"
    return f"{section.name} ({left_out} line{'' if left_out == 1 else 's'} left out)"
