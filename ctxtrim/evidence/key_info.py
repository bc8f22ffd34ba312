"""The key facts of a tool result: its status, its input, and the size of its output."""

import json
import re
from dataclasses import dataclass
from typing import Literal

from ctxtrim.conversation.tool_results import lines_of
from ctxtrim.errors import must_be_text
from ctxtrim.evidence.errors import error_line, exit_code
from ctxtrim.evidence.tool_kinds import ToolKind, command_of, kind_of_tool, paths_of, string_at
from ctxtrim.model import Part
from ctxtrim.text import Range

Status = Literal["success", "error", "partial"]

_PARTIAL = re.compile(
    r"^[ \t.…]*[\[(<][^\])>\n]{0,80}(?:truncated|omitted|clipped|cut off)"
    r"|^[ \t]*\W{0,3}output truncated",
    re.IGNORECASE | re.MULTILINE,
)
_FAILURE = re.compile(
    r"^[ \t]*(?:E[ \t]+)?(?:npm ERR!|Fatal error:"
    r"|(?:[\w.]*(?:Error|Exception)|error|ERROR|fatal|FATAL|FAILED|panic|npm error)\b)[^\n]*",
    re.MULTILINE,
)
# summaries of pytest, Go, Rust, Jest, TAP and others
_FAILED_TESTS = re.compile(
    r"^(?:[ \t]*--- FAIL: |FAIL(?:ED)?[ \t]|=+ \d+ failed\b|Tests:[ \t]+\d+ failed\b"
    r"|test result: FAILED|not ok \d)[^\n]*",
    re.MULTILINE,
)
_TESTS = re.compile(r"test|spec|jest|tox", re.IGNORECASE)
_HIT = re.compile(r"^((?:[A-Za-z]:)?[^\n:]{1,500}):\d+[:\s]", re.MULTILINE)
_NUMBERED_LINE = re.compile(r"^[ \t]*\d+:", re.MULTILINE)
_NONE = re.compile(
    r"\s*no (?:matches|files|results|hits|matching)\b|\s*found 0\b"
    r"|\s*0 (?:matches|files|results)\b",
    re.I,
)
_HEADING = re.compile(
    r"\s*(?:found|total|showing) \d+\b[^\n]*"
    r"|\s*\d+ (?:matches|files|results)\b[^\n]*|\s*[\[(].*[\])]\s*|--",
    re.I,
)
_LISTS = ("matches", "results", "files", "items", "hits", "data")


@dataclass(frozen=True, slots=True)
class KeyInfo:
    """The key facts of one result.

    `error`: the first line that describes the failure. `lines`: of the output. `matches`: of a
    search, else None. `command`: the command line or the search pattern. `status` is `partial` if
    the output says that it is incomplete.
    """

    status: Status
    kind: ToolKind
    paths: tuple[str, ...] = ()
    error: str | None = None
    exit_code: int | None = None
    lines: int = 0
    matches: int | None = None
    command: str | None = None


def extract_key_info(
    content: str, tool_name: str | None, arguments: str | None = None, is_error: bool | None = None
) -> KeyInfo:
    """The key facts of a result from its text, its tool's name, and the arguments of the call as
    JSON text.

    `is_error` is the flag of the format, which decides if there is one, except for tests: in a
    pipeline such as `make test | tail` it is that of the last command.
    """
    must_be_text(content, "extract_key_info: content")
    if tool_name is not None:
        must_be_text(tool_name, "extract_key_info: tool_name")
    if arguments is not None:
        must_be_text(arguments, "extract_key_info: arguments")
    call = Part("tool_call", arguments or "", name=tool_name)
    kind = kind_of_tool(tool_name, call.text)
    failure = error_line(content) if is_error is None else None
    if failure is None and not is_error and kind == "bash":
        failure = failed_test(content, call)
    has_failed = is_error or failure is not None
    paths = paths_of(call)
    matches = None
    if kind == "search" and not has_failed:
        matches, hits = _matches(content)
        paths = tuple(dict.fromkeys((*paths, *hits)))
    status: Status = "success"
    if has_failed:
        status = "error"
    elif _PARTIAL.search(content):
        status = "partial"
    return KeyInfo(
        status=status,
        kind=kind,
        paths=paths,
        error=_first_error(content, failure) if has_failed else None,
        exit_code=exit_code(content),
        lines=lines_of(content),
        matches=matches,
        command=_input(call, kind),
    )


def _input(call: Part, kind: ToolKind) -> str | None:
    if kind == "search":
        return string_at(
            call.text, "pattern", "query", "regex", "search_term", "search", "keyword", "glob", "q"
        )
    return command_of(call)


def failed_test(content: str, call: Part) -> Range | None:
    """The range of the first line that reports a failed test of a test command; None if there is
    none.
    """
    if not _TESTS.search(command_of(call) or ""):
        return None
    line = _FAILED_TESTS.search(content)
    return line.span() if line else None


def _first_error(content: str, failure: Range | None) -> str | None:
    """The line that describes the failure, preferably not an exit code; else the first line."""
    line = _FAILURE.search(content)
    if line:
        return line[0].strip()
    if failure:
        return content[failure[0] : failure[1]]
    return content.strip().partition("\n")[0].strip() or None


def _matches(content: str) -> tuple[int, tuple[str, ...]]:
    """The number of hits of a search, and the files that they name."""
    if _NONE.match(content):
        return 0, ()
    count = _list_size(content)
    if count is not None:
        return count, ()
    hits = _HIT.findall(content)
    if hits:
        return len(hits), tuple(dict.fromkeys(path.strip() for path in hits))
    lines = _NUMBERED_LINE.findall(content)
    if lines:
        return len(lines), ()
    return sum(
        bool(line.strip()) and not _HEADING.fullmatch(line) for line in content.split("\n")
    ), ()


def _list_size(content: str) -> int | None:
    """The number of hits in a JSON list; None if the text is not one."""
    if not content.lstrip().startswith(("[", "{")):
        return None
    try:
        tree = json.loads(content)
    except (ValueError, RecursionError):
        return None
    if isinstance(tree, dict):
        tree = next((tree[name] for name in _LISTS if isinstance(tree.get(name), list)), None)
    return len(tree) if isinstance(tree, list) else None
