"""Exit codes in outputs that are JSON objects, as many shell tools write them."""

import json
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from ctxtrim.loading import lazy_pattern
from ctxtrim.text import Range

_NAMES = ("exit_code", "exitCode", "returncode", "return_code", "returnCode", "exit_status")
_STARTS = ('"exit', '"return')  # each name begins with one of them
_MEMBER = lazy_pattern(rf'"(?:{"|".join(_NAMES)})"\s*:')
_LARGEST = 1 << 20  # characters of a text that is parsed


class ExitCode(NamedTuple):
    """The name of a member and its number."""

    name: str
    code: int


def exit_code_in(fields: Mapping[str, Any]) -> ExitCode | None:
    """The exit code among the members of an object, or among those of an object in it."""
    inner = (value for value in fields.values() if isinstance(value, dict))
    for members in (fields, *inner):
        for name in _NAMES:
            if type(members.get(name)) is int:
                return ExitCode(name, members[name])
    return None


def exit_code_in_json(text: str) -> tuple[Range, int] | None:
    """The range of the member with the exit code in a text that is a JSON object, and the code;
    None if there is none.
    """
    if not text.startswith("{") or len(text) > _LARGEST:
        return None
    # searching for two texts is much faster than for an expression
    if not any(start in text for start in _STARTS) or not _MEMBER.search(text):
        return None
    try:
        exit_code = exit_code_in(json.loads(text))
    except (ValueError, RecursionError):
        return None
    if exit_code is None:
        return None
    member = re.search(rf'"{exit_code.name}"\s*:\s*{exit_code.code}\b', text)
    return (member.span(), exit_code.code) if member else None
