"""Outputs that are JSON in a string: `{"output": "…", "metadata": {"exit_code": 0}}`, as many agents' shell tools send.

The model reads the whole string, but only what the tool said can be shortened, and the rest stays JSON around it.
"""

import json
import re
from typing import Any, NamedTuple

from ctxtrim.model import Wrapper
from ctxtrim.text.splice import locate

KEYS = ("output", "content")
"""Under which of its members the object has what the tool said; the first that is there."""

MOST = 256
"""The most characters of a wrapper. An object with more than that beside its output is shortened as a whole."""

_ESCAPED = (("\\u0027", "<>&'"), ("\\u003c", "<>&"), ("\\u003e", "<>&"), ("\\u0026", "<>&"))
"""What tells that a writer escapes more than it must: Jinja's `tojson`, and Go or others that write JSON into HTML."""


class Wrapped(NamedTuple):
    """What a tool said, what stands around it, and whether that tells of a failure."""

    text: str
    wrapper: Wrapper
    is_error: bool | None


def unwrapped(string: str) -> Wrapped | None:
    """What is in a string that is such an object; None where it is something else, or is spelled in an unknown way."""
    if not string.startswith("{"):
        return None
    try:
        value = json.loads(string)
    except (ValueError, RecursionError):
        return None
    key = next((key for key in KEYS if isinstance(value.get(key), str)), None)
    if key is None:
        return None
    text, start = value[key], _start(string, key)
    is_ascii = string.isascii() and not text.isascii()
    for escaped in dict.fromkeys((next((more for mark, more in _ESCAPED if mark in string), ""), "")):
        quoted = Wrapper("", "", is_ascii, escaped).quoted(text)
        if string.startswith(quoted, start) and len(string) - len(quoted) <= MOST:
            wrapper = Wrapper(string[:start], string[start + len(quoted) :], is_ascii, escaped)
            return Wrapped(text, wrapper, failed(value))
    return None


def _start(string: str, key: str) -> int:
    """Where the value of a member starts."""
    found = list(re.finditer(rf'"{key}"\s*:\s*', string))
    return found[0].end() if len(found) == 1 else locate(string, [(key,)])[key,]


def failed(value: dict[str, Any]) -> bool | None:
    """Whether an output's exit code tells of a failure; None where it has none."""
    details = value.get("metadata")
    for place in (details if isinstance(details, dict) else {}, value):
        for key in ("exit_code", "exitCode", "returncode"):
            if type(place.get(key)) is int:
                return bool(place[key])
    return None
