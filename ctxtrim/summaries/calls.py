"""What a tool call was about, as far as facts tell it: its kind, its paths, its command and how that ended."""

import json
import re
from collections.abc import Iterator
from typing import Any, Literal

from ctxtrim.model import Part

ToolKind = Literal["read", "write", "edit", "delete", "bash", "search", "other"]
_WORDS: tuple[tuple[ToolKind, frozenset[str]], ...] = (
    ("bash", frozenset(["bash", "shell", "exec", "terminal", "command", "run", "sh"])),
    ("edit", frozenset(["edit", "replace", "patch", "multiedit", "insert"])),
    ("delete", frozenset(["delete", "remove", "rm", "unlink"])),
    ("search", frozenset(["grep", "search", "glob", "find", "ls", "list"])),
    ("write", frozenset(["write", "create"])),
    ("read", frozenset(["read", "view", "open", "cat"])),
)
_PATHS = ("file_path", "path", "filename", "filepath", "file", "absolute_path", "notebook_path", "target_file")
_COMMANDS = ("command", "cmd", "script")
_PATCHED = re.compile(r"^\*\*\* (?:Add|Update|Delete) File: (.+)$", re.MULTILINE)
_EXIT_CODE = re.compile(
    r"\W*(?:process |command )?(?:exit(?:ed)?|return(?:ed)?)(?: with)?(?: exit)?[ _-]?(?:code|status)\W{0,3}(-?\d+)\b",
    re.IGNORECASE,
)
_EDGE = 3  # lines at the beginning and at the end that are looked at
_REACH = 1 << 12  # characters in which they must stand


def kind_of_tool(name: str | None, arguments: str = "") -> ToolKind:
    """What a tool of this name does."""
    if "*** Begin Patch" in arguments:
        return "edit"
    words = set(re.findall(r"[a-z]+", re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name or "").lower()))
    return next((kind for kind, known in _WORDS if words & known), "other")


def paths_of(call: Part) -> tuple[str, ...]:
    """The files that a call names in its arguments."""
    arguments = _arguments(call)
    if not isinstance(arguments, dict):
        return tuple(_PATCHED.findall(arguments)) if isinstance(arguments, str) else ()
    named = [value for key in _PATHS if isinstance(value := arguments.get(key), str) and value.strip()]
    patches = (value for value in arguments.values() if isinstance(value, str) and "*** " in value)
    return tuple(dict.fromkeys((*named, *(path for patch in patches for path in _PATCHED.findall(patch)))))


def accesses(call: Part) -> Iterator[tuple[str, ToolKind]]:
    """The files that a call names, and what it does to each."""
    kind = kind_of_tool(call.name, call.text)
    yield from ((path, kind) for path in paths_of(call))


def command_of(call: Part) -> str | None:
    """The command that a call runs; of a shell and its script the script."""
    if kind_of_tool(call.name, call.text) != "bash":
        return None
    arguments = _arguments(call)
    if not isinstance(arguments, dict):
        return None
    value = next((arguments[key] for key in _COMMANDS if arguments.get(key)), None)
    if isinstance(value, list) and all(isinstance(word, str) for word in value):
        return value[2] if len(value) == 3 and value[1] in ("-c", "-lc") else " ".join(value)
    return value if isinstance(value, str) else None


def exit_code(text: str) -> int | None:
    """The exit code that stands in the first or last lines of a result."""
    for line in _edges(text):
        if found := _EXIT_CODE.match(line):
            return int(found[1])
    return None


def _edges(text: str) -> Iterator[str]:
    yield from [line for line in text[:_REACH].split("\n") if line.strip()][:_EDGE]
    yield from [line for line in text[-_REACH:].split("\n") if line.strip()][-_EDGE:]


def _arguments(call: Part) -> Any:
    try:
        return json.loads(call.text)
    except (ValueError, RecursionError):
        return call.text  # a tool that takes a text as it is
