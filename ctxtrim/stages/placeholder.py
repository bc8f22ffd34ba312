"""Texts that replace tool results: a template of the user, or a text made from facts about the
result.

Each such text is recognizable, so a second run does not change it.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache

from ctxtrim.clipping.markers import marker
from ctxtrim.conversation.tool_results import ToolResult, lines_of, trace_id
from ctxtrim.evidence.one_line import is_summary_line, line_of_result
from ctxtrim.evidence.tool_kinds import kind_of_tool, paths_of
from ctxtrim.findings import Finding
from ctxtrim.model import Message, Transcript
from ctxtrim.text.graphemes import cut_before
from ctxtrim.text.hashing import sha256_of

MODES = ("placeholder", "stub", "head", "summary")
PLACEHOLDER = "[content truncated - {age} steps ago]"
POINTER = '[TRUNCATED — full output in get_task_trace(traceId="{id}")]'
FILE = "[File: {path} ({lines} lines) - content truncated, use {tool} to re-read]"
RESULT = "[{tool}: {lines} lines, {tokens} tokens - content truncated]"
COPY = "[same content as the newer result {id} of {tool}]"
NAMELESS_COPY = "[same content as a newer result of {tool}]"
READ_AGAIN = "[read again in the newer result {id} of {tool}]"
NAMELESS_READ_AGAIN = "[read again in a newer result of {tool}]"

_OWN = (PLACEHOLDER, FILE, RESULT, COPY, NAMELESS_COPY, READ_AGAIN, NAMELESS_READ_AGAIN)
"""All templates except those of a user."""

_KEYS = {
    "age": r"\d+",
    "N": r"\d+",
    "tokens": r"[≈≤]?\d+",
    "lines": r"\d+",
    "tool": r"[^\n]*?",
    "path": r"[^\n]*?",
    "id": r"[^\n]*?",
    "sha256": r"[0-9a-f]{64}",
}
_KEY = re.compile(r"\{(\w+)\}")
_LONGEST = 200  # characters that a name or a path may take
_LINE = 400  # characters of a line that are shown, where the first lines are


PlaceholderValues = Mapping[str, Callable[[], object]]
"""What returns the value of each key of a template. Only the keys of the template are computed."""


def check_template(template: str) -> None:
    """Raise a `ValueError` for a text that UTF-8 cannot encode, and for an unknown key."""
    if any("\ud800" <= character <= "\udfff" for character in template):
        raise ValueError("expected text in UTF-8")
    unknown = [key for key in _KEY.findall(template) if key not in _KEYS]
    if unknown:
        raise ValueError(
            f"unknown key {{{unknown[0]}}}; expected {', '.join(f'{{{key}}}' for key in _KEYS)}"
        )
    if _KEY.search(template) and not _KEY.sub("", template).strip():
        raise ValueError("keys alone could be any text; add words, as in [see {id}]")


def check_pointer(template: str) -> None:
    """Raise a `ValueError` for a template that is empty or blank, as the end of any text is."""
    check_template(template)
    if not template.strip():
        raise ValueError("a pointer needs words, as in [cut]")


def filled(template: str, values: PlaceholderValues) -> str:
    """A template filled with values of a result."""

    def spelled(match: re.Match[str]) -> str:
        value = values.get(match[1])
        return _on_a_line(match[0] if value is None else str(value()))

    return _KEY.sub(spelled, template)


def is_filled(template: str, text: str) -> bool:
    """Whether a text is a filled template."""
    if not text.startswith(_beginning(template)):  # as almost always
        return False
    longest = len(template) + template.count("{") * (_LONGEST + 1)
    return len(text) <= longest and _pattern(template).fullmatch(text) is not None


@lru_cache(32)
def _beginning(template: str) -> str:
    """The beginning of a template, before its first key."""
    return _KEY.split(template)[0]


@lru_cache(32)
def _beginnings(placeholder: str) -> tuple[str, ...]:
    """How the texts of the placeholder and of the own templates begin."""
    return tuple(set(map(_beginning, (placeholder, *_OWN))))


def first_lines(text: str, lines: int) -> list[str]:
    """The first lines of a text."""
    return text.split("\n", lines)[:lines]


@dataclass(frozen=True)
class Replacement:
    """How results are replaced: the mode and its texts.

    `lines`: for mode `head`, the number of first lines before the pointer. `assigns`: give ids to
    results without one.
    """

    mode: str
    placeholder: str
    pointer: str
    lines: int
    assigns: bool

    def of(self, result: ToolResult, tokens: Callable[[], str] = str) -> str:
        """The text that replaces a result. `tokens` returns its cost as reports write it."""
        values = _values(result, tokens)
        if self.mode == "stub":
            return filled(FILE if _is_read(result) and values["path"]() else RESULT, values)
        if self.mode == "head":
            lines = map(_capped, first_lines(result.text, self.lines))
            return "\n".join((*lines, filled(self.pointer, values)))
        if self.mode == "summary":
            return line_of_result(result)
        return filled(self.placeholder, values)

    def is_done(self, text: str) -> bool:
        """Whether a text is already a replacement."""
        if is_filled(self.pointer, text[text.rfind("\n") + 1 :]) or is_summary_line(text):
            return True
        return text.startswith(_beginnings(self.placeholder)) and any(
            is_filled(template, text) for template in (self.placeholder, *_OWN)
        )

    def lacks_id(self, result: ToolResult) -> bool:
        """Whether a pointer to a result is impossible because the result has no id."""
        return (
            result.id is None
            and self.mode == "head"
            and "{id}" in self.pointer
            and not self.assigns
        )


def no_trace_id(transcript: Transcript, message: Message) -> Finding:
    """The finding for a result to which a pointer is impossible."""
    text = (
        "a tool result has no trace id, so a pointer to it is impossible; add an id or use "
        "--assign-ids. The transcript is unchanged"
    )
    return Finding("no-trace-id", "error", text, transcript.line_of(message), message.index)


def copy_text(newest: ToolResult) -> str:
    """The text that replaces a result that a newer one repeats."""
    return filled(NAMELESS_COPY if newest.id is None else COPY, _values(newest, str))


def read_again_text(newest: ToolResult) -> str:
    """The text for a read of a file that a newer result shows in full."""
    return filled(NAMELESS_READ_AGAIN if newest.id is None else READ_AGAIN, _values(newest, str))


def _values(result: ToolResult, tokens: Callable[[], str]) -> PlaceholderValues:
    """The values of the keys of templates."""

    def path() -> str:
        paths = paths_of(result.call) if result.call else ()
        return paths[0] if paths else ""

    return {
        "age": lambda: result.age,
        "N": lambda: result.age,
        "tokens": tokens,
        "lines": lambda: lines_of(result.text),
        "tool": lambda: result.tool,
        "path": path,
        "id": lambda: result.id or trace_id(result.text),
        "sha256": lambda: sha256_of(result.text),
    }


def _is_read(result: ToolResult) -> bool:
    """Whether a result shows a file, so that calling the tool again shows it again."""
    return kind_of_tool(result.tool, result.call.text if result.call else "") == "read"


def _capped(line: str) -> str:
    """A line whose rest is removed if it is long, with the number of removed characters."""
    end = cut_before(line, _LINE)
    mark = f" {marker(0, len(line) - end)}"
    return line if len(line) - end <= len(mark) else line[:end] + mark


def _on_a_line(text: str) -> str:
    """A name, a path or another value on one line, without its end if it is long."""
    text = " ".join(text.split())
    return text if len(text) <= _LONGEST else f"{text[: cut_before(text, _LONGEST)]}…"


@lru_cache(32)
def _pattern(template: str) -> re.Pattern[str]:
    patterns: list[str] = []
    for number, part in enumerate(_KEY.split(template)):
        if number % 2:
            patterns.append(_KEYS.get(part, re.escape(f"{{{part}}}")))
        else:
            patterns.append(re.escape(part))
    return re.compile("".join(patterns))
