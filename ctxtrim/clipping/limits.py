"""Limits of lines, characters and bytes on a tool result, and the notices that report removals.

The limits apply to the kept content; the marker in its middle or before it and the notice after it
are added to it.
"""

import re
from dataclasses import dataclass, replace

from ctxtrim.clipping.markers import gaps, joined, marked, shown
from ctxtrim.clipping.units import BYTES, CHARACTERS, LINES, TextUnit
from ctxtrim.errors import mismatch, must_be_text
from ctxtrim.text import Range

_SIZE = r"\d+(?:\.\d)?(?:B|KB|MB)"
NOTICE = re.compile(
    r"(?:^|\n\n)\[tool output truncated: "
    rf"showing \d+/(?P<lines>\d+) lines, {_SIZE}/(?P<bytes>{_SIZE}) bytes, "
    r"(?P<shown>\d+)/(?P<characters>\d+) chars\]\Z"
)
"""The notice after a limited text."""
SPILLED = re.compile(
    rf"\[tool output of \d+ lines, {_SIZE}, \d+ chars moved to (?P<path>.+), sha256 "
    rf"(?P<sha256>[0-9a-f]{{64}})\]",
    re.DOTALL,
)
"""The text that replaces a text moved to a file."""
_LONGEST = 300  # characters of a notice
_MODES = ("head", "tail", "head_tail", "head-tail")
_LEAST = 4  # a smaller limit leaves no room for a head and a tail


@dataclass(frozen=True)
class Limited:
    """A text within its limits: the kept content with markers, and the notice, empty if nothing was
    removed.
    """

    content: str
    notice: str = ""

    @property
    def is_truncated(self) -> bool:
        """Whether anything was removed, now or before."""
        return bool(self.notice)

    @property
    def text(self) -> str:
        """Content and notice, with an empty line between them."""
        if not self.notice or not self.content:
            return self.content or self.notice
        space = "\n" if self.content.endswith("\n") else "\n\n"
        return f"{self.content}{space}{self.notice}"

    def with_content(self, content: str) -> "Limited":
        """The text with a shorter content and the notice for it."""
        notice = NOTICE.search(self.notice)
        if notice is None:
            return Limited(content)
        plain_text = content
        for mark in reversed(marked(content)):
            plain_text = plain_text[: mark.start] + plain_text[mark.end :]
        return Limited(content, _notice(plain_text, notice.groupdict()))


def truncate_text(
    text: str,
    max_lines: int = 2000,
    max_bytes: int = 51200,
    max_chars: int = 204800,
    mode: str = "head_tail",
) -> Limited:
    """A text cut to limits of lines, then characters (code points), then bytes (UTF-8); 0 is no
    limit.

    Mode `head` keeps the beginning; `tail` keeps the end, below a marker; `head_tail` (or
    `head-tail`) keeps both ends under every limit, with a marker between them, or the beginning
    under a limit below 4. A text that was limited before keeps the totals of its original, and
    changes only if a limit is smaller now. A limit that is not a whole number from 0, an unknown
    mode and a value that is not a text are a `UsageError`.
    """
    must_be_text(text, "truncate_text: text")
    if mode not in _MODES:
        raise mismatch("truncate_text: mode", "head, tail or head_tail", mode)
    for name, limit in (("lines", max_lines), ("bytes", max_bytes), ("chars", max_chars)):
        if not isinstance(limit, int) or limit < 0:
            raise mismatch(f"truncate_text: max_{name}", "a whole number from 0", limit)
    notice = _notice_of(text)
    content, ranges = _content_before(text, notice) if notice else (text, ((0, len(text)),))
    kept = _KeptText(content, ranges, mode)
    result = kept.within(LINES, max_lines).within(CHARACTERS, max_chars).within(BYTES, max_bytes)
    if result == kept:
        return Limited(content, text[notice.start() :].lstrip("\n") if notice else "")
    content, plain_text = result.contents
    totals = notice.groupdict() if notice else _sizes(text)
    return Limited(content, _notice(plain_text, totals))


def is_limited(text: str) -> bool:
    """Whether a text has the notice of `truncate_text`."""
    return _notice_of(text) is not None


def limited_text(text: str) -> Limited | None:
    """The content and the notice of a text that `truncate_text` limited; None for other texts."""
    notice = _notice_of(text)
    if notice is None:
        return None
    return Limited(_content_before(text, notice)[0], text[notice.start() :].lstrip("\n"))


