"""Logs and test output: lines that show errors and failures, the summary and the tail stay, the head a little."""

import re
from collections.abc import Callable

from ctxtrim.clipping.kind import Cut, Kind
from ctxtrim.clipping.order import Stream, from_head, from_tail, shared
from ctxtrim.clipping.selection import select

_HINT = re.compile(
    r"rror|ERR|[Ff]ail|FAIL|raceback|panic|PANIC|[Ff]atal|FATAL|CRITICAL|SEVERE|xception|passe?[di]|Caused|not ok"
    r"|[Ww]arn|WARN|[✗✘✖❌]|(?<=\n)E  "
)
"""What every telling line has in it; most lines are passed over by this alone."""
_FAILURE = re.compile(
    r"\s*(?:E {2,}\S|Traceback \(most|\[?(?:ERROR|FATAL|CRITICAL|SEVERE|PANIC)\b|(?:\w+: )?(?:fatal|panic):|error(?:\[\w+\])?:"
    r"|[\w.$]*(?:Error|Exception)\b *(?::|$)|npm ERR!|not ok\b|FAIL(?:ED|URE)?\b|--- FAIL|[✗✘✖❌]|Caused by:)"
    r"|.{0,300}?(?::\d+(?::\d+)?: (?:fatal )?error\b"
    r"|\d\d:\d\d.{0,40}?\b(?:ERROR|FATAL|CRITICAL|SEVERE|PANIC|error|fatal)\b"
    r"|\[(?:error|fatal|ERROR|FATAL)\]|\blevel=(?:error|fatal|panic)|\bFAILED\b|thread '.{0,80}' panicked"
    r"|\b[1-9]\d* (?:tests? )?(?:failed|failing|failures?|errors?)\b|\b\d+ (?:tests? )?(?:passed|passing)\b)"
)
_TRACEBACK = re.compile(r"Traceback \(most recent call last\).*\n(?:[ \t].*\n){0,40}.*\n?")
_WARNING = re.compile(r".{0,300}?(?:\bWARN(?:ING)?\b|\b[Ww]arning(?:\[\w+\])?:)")
_WIDTH = 400  # characters of a line that are looked at
_SAMPLE = 1 << 16  # characters at either end that are looked at to know a log


def _telling(text: str, shape: re.Pattern[str], accepts: Callable[[str], bool] = lambda line: True) -> Stream:
    """The lines that have a shape, in order; of lines that are the same only the first."""
    seen: set[str] = set()
    position = 0
    while hint := _HINT.search(text, position):
        start = text.rfind("\n", position, hint.start()) + 1 or position
        stop = text.find("\n", hint.start()) + 1 or len(text)
        match = shape.match(text, start, min(stop, start + _WIDTH))
        position = stop
        if match is None:
            continue
        if block := _TRACEBACK.match(text, start):
            stop = position = block.end()
        line = text[start:stop].strip()
        if line not in seen and accepts(line):
            seen.add(line)
            yield start, stop


def _knows(text: str) -> bool:
    first = text[:_SAMPLE]
    return any(
        next(_telling(part, _FAILURE), None) is not None
        for part in (first, text[max(len(first), len(text) - _SAMPLE) :])
    )


def _clip(cut: Cut) -> str | None:
    text = cut.text
    head, tail = from_head(text, cut.limit), from_tail(text, cut.limit)
    at_ends = {"head": [(4, head)], "tail": [(4, tail)], "head-tail": [(1, head), (3, tail)]}[cut.mode]
    pieces = (piece for line in _telling(text, _FAILURE) for piece in from_head(text, cut.limit, *line))
    order = shared(*at_ends, (3, pieces), (1, _telling(text, _WARNING)))
    return select(text, order, cut.keep, cut.limit, cut.tokenizer)


LOG = Kind("log", _knows, _clip)
