"""The facts of a conversation, extracted by rules: requests, actions and decisions in the original
words.

Apart from headings, marks and counts, every word is quoted. Decisions, constraints and
announcements are found by English phrases; requests, files, commands and errors are found in any
language.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from ctxtrim.conversation.tasks import is_typed
from ctxtrim.conversation.tool_results import result_text, tool_name
from ctxtrim.conversation.turns import Shape
from ctxtrim.evidence.errors import is_error
from ctxtrim.evidence.key_info import failed_test
from ctxtrim.evidence.one_line import SummaryFields, parse_summary_line
from ctxtrim.evidence.shell_writes import written_paths
from ctxtrim.evidence.tool_kinds import accesses, command_of, kind_of_tool
from ctxtrim.model import Message, Part
from ctxtrim.summaries.digests import counted_tools
from ctxtrim.summaries.excerpts import head
from ctxtrim.summaries.fitting import chosen_lines, fitted, text_order
from ctxtrim.summaries.markers import is_digest
from ctxtrim.summaries.outcomes import (
    failure_line,
    hidden_failure,
    mark_of,
    reply_of_person,
    status,
)
from ctxtrim.summaries.redaction import redacted
from ctxtrim.summaries.sections import (
    ANSWER,
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
    Outline,
    Section,
    counted,
    is_facts,
    merged,
    parse_facts,
)
from ctxtrim.tokens.tokenizer import Tokenizer

_LENGTHS = {
    REQUESTS: 400,
    CONSTRAINTS: 240,
    COMMANDS: 200,
    ERRORS: 240,
    DECISIONS: 240,
    NEXT: 240,
}
_LENGTH = 300  # characters of a line of any other section
_ANSWER = 1000  # characters of the newest answer
_ANSWER_LENGTHS = (240, 120)  # characters of one of its lines; fewer if they are too many
_REACH = 1 << 16  # characters of a text that are searched for lines
_DECIDED = re.compile(
    r"\b(?:decision|decided)\b\s*:"
    r"|\b(?:i|we)(?:['’]ve| have)? (?:decided|chose|opted|settled on|agreed)\b"
    r"|\b(?:i|we)(?:['’]ll| will|['’]m going to| am going to|['’]re going to)"
    r" (?:use|go with|keep|switch|stick|avoid|skip)\b"
    r"|\blet['’]?s (?:use|go with|keep|switch|stick|avoid|skip)\b|\b(?:going|went) "
    r"with\b|\binstead of\b",
    re.IGNORECASE,
)
_CONSTRAINED = re.compile(
    r"\b(?:must|never|always|don['’]t|do not|should "
    r"not|shouldn['’]t|only|prefer|without|avoid|make sure|keep)\b",
    re.IGNORECASE,
)
_ANNOUNCED = re.compile(
    r"^\W*(?:next(?: steps?)?\b|todo\b|remaining\b|then i|now i|i(?:['’]ll| will) "
    r"(?:now|next)|(?:still|we) need to\b)",
    re.IGNORECASE,
)
_SECTIONS = {"read": READ, "write": CHANGED, "edit": CHANGED, "delete": CHANGED}
"""The section of a file, by what a call does to it."""


class _Fact(NamedTuple):
    section: Section
    line: str


def facts_summary(
    shape: Shape,
    limit: int,
    tokenizer: Tokenizer,
    earlier: str | None = None,
    *,
    redacts: bool,
    layout: Outline = FACTS,
) -> str:
    """The summary of the facts of some messages and of an earlier summary, in at most `limit`
    tokens.

    Empty if nothing fits, or if the text would be longer than the text that it replaces. Summaries
    among the messages are merged; hidden messages are left out. `redacts`: mask secrets.
    """
    all_facts = facts_of(shape, earlier, redacts=redacts)
    text = fitted(all_facts, limit, tokenizer, layout)
    replaced = _tokens_replaced(shape.messages, earlier, tokenizer, tokenizer.count(text))
    return text if replaced is None else fitted(all_facts, replaced, tokenizer, layout)


def _tokens_replaced(
    messages: Iterable[Message], earlier: str | None, tokenizer: Tokenizer, least: int
) -> int | None:
    """The tokens of the replaced text if they are fewer than `least`, else None.

    Counting stops early.
    """
    texts = [] if earlier is None else [earlier]
    for message in messages:
        if message.agent_visible:
            texts += [part.spelled for part in message.parts]
    tokens = 0
    for text in texts:
        tokens += tokenizer.count(text)
        if tokens >= least:
            return None
    return tokens


def facts_of(shape: Shape, earlier: str | None = None, *, redacts: bool) -> Facts:
    """All facts of an earlier summary and of some messages, in order.

    A summary among the messages counts as the facts before it.
    """
    before = Facts(0, {}, {}) if earlier is None else _earlier_facts(earlier, redacts=redacts)
    collector = _Collector(redacts)
    for position, message in enumerate(shape.messages):
        if not message.agent_visible:
            continue
        text = "\n".join([part.text for part in message.parts if part.kind == "text"])
        if message.is_summary or (message.role == "user" and is_facts(text)):
            before = merged(merged(before, collector.facts), _earlier_facts(text, redacts=redacts))
            collector = _Collector(redacts)
        elif message.role == "user" and is_digest(text):
            collector.add_digest(text)
        else:
            collector.add_message(message, text, shape.call[position])
    return merged(before, collector.facts)


class _Collector:
    """The facts of messages between two summaries."""

    def __init__(self, redacts: bool) -> None:
        self._redacts = redacts
        self._lines: dict[Section, list[str]] = {}
        self._calls: Counter[str] = Counter()
        self._messages = 0
        self._answer = ""

    def add_message(self, message: Message, text: str, call: Part | None) -> None:
        """Add the facts of a message with this text; `call`: the call that it answers, if any."""
        self._messages += 1
        self._calls.update([own.name or "?" for own in message.calls])
        self._add(_facts_in(message, text, call))

    def add_digest(self, text: str) -> None:
        """Add the facts of digests. The messages that they replace do not count."""
        for line in text.split("\n"):
            fields = parse_summary_line(line)
            if fields is None:
                self._calls.update(counted_tools(line))
            else:
                self._calls[fields.tool] += 1
                self._add(_facts_in_digest(fields))

    def _add(self, new_facts: Iterable[_Fact]) -> None:
        for section, line in new_facts:
            if section is ANSWER:
                self._answer = line
            else:
                self._lines.setdefault(section, []).append(_line(line, section, self._redacts))

    @property
    def facts(self) -> Facts:
        """The facts so far."""
        lines = {section.name: tuple(texts) for section, texts in self._lines.items()}
        lines[TOOLS.name] = tuple(
            counted(" ".join(name.split()), times) for name, times in self._calls.items()
        )
        lines[ANSWER.name], left_out = _answer_lines(self._answer, redacts=self._redacts)
        return Facts(self._messages, lines, {ANSWER.name: left_out} if left_out else {})


def _facts_in(message: Message, text: str, call: Part | None) -> Iterator[_Fact]:
    """The facts in one message."""
    if is_typed(message) and text.strip():
        yield _Fact(REQUESTS, text)
        yield from _matching_lines(text, {CONSTRAINTS: _CONSTRAINED.search})
    elif message.role == "system" and message.continues and text.strip():
        yield _Fact(REQUESTS, f"[system] {text}")
    elif message.role == "assistant" and text.strip():
        if not message.calls and message.action is None and any(map(str.isalnum, text)):
            yield _Fact(ANSWER, text)
        yield from _matching_lines(text, {DECISIONS: _DECIDED.search, NEXT: _ANNOUNCED.match})
    elif message.role == "tool":
        yield from _facts_in_result(message, call)


def _matching_lines(text: str, kinds: dict[Section, Callable[[str], object]]) -> Iterator[_Fact]:
    """The lines outside of code that match a kind."""
    is_code = False
    for line in text[:_REACH].split("\n"):
        if line.lstrip().startswith("```"):
            is_code = not is_code
        elif not is_code and line.strip():
            for section, states in kinds.items():
                if states(line):
                    yield _Fact(section, line)


def _facts_in_result(message: Message, call: Part | None) -> Iterator[_Fact]:
    """The facts in a tool result and its call."""
    text = result_text(message)
    name = tool_name(message.result, call)
    command = command_of(call) if call else None
    failed = failed_test(text, call) if call else None
    is_failure = failed is not None or is_error(message)
    hidden = None if is_failure else hidden_failure(command or "", text)
    if command and command.strip():
        is_known = any(part.is_error is not None for part in message.parts)
        has_failed = is_failure or hidden is not None
        mark = status(command, text, is_failure=has_failed, is_known=is_known)
        yield _Fact(COMMANDS, f"[{mark}] {command}")
    if call and not is_failure:
        for path, kind in accesses(call):
            if kind in _SECTIONS and path.strip():
                yield _Fact(_SECTIONS[kind], path)
        if command and hidden is None and kind_of_tool(call.name) == "bash":
            yield from (_Fact(CHANGED, path) for path in written_paths(command))
    if is_failure and (reply := reply_of_person(text)):
        yield _Fact(REQUESTS, reply)
        yield from _matching_lines(reply, {CONSTRAINTS: _CONSTRAINED.search})
    elif failed is not None:
        yield _Fact(ERRORS, f"{name}: {text[slice(*failed)]}")
    elif is_failure and (line := failure_line(text)):
        yield _Fact(ERRORS, f"{name}: {line}")
    elif hidden is not None:
        yield _Fact(ERRORS, f"{name}: {hidden}")


def _facts_in_digest(fields: SummaryFields) -> Iterator[_Fact]:
    """The facts in a line of a digest."""
    kind = kind_of_tool(fields.tool, "")
    mark = mark_of(fields.exit_code, is_failure=fields.is_error)
    if kind == "bash" and fields.subject:
        yield _Fact(COMMANDS, f"[{mark}] {fields.subject}")
    elif kind in _SECTIONS and fields.subject and not fields.is_error:
        yield _Fact(_SECTIONS[kind], fields.subject)
    if fields.error:
        yield _Fact(ERRORS, f"{fields.tool}: {fields.error}")


def _line(text: str, section: Section, redacts: bool) -> str:
    """A text as a line of a section, masked before it is cut."""
    text = " ".join(text.split())
    return head(redacted(text, redacts), _LENGTHS.get(section, _LENGTH))


def _answer_lines(text: str, *, redacts: bool) -> tuple[tuple[str, ...], int]:
    """The most important lines of an answer, with gaps, and the number of the other lines.

    Lines without letters and digits, such as rules, do not count.
    """
    whole = redacted(text, redacts)
    texts = [line for line in whole.split("\n") if any(map(str.isalnum, line))]
    lines: list[str] = []
    for length in _ANSWER_LENGTHS:
        lines = [head(line, length) for line in texts]
        if sum(map(len, lines)) <= _ANSWER:
            break
    positions: list[int] = []
    room = _ANSWER
    for position in text_order(lines):
        room -= len(lines[position])
        if room < 0:
            break
        positions.append(position)
    chosen = chosen_lines(lines, positions)
    masked = tuple(redacted(line, redacts) for line in chosen)
    return masked, len(lines) - len(positions)


def _earlier_facts(text: str, *, redacts: bool) -> Facts:
    """The facts of an earlier summary without secrets; one in another layout is masked before its
    lines are cut.
    """
    facts = parse_facts(text if is_facts(text) else redacted(text, redacts))
    lines = {}
    for name, texts in facts.lines.items():
        lines[name] = tuple(redacted(text, redacts) for text in texts)
    return Facts(facts.messages, lines, facts.left_out)
