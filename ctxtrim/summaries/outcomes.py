"""The outcome of a call for a summary: its mark, the line that shows a failure, and the reply of a
person who rejected it.
"""

import re

from ctxtrim.evidence.errors import error_line, exit_code
from ctxtrim.evidence.shell import hides_failure, simple_commands

_REACH = 1 << 16  # characters of a text that are searched for lines
_TAG = re.compile(r"\s*</?[\w-]+>\s*")  # some tools wrap their output in such lines
_PREFIX = r"^(?:\[[^\]\n]{1,40}\][ \t]*)?"  # of task runners: `[lint] `
_PLACE = re.compile(
    rf"{_PREFIX}(?:[A-Za-z]:)?[^\s:\n][^:\n]{{0,300}}(?::\d+:\d+|\(\d+,\d+\)):? [^\n]*",
    re.MULTILINE,
)
_LOUD = re.compile(
    rf"{_PREFIX}(?:E[ \t]+)?(?:(?:[\w.]*(?:Error|Exception)|error|fatal|panic)(?:\[\w+\])?:[ \t]"
    r"|(?:ERROR|FATAL|FAILED|FAIL|npm ERR!|npm error)(?:[:\s]|$)|make(?:\[\d+\])?: \*\*\* "
    r"|Traceback \(most recent call last\))[^\n]*",
    re.MULTILINE,
)
_MILD = re.compile(r"\b(?:warning|note|info)\b", re.IGNORECASE)
_ERROR = re.compile("error", re.IGNORECASE)
_REJECTED = re.compile(r"The user doesn't want to [^\n]*\bthe user said:[ \t]*\n")
_NOTE = "\n\nNote: The user's next message"  # a hint for the model
_READERS = frozenset(
    (
        *("awk", "bat", "cat", "curl", "docker", "fd", "find", "gh", "git", "grep", "head"),
        *("journalctl", "jq", "kubectl", "less", "ls", "rg", "sed", "tail"),
    )
)
"""Commands that show texts of others: an error in their output is none of theirs."""


def mark_of(code: int | None, *, is_failure: bool) -> str:
    """The mark of a command that ended: `✓`, or `✗` with an exit code other than 1."""
    if not is_failure and not code:
        return "✓"
    return "✗" if code in (None, 0, 1) else f"✗ {code}"


def status(command: str, text: str, *, is_failure: bool, is_known: bool) -> str:
    """The mark of a command with this output; `?` if it is not known whether it failed.

    `is_known`: the transcript says whether the call failed.
    """
    code = exit_code(text)
    if is_failure or code:
        return mark_of(code, is_failure=True)
    is_known = is_known or code is not None
    return "✓" if is_known and not hides_failure(command) else "?"


def hidden_failure(command: str, text: str) -> str | None:
    """The line that shows the failure of a command in a pipeline, which has the exit code of its
    last command; None if there is none.
    """
    if not hides_failure(command):
        return None
    names = {each.name for each in simple_commands(command) if each.name != "cd"}
    if names <= _READERS:
        return None
    return _place_or_error(text[-_REACH:]) if _LOUD.search(text[-_REACH:]) else None


def failure_line(text: str) -> str:
    """The line that describes a failure best: the error line, or one with an error or its place
    instead of an exit code, else the last line before it.
    """
    start, end = error_line(text) or (0, 0)
    shown = text[start:end]
    if shown and exit_code(shown) is None:
        return shown
    reach = text[-_REACH:] if shown else text[:_REACH]
    lines = [line for line in reach.split("\n") if line.strip()]
    others = [line for line in lines if exit_code(line) is None and not _TAG.fullmatch(line)]
    if not others:
        return shown
    return (_place_or_error(reach) or others[-1]) if shown else others[0]


def _place_or_error(text: str) -> str | None:
    """The first line with an error and its place, else with a place, else with an error."""
    places = [match[0] for match in _PLACE.finditer(text)]
    grave = [line for line in places if not _MILD.search(line)]
    loud = _LOUD.search(text)
    lines = [*filter(_ERROR.search, grave), *grave, *([loud[0]] if loud else [])]
    return lines[0].strip() if lines else None


def reply_of_person(text: str) -> str | None:
    """The words of a person who rejected a call, in a result of Claude Code; None if there are
    none.
    """
    match = _REJECTED.match(text)
    if match is None:
        return None
    return text[match.end() :].partition(_NOTE)[0].strip() or None
