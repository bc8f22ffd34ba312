"""What a tool result is: an error, or not."""

import re

from ctxtrim.model import Message

_EXIT_CODE = re.compile(
    r"^\W*(?:process |command )?(?:exit(?:ed)?|return(?:ed)?)(?: with)?(?: exit)?[ _-]?(?:code|status)\W{0,3}(-?\d+)",
    re.IGNORECASE,
)
_ERROR = re.compile(
    r"(?:[\w.]*(?:Error|Exception)|error|ERROR|fatal|FATAL|panic)(?:\[\w+\])?:"
    r"|Traceback \(most recent call last\)|.{1,80}: command not found$"
)
_EDGE = 3  # lines at the beginning and at the end that are looked at


def is_error(message: Message) -> bool:
    """Whether a tool result tells of a failure.

    The format's own flag decides where there is one; else an exit code, which stands in the first or last lines; else
    a first line that begins as errors do. `0 errors` in a success is none.
    """
    flags = [part.is_error for part in message.parts if part.is_error is not None]
    if flags:
        return any(flags)
    return error_line("\n".join(part.text for part in message.parts if part.kind == "tool_result")) is not None


def error_line(text: str) -> str | None:
    """The line that shows a text to be an error, None where none does."""
    first = _lines(text[: 1 << 12])[:_EDGE]
    last = _lines(text[-(1 << 12) :])[-_EDGE:]
    for line in (*first, *last):
        code = _EXIT_CODE.match(line)
        if code:
            return line if int(code[1]) else None
    return next((line for line in first if _ERROR.match(line)), None)


def _lines(text: str) -> list[str]:
    return [line.strip() for line in text.split("\n") if line.strip()]
