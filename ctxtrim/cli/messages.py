"""Lines on standard error and text on standard output."""

import os
import re
import sys
from collections.abc import Mapping
from typing import Any

from ctxtrim.io.outputs import Stdout, silence_stderr
from ctxtrim.text.escaping import clean, clean_lines

_COMMAND = re.compile(r"^(\s*):(?=:)|#(?=#\[)", re.MULTILINE)
"""The first character of a workflow command of GitHub: `::` at the start of a line, or `##[`."""
_ASCII = str.maketrans({"≤": "<=", "≈": "~", "×": "x", "→": "->", "…": "...", "─": "-", "█": "="})


def print_error(line: str) -> None:
    """Print a line on standard error, with control characters and workflow commands escaped.

    Symbols that its encoding does not have become ASCII. Errors of standard error are ignored.
    """
    if sys.stderr is not None:
        encoding = sys.stderr.encoding or "utf-8"  # a StringIO has none
        shown = _encodable(without_commands(clean(line)), encoding)
        try:
            sys.stderr.write(shown + "\n")
        except OSError:
            silence_stderr()


def is_terminal(stream: Any) -> bool:
    """Whether a standard stream is a terminal; not if the program was started without it."""
    return stream is not None and not stream.closed and stream.isatty()


def without_commands(text: str) -> str:
    """The text of which GitHub Actions obeys no line, if that reads the output."""
    if os.environ.get("GITHUB_ACTIONS") != "true":
        return text
    return _COMMAND.sub(lambda match: f"{match[1] or ''}\\x{ord(match[0][-1]):02x}", text)


def print_text(text: str) -> None:
    """Print lines on standard output, with control characters escaped."""
    Stdout().write(encoded(clean_lines(text)))


def print_data(text: str) -> None:
    """Print text that programs read on standard output: in UTF-8, as in a file.

    Control characters are escaped.
    """
    Stdout().write(clean_lines(text).encode(errors="backslashreplace"))


def encoded(shown: str) -> bytes:
    """A text in the encoding of standard output.

    If it cannot encode the symbols of reports, they become ASCII.
    """
    encoding = "utf-8" if sys.stdout is None else sys.stdout.encoding
    return _encodable(shown, encoding).encode(encoding, errors="backslashreplace")


def spelling(stream: Any) -> Mapping[int, str]:
    """What a standard stream shows for the symbols of reports: empty if it has all of them."""
    try:
        "".join(map(chr, _ASCII)).encode(getattr(stream, "encoding", None) or "utf-8")
    except UnicodeEncodeError:
        return _ASCII
    return {}


def _encodable(shown: str, encoding: str) -> str:
    """A text whose symbols are ASCII, if the encoding does not have all of its characters."""
    try:
        shown.encode(encoding)
    except UnicodeEncodeError:
        return shown.translate(_ASCII)
    return shown
