"""Whether a tool result tells of a failure, and which line says so; whether it is all that came back."""

import re
from collections.abc import Iterable, Iterator
from itertools import islice

from ctxtrim.clipping.markers import MARKER
from ctxtrim.evidence.results import result_text
from ctxtrim.model import Message

_EXIT_CODE = re.compile(
    r"\W*(?:process |command )?(?:exit(?:ed)?|return(?:ed)?)(?: with)?(?: exit)?[ _-]?(?:code|status)\W{0,3}"
    r"(-?\d{1,10})\b",
    re.IGNORECASE,
)
_ERROR = re.compile(
    r"(?:[\w.]*(?:Error|Exception)|error|ERROR|fatal|FATAL|panic)(?:\[\w+\])?:"
    r"|Traceback \(most recent call last\)|.{1,80}: command not found$"
)
_LOOSE = re.compile(r"error|exception|failed|fatal|cannot|unable to", re.IGNORECASE)
_ABRIDGED = re.compile(r"\[[^\[\]\n]{0,80}(?:truncated|cleared)", re.IGNORECASE)
_EDGE = 3  # lines at the beginning and at the end that are looked at
_REACH = 1 << 12  # characters in which they must begin and end


def is_error(message: Message, is_loose: bool = False) -> bool:
    """Whether a tool result tells of a failure.

    The format's own flag decides where there is one; else an exit code, which stands in the first or last lines; else
    a first line that begins as errors do. `0 errors` in a success is none. `is_loose`: instead of the first lines, a
    word like `error` or `failed` anywhere decides, in `0 errors` too.
    """
    flags = [part.is_error for part in message.parts if part.is_error is not None]
    if flags:
        return any(flags)
    return error_line(result_text(message), is_loose) is not None


def is_abridged(message: Message) -> bool:
    """Whether a tool result says, in brackets, that something of it was truncated or cleared."""
    return any(_ABRIDGED.search(part.text) for part in message.parts if part.kind == "tool_result")


def error_line(text: str, is_loose: bool = False) -> tuple[int, int] | None:
    """Where the line stands that shows a text to be an error (start and end), None where none does."""
    first, last = _edges(text)
    code = _exit_code((*first, *last), text)
    if code:
        return code[0] if code[1] else None
    if is_loose:
        word = _LOOSE.search(text)
        return _line_around(text, word.start()) if word else None
    return next(((start, end) for start, end in first if _ERROR.match(text[start:end])), None)


def exit_code(text: str) -> int | None:
    """The exit code that stands in the first or last lines of a text, None where none does."""
    first, last = _edges(text)
    code = _exit_code((*first, *last), text)
    return code[1] if code else None


def _edges(text: str) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """The first and the last few lines, as start and end."""
    first = list(islice(_lines(text, 0, min(len(text), _REACH)), _EDGE))
    return first, list(_lines(text, max(0, len(text) - _REACH), len(text)))[-_EDGE:]


def _exit_code(lines: Iterable[tuple[int, int]], text: str) -> tuple[tuple[int, int], int] | None:
    """The first line that tells an exit code, and that."""
    for start, end in lines:
        code = _EXIT_CODE.match(text, start, end)
        if code:
            return (start, end), int(code[1])
    return None


def _line_around(text: str, place: int) -> tuple[int, int]:
    """The line that holds a character which is not blank, without the space around it."""
    start = text.rfind("\n", 0, place) + 1
    end = text.find("\n", place)
    line = text[start:] if end < 0 else text[start:end]
    begin = start + len(line) - len(line.lstrip())
    return begin, begin + len(line.strip())


def _lines(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """The lines with something on them that begin and end in a stretch of a text, without the space around them."""
    while start < end:
        if start and text[start - 1] != "\n":  # the stretch begins inside a line
            start = text.find("\n", start, end) + 1 or end
            continue
        stop = text.find("\n", start, end)
        if stop < 0:
            stop = end
            if end < len(text):
                return  # the stretch ends inside a line
        line = text[start:stop]
        bare = line.strip()
        if bare and not MARKER.fullmatch(bare):
            begin = start + line.index(bare)
            yield begin, begin + len(bare)
        start = stop + 1
