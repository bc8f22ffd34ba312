"""Logs and test output: lines that show errors and failures, the summary and the tail stay, the head a little."""

import re
from collections.abc import Iterable, Iterator
from heapq import merge

from ctxtrim.clipping.kind import Cut, Kind
from ctxtrim.clipping.order import Stream, from_head, from_tail, shared
from ctxtrim.clipping.selection import select

_FAILURE_WORDS = (
    "rror", "ERR", "fail", "Fail", "FAIL", "raceback", "panic", "PANIC", "fatal", "FATAL", "CRITICAL", "SEVERE",
    "xception", "passed", "passing", "Caused", "not ok", "✗", "✘", "✖", "❌", "\nE  ",
)  # fmt: skip
"""What a line that shows a failure has in it; all others are passed over by this alone."""
_WARNING_WORDS = ("WARN", "arning")
_FAILURE = re.compile(
    r"\s*(?:E {2,}\S|Traceback \(most|\[?(?:ERROR|FATAL|CRITICAL|SEVERE|PANIC)\b"
    r"|(?:\w+: )?(?:fatal|panic):|error(?:\[\w+\])?:"
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


def _telling(text: str, words: Iterable[str], shape: re.Pattern[str]) -> Stream:
    """The lines that have one of some words in them and a shape, in order; of lines that are the same the first."""
    seen: set[str] = set()
    position = 0
    for hint in merge(*(_places(text, word) for word in words)):
        if hint < position:
            continue
        start = text.rfind("\n", position, hint) + 1 or position
        stop = position = text.find("\n", hint) + 1 or len(text)
        if shape.match(text, start, min(stop, start + _WIDTH)) is None:
            continue
        if block := _TRACEBACK.match(text, start):
            stop = position = block.end()
        line = text[start:stop].strip()
        if line not in seen:
            seen.add(line)
            yield start, stop


def _failures(text: str, limit: int) -> Stream:
    """The lines that show failures; of a traceback its last line first, which names the error."""
    for start, end in _telling(text, _FAILURE_WORDS, _FAILURE):
        is_block = text.find("\n", start, end - 1) >= 0
        yield from (from_tail if is_block else from_head)(text, limit, start, end)


def _places(text: str, word: str) -> Iterator[int]:
    """Where a word stands, once a line: in the line, if it begins with a line break."""
    place = text.find(word)
    while place >= 0:
        place += word[0] == "\n"
        yield place
        line = text.find("\n", place)
        place = text.find(word, line) if line >= 0 else -1


def _knows(text: str) -> bool:
    first = text[:_SAMPLE]
    return any(
        next(_telling(part, _FAILURE_WORDS, _FAILURE), None) is not None
        for part in (first, text[max(len(first), len(text) - _SAMPLE) :])
    )


def _clip(cut: Cut) -> str | None:
    text = cut.text
    head, tail = from_head(text, cut.limit), from_tail(text, cut.limit)
    at_ends = {"head": [(4, head)], "tail": [(4, tail)], "head-tail": [(1, head), (3, tail)]}[cut.mode]
    order = shared(*at_ends, (3, _failures(text, cut.limit)), (1, _telling(text, _WARNING_WORDS, _WARNING)))
    return select(text, order, cut.keep, cut.limit, cut.tokenizer)


LOG = Kind("log", _knows, _clip)