def spill_notice(path: str, sha256: str, text: str) -> str:
    """The text that replaces a text moved to a file: its sizes, the path of the file and its
    SHA-256 (hex).
    """
    size = _sizes(text)
    sizes = f"{size['lines']} lines, {size['bytes']}, {size['characters']} chars"
    return f"[tool output of {sizes} moved to {path}, sha256 {sha256}]"


def spilled_to(text: str) -> tuple[str, str] | None:
    """The path and the SHA-256 in a spill notice; None for any other text."""
    match = SPILLED.fullmatch(text)
    return (match["path"], match["sha256"]) if match else None


def _notice_of(text: str) -> re.Match[str] | None:
    if not text.endswith("chars]"):  # as almost always
        return None
    return NOTICE.search(text, max(0, len(text) - _LONGEST))


def _notice(plain_text: str, totals: dict[str, str]) -> str:
    """The notice of a text that is shown, without its markers, and the sizes of its original."""
    sizes = _sizes(plain_text)
    characters = f"{sizes['characters']}/{totals['characters']} chars"
    return (
        f"[tool output truncated: showing {sizes['lines']}/{totals['lines']} lines, "
        f"{sizes['bytes']}/{totals['bytes']} bytes, {characters}]"
    )


def _sizes(text: str) -> dict[str, str]:
    """The sizes of a text as notices write them."""
    end = len(text)
    lines, size = LINES.size(text, 0, end), BYTES.size(text, 0, end)
    return {"lines": str(lines), "bytes": _size(size), "characters": str(end)}


def _size(count: int) -> str:
    """A number of bytes as notices write it: `12B`, `1.5KB`, `2.0MB`."""
    if count < 1 << 10:
        return f"{count}B"
    if count < 1 << 20:
        return f"{count / (1 << 10):.1f}KB"
    return f"{count / (1 << 20):.1f}MB"


def _content_before(text: str, notice: re.Match[str]) -> tuple[str, tuple[Range, ...]]:
    """The content before a notice and the ranges of its head and tail, as long as the notice says.

    The line break before the empty line belongs to the content or to the notice: to the content if
    there is one more before it.
    """
    end = notice.start()
    contents = [text[: end + 1]]
    if not text.endswith("\n", 0, end):
        contents.insert(0, text[:end])
    size = int(notice["shown"])
    for content in contents:
        if len(content) == size:
            return content, ((0, len(content)),)
        for mark in marked(content):
            if len(content) - (mark.end - mark.start) == size:
                return content, ((0, mark.start), (mark.end, len(content)))
    content = contents[0]  # edited after it was limited
    return content, ((0, len(content)),)


@dataclass(frozen=True)
class _KeptText:
    """The kept ranges of a text, in order: all of it, a head, a tail, or a head and a tail."""

    text: str
    ranges: tuple[Range, ...]
    mode: str

    def within(self, unit: TextUnit, limit: int) -> "_KeptText":
        """The ranges cut to at most `limit` units; 0 is no limit."""
        if not limit or unit.size(self.plain_text, 0, len(self.plain_text)) <= limit:
            return self
        sizes = [unit.size(self.text, start, end) for start, end in self.ranges]
        ranges: list[Range] = []
        if self.mode == "tail":
            start, end = self.ranges[-1]
            ranges.append((unit.tail(self.text, start, end, limit), end))
        elif self.mode == "head" or limit < _LEAST:
            for (start, end), size in zip(self.ranges, sizes, strict=True):
                ranges.append((start, unit.head(self.text, start, end, limit)))
                limit = max(limit - size, 0)
        else:
            first = max(min(sizes[0], limit // 2), limit - sizes[-1])
            start, end = self.ranges[0]
            stop = unit.head(self.text, start, end, first)
            ranges.append((start, stop))
            start, end = max(stop, self.ranges[-1][0]), self.ranges[-1][1]
            ranges.append((unit.tail(self.text, start, end, limit - first), end))
        return replace(self, ranges=tuple(ranges))

    @property
    def plain_text(self) -> str:
        """The kept text without markers."""
        return "".join(self.text[start:end] for start, end in self.ranges)

    @property
    def contents(self) -> tuple[str, str]:
        """The kept text with a marker in place of its middle, and the same without the marker, as a
        later run reads it.
        """
        text = self.text[: self.ranges[-1][1]]
        kept, markers = joined(self.ranges), marked(text)
        content = shown(text, kept, markers, 0)
        removed = gaps(len(text), kept, markers, 0)
        if not removed:
            return content, content
        tail = len(content) - len(text) + removed[0].end
        mark = next(mark for mark in marked(content) if mark.end == tail)
        return content, content[: mark.start] + content[tail:]
