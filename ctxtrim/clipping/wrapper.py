"""Wrappers of tool outputs: tags, exit codes, labels, prompts. A clip keeps them whole."""

import re

from ctxtrim.text import Range

# Blanks are matched possessively, so that a long line of them is read once.
_TAG = r"[A-Za-z][\w:.-]{0,60}"
_LABEL = (
    r"(?:Exit [Cc]ode|Wall time|Duration|Chunk ID|Original token count|Total output "
    r"lines|Process exited with code"
    r"|Process Group PGID|Background "
    r"PIDs|Signal|Command|Directory|Output|stdout|stderr)(?:: ?| (?=\d))[^\n]{0,200}+"
)
_HEADER = re.compile(
    rf"[^\S\n]*+(?:<({_TAG})>[^<>\n]{{0,200}}</\1>|<{_TAG}(?: [^<>\n]{{0,200}})?>|{_LABEL}"
    r"|\[File: [^\n]{1,300}\]|\(\d+ more lines above\)|Here's the result of running "
    r"[^\n]{1,300}:)?[^\S\n]*+\n"
)
_FOOTER = re.compile(
    rf"(?:[^\n]{{0,200}}</({_TAG})>|<({_TAG})>[^<>\n]{{0,200}}</\2>|{_LABEL}|Error: \(none\)"
    r"|\[(?:File|The command|Command|Current|Python|Jupyter)[^\n]{1,300}\]"
    r"|\((?:Open file|Current directory): [^\n]{1,300}\)|\(\d+ more lines below\)|bash-\$|)[^\S\n]*"
)
_REMINDER = re.compile(
    r"\n\s*<system-reminder>\n(?:(?!</?system-reminder>)[^\0]){0,1500}</system-reminder>\s*\Z"
)
_MAX_LINES = 8  # maximum lines before and after an output


def output_range(text: str) -> Range:
    """The range of the output without its wrapper; the whole text if there is no wrapper.

    The text before the output ends with a line break, and the text after it begins with one.
    """
    reminder = _REMINDER.search(text, max(0, len(text) - 2000))
    start, tags = _start(text)
    end = _end(text, start, reminder.start() if reminder else len(text), tags)
    return (start, end) if start < end else (0, len(text))


def _start(text: str) -> tuple[int, set[str]]:
    """The end of the lines before an output, and the tags that they open."""
    start = position = 0
    tags: set[str] = set()
    for _ in range(_MAX_LINES):
        line = _HEADER.match(text, position)
        if line is None:
            break
        position = line.end()
        if line[0].strip():
            start = position
            tags.update(re.findall(rf"<({_TAG})", line[0]))
    return start, tags


def _end(text: str, start: int, end: int, tags: set[str]) -> int:
    """The start of the lines after an output.

    A line that closes a tag is one of them only if the tag is among those opened before (`tags`).
    """
    position = end
    for _ in range(_MAX_LINES):
        line = text.rfind("\n", start, position)
        footer = _FOOTER.fullmatch(text, line + 1, position) if line >= 0 else None
        if footer is None or (footer[1] and footer[1] not in tags):
            break
        position = line
        if footer[0].strip():
            end = position
    return end
