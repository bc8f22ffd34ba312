"""One-line summaries of tool results: `[✓ bash: npm test | exit 0 | 214 lines]`, `[❌ …]` for a
failure.
"""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from ctxtrim.conversation.tool_results import ToolResult
from ctxtrim.evidence.key_info import KeyInfo, extract_key_info

LONGEST = 200
"""The maximum characters of a summary line, brackets included."""

_LINE = re.compile(r"\[[✓❌] [^\n]* \| (?:partial \| )?\d+ lines?\]")
_EXIT = re.compile(r"exit -?\d+")
_MATCHES = re.compile(r"\d+ match(?:es)?")
_NAME = 40  # characters of the tool's name
_SUBJECT = 80  # characters of the subject


def line_of_result(result: ToolResult) -> str:
    """The summary line of a tool result."""
    arguments = result.call.text if result.call is not None else None
    info = extract_key_info(result.text, result.tool, arguments, result.is_error)
    return summary_line(info, result.tool)


def summary_line(info: KeyInfo, tool_name: str | None) -> str:
    """A line of at most 200 characters: status, tool, subject of the call and size
    of the output.
    """
    subject = info.command
    if info.kind in ("read", "write", "edit", "delete") and info.paths:
        suffix = f" +{len(info.paths) - 1}" if len(info.paths) > 1 else ""
        subject = _short(info.paths[0], _SUBJECT - len(suffix), is_path=True) + suffix
    elif subject is None and info.kind == "search" and info.paths:
        subject = info.paths[0]
    line = f"[{'❌' if info.status == 'error' else '✓'} {_short(tool_name or 'tool', _NAME)}"
    subject = _short(subject or "", _SUBJECT)
    if subject:
        line += f": {subject}"
    if info.exit_code is not None:
        line += f" | exit {info.exit_code}"
    if info.matches is not None:
        line += f" | {info.matches} {'match' if info.matches == 1 else 'matches'}"
    tail = " | partial" if info.status == "partial" else ""
    tail += f" | {info.lines} {'line' if info.lines == 1 else 'lines'}]"
    error = _short(info.error or "", LONGEST - len(line) - len(tail) - len(" | "))
    return line + (f" | {error}" if error else "") + tail


def is_summary_line(text: str) -> bool:
    """Whether a text is a summary line, so that a second run does not change it."""
    return len(text) <= LONGEST and _LINE.fullmatch(text) is not None


@dataclass(frozen=True, slots=True)
class SummaryFields:
    """The fields of a summary line: tool, subject of the call and status."""

    tool: str
    subject: str
    is_error: bool
    exit_code: int | None
    error: str


def parse_summary_line(line: str) -> SummaryFields | None:
    """The fields of a summary line; None for any other text."""
    if not is_summary_line(line):
        return None
    fields = line[3:-1].split(" | ")[:-1]
    if len(fields) > 1 and fields[-1] == "partial":
        fields.pop()
    is_error = line[1] == "❌"
    exits = [place for place in range(1, len(fields)) if _EXIT.fullmatch(fields[place])]
    code: int | None = None
    if exits:
        code = int(fields[exits[-1]].removeprefix("exit "))
        call, error = fields[: exits[-1]], fields[exits[-1] + 1 :]
    elif is_error and len(fields) > 1:
        call, error = fields[:-1], fields[-1:]
    else:
        call, error = fields, []
    tool, _, subject = _without_matches(call).partition(": ")
    return SummaryFields(tool, subject, is_error, code, _without_matches(error) if is_error else "")


def _without_matches(fields: Sequence[str]) -> str:
    return " | ".join(text for text in fields if not _MATCHES.fullmatch(text))


def _short(text: str, limit: int, is_path: bool = False) -> str:
    """A text on one line, cut with `…` at its end; a path is cut at its beginning."""
    text = text[-4 * LONGEST :] if is_path else text[: 4 * LONGEST]
    plain_text = "".join(character if character.isprintable() else " " for character in text)
    text = " ".join(plain_text.split())
    if len(text) <= limit:
        return text
    if is_path:
        return "…" + text[len(text) - limit + 1 :]
    end = max(limit - 1, 0)
    while end and _joins(text[end - 1], text[end]):
        end -= 1
    return text[:end].rstrip() + "…" if end else ""


def _joins(character: str, next_character: str) -> bool:
    """Whether two characters are displayed as one."""
    return (
        unicodedata.combining(next_character) > 0
        or next_character in "\u200d\ufe0e\ufe0f"
        or character == "\u200d"
    )
