"""Logs and test output: most of the tail, some of the head, and the range between them with the
most failures.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from heapq import merge
from itertools import islice

from ctxtrim.clipping.kind import ClipText, Draft, TextKind
from ctxtrim.clipping.layout import shares_of, text_scale
from ctxtrim.clipping.selection import select
from ctxtrim.text import Range

_FAILURE_WORDS = (
    "rror", "ERR", "fail", "Fail", "FAIL", "raceback", "panic", "PANIC", "fatal", "FATAL",
    "CRITICAL", "SEVERE", "xception", "passed", "passing", "Caused", "not ok", "✗", "✘", "✖", "❌",
    "\nE  ",
)  # fmt: skip
"""Hints of a line with a failure; lines without any hint are skipped."""
_WARNING_WORDS = ("WARN", "arning")
_FAILURE = re.compile(
    r"\s*(?:E {2,}\S|Traceback \(most|\[?(?:ERROR|FATAL|CRITICAL|SEVERE|PANIC)\b"
    r"|(?:\w+: )?(?:fatal|panic):|error(?:\[\w+\])?:"
    r"|[\w.$]*(?:Error|Exception)\b *(?::|$)|npm ERR!|not ok\b|FAIL(?:ED|URE)?\b"
    r"|--- FAIL|[✗✘✖❌]|Caused by:)"
    r"|.{0,300}?(?::\d+(?::\d+)?: (?:fatal )?error\b"
    r"|\d\d:\d\d.{0,40}?\b(?:ERROR|FATAL|CRITICAL|SEVERE|PANIC|error|fatal)\b"
    r"|\[(?:error|fatal|ERROR|FATAL)\]|\blevel=(?:error|fatal|panic)|\bFAILED\b"
    r"|thread '.{0,80}' panicked"
    r"|\b[1-9]\d* (?:tests? )?(?:failed|failing|failures?|errors?)\b"
    r"|\b\d+ (?:tests? )?(?:passed|passing)\b)"
)
_TRACEBACK = re.compile(r"Traceback \(most recent call last\).*\n(?:[ \t].*\n){0,40}.*\n?")
_WARNING = re.compile(r".{0,300}?(?:\bWARN(?:ING)?\b|\b[Ww]arning(?:\[\w+\])?:)")
_WIDTH = 400  # characters of a line to check
_SHARES = (1, 3)  # of the head and the tail
_ISLAND = 4  # failures and the lines around them get at most this fraction of the clip
_MAX_LINES = 10_000  # maximum lines with failures to compare
_SAMPLE = 1 << 16  # characters to check first, because each hint is searched up to their end


def _matching_lines(text: str, words: Iterable[str], shape: re.Pattern[str]) -> Iterator[Range]:
    """The lines that contain one of some hints and match a pattern, in order.

    A traceback counts as one line.
    """
    position = 0
    for hint in merge(*(_positions(text, word) for word in words)):
        if hint < position:
            continue
        start = text.rfind("\n", position, hint) + 1 or position
        stop = position = text.find("\n", hint) + 1 or len(text)
        if shape.match(text, start, min(stop, start + _WIDTH)) is None:
            continue
        if block := _TRACEBACK.match(text, start):
            stop = position = block.end()
        yield start, stop


def _positions(text: str, word: str) -> Iterator[int]:
    """The positions of a hint, once per line: inside the line if the hint begins
    with a line break.
    """
    position = text.find(word)
    while position >= 0:
        position += word[0] == "\n"
        yield position
        line = text.find("\n", position)
        position = text.find(word, line) if line >= 0 else -1


def _knows(text: str) -> bool:
    end = text.find("\n", _SAMPLE) + 1 or len(text)
    return any(
        next(_matching_lines(part, _FAILURE_WORDS, _FAILURE), None) is not None
        for part in (text[:end], text[end:])
    )


def _drafts(source: ClipText) -> Iterator[Draft]:
    text, shares = source.text, shares_of(source.mode, _SHARES)

    @cache
    def lines(words: tuple[str, ...], shape: re.Pattern[str]) -> list[Range]:
        return list(islice(_matching_lines(text, words, shape), _MAX_LINES))

    def failures(size: int) -> list[Range]:
        """The range with the most failures, else with the most warnings, outside of
        head and tail.
        """
        head, tail = (size * share // (2 * sum(shares)) for share in shares)
        for words, shape in ((_FAILURE_WORDS, _FAILURE), (_WARNING_WORDS, _WARNING)):
            middle_lines = [
                line
                for line in lines(words, shape)
                if line[0] >= head and line[1] <= len(text) - tail
            ]
            if middle_lines:
                start, stop = _densest(text, middle_lines, size // _ISLAND)
                around = max(size // _ISLAND - (stop - start), 0) // 4
                return [(max(start - around, 0), min(stop + 3 * around, len(text)))]
        return []

    return select(source, text_scale(text), shares, failures)


def _densest(text: str, lines: Sequence[Range], limit: int) -> Range:
    """The shortest range of at most `limit` characters with the most different lines; the first of
    equal ranges.

    A longer traceback is cut to its end, which names the error.
    """
    best, best_count, left = lines[0], 0, 0
    counts: Counter[str] = Counter()
    texts = [text[start:stop].strip() for start, stop in lines]
    for right, (_, stop) in enumerate(lines):
        counts[texts[right]] += 1
        while left < right and (stop - lines[left][0] > limit or counts[texts[left]] > 1):
            counts[texts[left]] -= 1
            if not counts[texts[left]]:
                del counts[texts[left]]
            left += 1
        if len(counts) > best_count:
            best, best_count = (_end_of(text, lines[left][0], stop, limit), stop), len(counts)
    return best


def _end_of(text: str, start: int, stop: int, limit: int) -> int:
    """The start of the last lines of a range that have at most `limit` characters together.

    There is at least one line.
    """
    if stop - start <= limit:
        return start
    return (
        text.find("\n", stop - limit - 1, stop - 1) + 1
        or text.rfind("\n", start, stop - 1) + 1
        or start
    )


LOG = TextKind("log", _knows, _drafts)
