"""One line that stands where a result stood: `[✓ bash: npm test | exit 0 | 214 lines]`, `[❌ …]` for a failure."""

import re
import unicodedata
from dataclasses import dataclass

from ctxtrim.evidence.key_info import KeyInfo

LONGEST = 200
"""Characters of a summary line, brackets included."""

_LINE = re.compile(r"\[[✓❌] [^\n]* \| (?:partial \| )?\d+ lines?\]")
_MATCHES = re.compile(r"\d+ match(?:es)?")
_NAME = 40  # characters of the tool's name, and below of what it was asked and of the error
_ASKED = 80


def summary_line(info: KeyInfo, tool_name: str | None) -> str:
    """A line of at most 200 characters: how it ended, which tool, what it was asked, what came back."""
    asked = info.command
    if info.kind in ("read", "write", "edit", "delete") and info.paths:
        more = f" +{len(info.paths) - 1}" if len(info.paths) > 1 else ""
        asked = _short(info.paths[0], _ASKED - len(more), is_path=True) + more
    elif asked is None and info.kind == "search" and info.paths:
        asked = info.paths[0]
    facts = [
        f"exit {info.exit_code}" if info.exit_code is not None else "",
        f"{info.matches} {'match' if info.matches == 1 else 'matches'}" if info.matches is not None else "",
    ]
    last = ["partial"] if info.status == "partial" else []
    last.append(f"{info.lines} {'line' if info.lines == 1 else 'lines'}")
    head = f"[{'❌' if info.status == 'error' else '✓'} {_short(tool_name or 'tool', _NAME)}"
    head += f": {short}" if (short := _short(asked or "", _ASKED)) else ""
    line = " | ".join([head, *filter(None, facts)])
    tail = " | ".join(["", *last]) + "]"
    error = _short(info.error or "", LONGEST - len(line) - len(tail) - len(" | "))
    return line + (f" | {error}" if error else "") + tail


def is_summary_line(text: str) -> bool:
    """Whether a text is such a line, so that a second run leaves it alone."""
    return len(text) <= LONGEST and _LINE.fullmatch(text) is not None


@dataclass(frozen=True, slots=True)
class Told:
    """What a summary line tells: tool, what it was asked, how it ended."""

    tool: str
    asked: str
    is_error: bool
    exit_code: int | None
    error: str


def told_by(line: str) -> Told | None:
    """What a summary line tells, None where a text is none."""
    if not is_summary_line(line):
        return None
    fields = line[3:-1].split(" | ")[:-1]
    if len(fields) > 1 and fields[-1] == "partial":
        fields.pop()
    is_error = line[1] == "❌"
    codes = [place for place, one in enumerate(fields) if place and re.fullmatch(r"exit -?\d+", one)]
    last = codes[-1] if codes else len(fields) - (is_error and len(fields) > 1)
    error = fields[last + bool(codes) :] if is_error else []
    tool, _, asked = " | ".join(one for one in fields[:last] if not _MATCHES.fullmatch(one)).partition(": ")
    code = int(fields[last].removeprefix("exit ")) if codes else None
    return Told(tool, asked, is_error, code, " | ".join(one for one in error if not _MATCHES.fullmatch(one)))


def _short(text: str, limit: int, is_path: bool = False) -> str:
    """A text on one line and with `…` where it is cut: at its end, a path at its beginning."""
    text = " ".join(
        "".join(
            char if char.isprintable() else " " for char in (text[-4 * LONGEST :] if is_path else text[: 4 * LONGEST])
        ).split()
    )
    if len(text) <= limit:
        return text
    if is_path:
        return "…" + text[len(text) - limit + 1 :]
    end = max(limit - 1, 0)
    while end and _joins(text[end - 1], text[end]):
        end -= 1
    return text[:end].rstrip() + "…" if end else ""


def _joins(one: str, other: str) -> bool:
    """Whether two characters are parts of one that is seen."""
    return unicodedata.combining(other) > 0 or other in "\u200d\ufe0e\ufe0f" or one == "\u200d"
