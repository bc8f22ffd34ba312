"""Tool outputs that are JSON in a string, as many shell tools send: `{"output": "…", …}`.

The model reads the whole string. Stages shorten only the output text; the JSON around it stays.
"""

import json
import re
from typing import Any, NamedTuple

from ctxtrim.model import Wrapper

KEYS = ("output", "content")
"""Members that can contain the output text; the first one present is used."""

MAX_WRAPPER = 256
"""Maximum characters of a wrapper.

An object with more than that around its output is shortened as a whole.
"""

_ESCAPES = (("\\u0027", "<>&'"), ("\\u003c", "<>&"), ("\\u003e", "<>&"), ("\\u0026", "<>&"))
"""Escapes that JSON does not require, by the marks of their writers: Jinja's
`tojson`, Go's HTML.
"""


class Wrapped(NamedTuple):
    """The output text of a tool, the JSON around it, and whether it reports an error."""

    text: str
    wrapper: Wrapper | None
    is_error: bool | None


def unwrapped(string: str) -> Wrapped | None:
    """The contents of a string that is such an object; None for others and for unknown escaping."""
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
    # an encoder for ASCII escapes DEL, too, although it is ASCII
    is_escaped = not text.isascii() or ("\x7f" in text and "\x7f" not in string)
    is_ascii = string.isascii() and is_escaped
    characters = next((characters for mark, characters in _ESCAPES if mark in string), "")
    for escaped in dict.fromkeys((characters, "")):
        quoted = Wrapper("", "", is_ascii, escaped).quoted(text)
        if string.startswith(quoted, start) and len(string) - len(quoted) <= MAX_WRAPPER:
            wrapper = Wrapper(string[:start], string[start + len(quoted) :], is_ascii, escaped)
            return Wrapped(text, wrapper, failed(value))
    return None


def _start(string: str, key: str) -> int:
    """The position at which the value of a member starts."""
    matches = list(re.finditer(rf'"{key}"\s*:\s*', string))
    if len(matches) == 1:
        return matches[0].end()
    from ctxtrim.text.splice import locate  # for keys that occur twice only

    return locate(string, [(key,)])[key,]


def failed(value: dict[str, Any]) -> bool | None:
    """Whether the exit code of an output reports an error; None without an exit code."""
    from ctxtrim.conversation.tool_exit_codes import exit_code_in  # for such outputs only

    exit_code = exit_code_in(value)
    return None if exit_code is None else exit_code.code != 0
