"""Whether a tool result is an error, which line shows it, and whether the result is complete."""

import re
from collections.abc import Iterator, Sequence
from itertools import islice

from ctxtrim.clipping.markers import MARKER
from ctxtrim.conversation.tool_exit_codes import exit_code_in_json
from ctxtrim.conversation.tool_results import result_text
from ctxtrim.loading import lazy_pattern
from ctxtrim.model import Message
from ctxtrim.text import Range

_EXIT_CODE = lazy_pattern(
    r"\W*+(?:process |command )?(?:exit(?:ed)?|return(?:ed)?)(?: with)?(?: exit)?"
    r"[ _-]?(?:code|status)\W{0,3}(-?\d{1,10})\b",
    re.IGNORECASE,
)
_ERROR = lazy_pattern(
    r"(?:[\w.]*(?:Error|Exception)|error|ERROR|fatal|FATAL|panic)(?:\[\w+\])?:"
    r"|Traceback \(most recent call last\)"
    r"|(?:PHP )?Fatal error:|npm (?:ERR!|error )|Exception in thread\b"
    r"|(?:curl: \(\d+\) )?Failed to connect\b"
)
_NOT_FOUND = lazy_pattern(r".{1,80}: command not found")
# of tsc, with the file name in front
_TYPESCRIPT = lazy_pattern(r"(?:[^\n]{1,300}?(?:\(\d+,\d+\):|:\d+:\d+ -) )?error TS\d+:")
_LOOSE = lazy_pattern(r"error|exception|failed|fatal|cannot|unable to", re.IGNORECASE)
_TRUNCATION_NOTE = lazy_pattern(r"\[[^\[\]\n]{0,80}(?:truncated|cleared)", re.IGNORECASE)
_EDGE = 3  # lines to check at the beginning and at the end
_REACH = 1 << 12  # characters that contain these lines


def is_error(message: Message, is_loose: bool = False) -> bool:
    """Whether a tool result is an error.

    The flag of the format decides if there is one, else an exit code in a JSON object or in the
    first or last lines, else a first line that begins like an error. `0 errors` in a success is not
    an error. `is_loose`: instead of the first lines, a word such as `error` or `failed` anywhere
    decides, also in `0 errors`.
    """
    flags = [part.is_error for part in message.parts]
    if True in flags or False in flags:
        return True in flags
    return error_line(result_text(message), is_loose) is not None


def is_abridged(message: Message) -> bool:
    """Whether a tool result notes, in brackets, that some of it was truncated or cleared."""
    return any(
        _TRUNCATION_NOTE.search(part.text) for part in message.parts if part.kind == "tool_result"
    )


def error_line(text: str, is_loose: bool = False) -> Range | None:
    """The range of the line that shows an error; None if there is none."""
    first_lines = list(islice(_lines(text), _EDGE))
    code = _exit_code(text, first_lines)
    if code:
        return code[0] if code[1] else None
    if is_loose:
        word = _LOOSE.search(text)
        return _line_around(text, word.start()) if word else None
    return next(
        ((start, end) for start, end in first_lines if _begins_like_error(text[start:end])), None
    )


def exit_code(text: str) -> int | None:
    """The exit code in a JSON object, or in the first or last lines of a text; None if there is
    none.
    """
    code = _exit_code(text, list(islice(_lines(text), _EDGE)))
    return code[1] if code else None


def _exit_code(text: str, first_lines: Sequence[Range]) -> tuple[Range, int] | None:
    """The member with an exit code in a JSON object, else the first line with one among the first
    and the last few; and the code.
    """
    member = exit_code_in_json(text)
    if member is not None:
        return member
    last_lines: list[Range] = []
    if len(first_lines) == _EDGE or len(text) > _REACH:  # otherwise there are no others
        last_lines = [
            line for line in islice(_lines_backwards(text), _EDGE) if line not in first_lines
        ]
    for start, end in (*first_lines, *reversed(last_lines)):
        code = _EXIT_CODE.match(text, start, end)
        if code:
            return (start, end), int(code[1])
    return None


def _begins_like_error(line: str) -> bool:
    """Whether a line begins like an error. The rare shapes that need more steps come last."""
    if _ERROR.match(line):
        return True
    if line.endswith("command not found") and _NOT_FOUND.fullmatch(line):
        return True
    return "error TS" in line and _TYPESCRIPT.match(line) is not None


def _line_around(text: str, position: int) -> Range:
    """The line around a non-blank character, without surrounding space."""
    start = text.rfind("\n", 0, position) + 1
    end = text.find("\n", position)
    line = text[start:] if end < 0 else text[start:end]
    begin = start + len(line) - len(line.lstrip())
    return begin, begin + len(line.strip())


def _lines(text: str) -> Iterator[Range]:
    """The first non-blank lines of a text, without surrounding space."""
    start, reach = 0, min(len(text), _REACH)
    while start < reach:
        stop = text.find("\n", start, reach)
        if stop < 0:
            if reach < len(text):
                return  # the range ends inside a line
            stop = reach
        if line := _content_range(text, start, stop):
            yield line
        start = stop + 1


def _lines_backwards(text: str) -> Iterator[Range]:
    """The last non-blank lines of a text, last first."""
    stop, reach = len(text), max(0, len(text) - _REACH)
    while stop > reach or (stop == reach == 0):
        start = text.rfind("\n", reach, stop) + 1
        if not start:
            if reach and text[reach - 1] != "\n":
                return  # the range begins inside a line
            start = reach
        if line := _content_range(text, start, stop):
            yield line
        if start <= reach:
            return
        stop = start - 1


def _content_range(text: str, start: int, stop: int) -> Range | None:
    """The range of a line without surrounding space; None if it is blank or a marker."""
    line = text[start:stop]
    content = line.strip()
    if not content or (content[0] == "." and MARKER.fullmatch(content)):
        return None
    begin = start + len(line) - len(line.lstrip())  # faster than a search
    return begin, begin + len(content)
