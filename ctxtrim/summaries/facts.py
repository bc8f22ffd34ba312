"""The facts of a conversation without an LLM: what was asked, done and decided, in the words that were used.

Nothing is invented: headings, marks and counts apart, every word was said. Decisions, constraints and what was
announced are lines that say so in English; in other languages requests, files, commands and errors remain.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from ctxtrim.conversation.tool_results import result_text, tool_of
from ctxtrim.conversation.turns import Shape
from ctxtrim.evidence import Told, command_of, error_line, exit_code, is_error, kind_of_tool, told_by
from ctxtrim.evidence.tool_kinds import accesses
from ctxtrim.model import Message, Part
from ctxtrim.summaries.excerpts import head
from ctxtrim.summaries.markers import is_digest
from ctxtrim.summaries.redaction import redacted
from ctxtrim.summaries.sections import (
    ANSWERS,
    CHANGED,
    COMMANDS,
    CONSTRAINTS,
    DECISIONS,
    ERRORS,
    FACTS,
    NEXT,
    READ,
    REQUESTS,
    TOOLS,
    Facts,
    Layout,
    Section,
    counted,
    fitted,
    is_facts,
    merged,
    read,
)
from ctxtrim.tokens import Tokenizer

__all__ = ["facts", "facts_of", "gathered", "is_facts"]

_LENGTHS = {REQUESTS: 400, CONSTRAINTS: 240, COMMANDS: 200, ERRORS: 240, DECISIONS: 240, NEXT: 240, ANSWERS: 240}
_LENGTH = 300  # characters of a line of any other section
_REACH = 1 << 16  # characters of a text that are looked through for lines
_DECIDED = re.compile(
    r"\b(?:decision|decided)\b\s*:"
    r"|\b(?:i|we)(?:['’]ve| have)? (?:decided|chose|opted|settled on|agreed)\b"
    r"|\b(?:i|we)(?:['’]ll| will|['’]m going to| am going to|['’]re going to)"
    r" (?:use|go with|keep|switch|stick|avoid|skip)\b"
    r"|\blet['’]?s (?:use|go with|keep|switch|stick|avoid|skip)\b|\b(?:going|went) with\b|\binstead of\b",
    re.IGNORECASE,
)
_CONSTRAINED = re.compile(
    r"\b(?:must|never|always|don['’]t|do not|should not|shouldn['’]t|only|prefer|without|avoid|make sure|keep)\b",
    re.IGNORECASE,
)
_TAG = re.compile(r"\s*</?[\w-]+>\s*")  # some tools put their output between such lines
_ANNOUNCED = re.compile(
    r"^\W*(?:next(?: steps?)?\b|todo\b|remaining\b|then i|now i|i(?:['’]ll| will) (?:now|next)|(?:still|we) need to\b)",
    re.IGNORECASE,
)
_SECTIONS = {"read": READ, "write": CHANGED, "edit": CHANGED, "delete": CHANGED}
"""By what a call does to a file."""


class _Fact(NamedTuple):
    section: Section
    line: str


def facts(
    messages: Sequence[Message],
    where: Shape,
    limit: int,
    tokenizer: Tokenizer,
    earlier: str | None = None,
    redacts: bool = True,
    layout: Layout = FACTS,
) -> str:
    """The facts of some messages, and of an earlier summary, in at most `limit` tokens.

    `where` is the shape of exactly these messages. Empty where nothing fits, or where the text would be longer than
    what it replaces. Summaries among the messages are merged too, hidden messages are
    left out. `redacts`: secrets are masked.
    """
    found = facts_of(messages, where, earlier, redacts)
    text = fitted(found, limit, tokenizer, layout)
    most = _weighed(messages, earlier, tokenizer, tokenizer.count(text))
    return text if most is None else fitted(found, most, tokenizer, layout)


def facts_of(messages: Sequence[Message], where: Shape, earlier: str | None = None, redacts: bool = True) -> Facts:
    """All facts of some messages, and of an earlier summary, in order."""
    found = gathered(messages, where, redacts)
    return found if earlier is None else merged(_masked(read(earlier), redacts), found)


def _weighed(messages: Iterable[Message], earlier: str | None, tokenizer: Tokenizer, least: int) -> int | None:
    """The tokens of what is replaced where they are fewer than `least`, else None; counted no further than needed."""
    tokens = 0
    texts = (part.spelled for message in messages if message.agent_visible for part in message.parts)
    for text in (*((earlier,) if earlier is not None else ()), *texts):
        tokens += tokenizer.count(text)
        if tokens >= least:
            return None
    return tokens


def gathered(messages: Sequence[Message], where: Shape, redacts: bool = True) -> Facts:
    """The facts of some messages in order; a summary that stands among them is one of what was before it."""
    before = Facts(0, {}, {})
    lines: dict[Section, list[str]] = {}
    calls: dict[str, int] = {}
    number = 0
    for place, message in enumerate(messages):
        if not message.agent_visible:
            continue
        said = "\n".join(part.text for part in message.parts if part.kind == "text")
        if message.is_summary or (message.role == "user" and is_facts(said)):
            before = merged(merged(before, _settled(lines, calls, number)), _masked(read(said), redacts))
            lines, calls, number = {}, {}, 0
            continue
        if message.role == "user" and is_digest(said):
            for told in filter(None, map(told_by, said.split("\n"))):
                calls[told.tool] = calls.get(told.tool, 0) + 1
                for section, line in _retold(told):
                    lines.setdefault(section, []).append(_line(line, section, redacts))
            continue
        number += 1
        for call in message.calls:
            calls[call.name or "?"] = calls.get(call.name or "?", 0) + 1
        for section, line in _told(message, said, where.call[place]):
            lines.setdefault(section, []).append(_line(line, section, redacts))
    return merged(before, _settled(lines, calls, number))


def _settled(lines: dict[Section, list[str]], calls: dict[str, int], number: int) -> Facts:
    tools = tuple(counted(" ".join(name.split()), times) for name, times in calls.items())
    return Facts(number, {section.name: tuple(some) for section, some in lines.items()} | {TOOLS.name: tools}, {})


def _told(message: Message, said: str, call: Part | None) -> Iterator[_Fact]:
    """What one message tells."""
    if message.role == "user" and not message.is_injected and said.strip():
        yield _Fact(REQUESTS, said)
        yield from _stated(said, {CONSTRAINTS: _CONSTRAINED.search})
    elif message.role == "assistant" and said.strip():
        if not any(message.calls) and message.action is None:
            yield _Fact(ANSWERS, said)
        yield from _stated(said, {DECISIONS: _DECIDED.search, NEXT: _ANNOUNCED.match})
    elif message.role == "tool":
        yield from _done(message, call)


def _stated(said: str, kinds: dict[Section, Callable[[str], object]]) -> Iterator[_Fact]:
    """The lines outside of code that say what is looked for."""
    is_code = False
    for line in said[:_REACH].split("\n"):
        if line.lstrip().startswith("```"):
            is_code = not is_code
        elif not is_code and line.strip():
            for section, states in kinds.items():
                if states(line):
                    yield _Fact(section, line)


def _done(message: Message, call: Part | None) -> Iterator[_Fact]:
    """What a tool result tells of its call."""
    text = result_text(message)
    name = tool_of(message, call) or "?"
    is_failure = is_error(message)
    if call and (command := command_of(call)) and command.strip():
        yield _Fact(COMMANDS, f"[{_status(message, text, is_failure)}] {command}")
    if call and not is_failure:
        for path, kind in accesses(call):
            if kind in _SECTIONS and path.strip():
                yield _Fact(_SECTIONS[kind], path)
    if is_failure and (line := _failure(text)):
        yield _Fact(ERRORS, f"{name}: {line}")


def _retold(told: Told) -> Iterator[_Fact]:
    """What a line of a digest tells."""
    kind = kind_of_tool(told.tool, "")
    status = told.exit_code if told.exit_code is not None else "✗" if told.is_error else "✓"
    if kind == "bash" and told.asked:
        yield _Fact(COMMANDS, f"[{status}] {told.asked}")
    elif kind in _SECTIONS and told.asked and not told.is_error:
        yield _Fact(_SECTIONS[kind], told.asked)
    if told.error:
        yield _Fact(ERRORS, f"{told.tool}: {told.error}")


def _failure(text: str) -> str:
    """The line that says best what went wrong: the one that shows an error, or the last before an exit code."""
    start, end = error_line(text) or (0, 0)
    shown = text[start:end]
    if shown and exit_code(shown) is None:
        return shown
    lines = [line for line in (text[-_REACH:] if shown else text[:_REACH]).split("\n") if line.strip()]
    others = [line for line in lines if exit_code(line) is None and not _TAG.fullmatch(line)]
    return (others[-1] if shown else others[0]) if others else shown


def _status(message: Message, text: str, is_failure: bool) -> str:
    """How a command ended: its exit code, else a mark."""
    code = exit_code(text)
    if code is not None:
        return str(code)
    is_known = any(part.is_error is not None for part in message.parts)
    return "✗" if is_failure else "✓" if is_known else "?"


def _line(text: str, section: Section, redacts: bool) -> str:
    """A text as a line of a section, masked before it is cut."""
    text = " ".join(text.split())
    return head(redacted(text)[0] if redacts else text, _LENGTHS.get(section, _LENGTH))


def _masked(found: Facts, redacts: bool) -> Facts:
    """The facts of an earlier summary without keys."""
    if not redacts:
        return found
    lines = {name: tuple(redacted(line)[0] for line in some) for name, some in found.lines.items()}
    return Facts(found.messages, lines, found.left_out)
