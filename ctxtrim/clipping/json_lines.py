"""JSON lines: one value per line, cut between lines only."""

from collections.abc import Iterator

from ctxtrim.clipping.kind import ClipText, Draft, TextKind
from ctxtrim.clipping.layout import line_scale, shares_of
from ctxtrim.clipping.selection import select
from ctxtrim.text.json_spans import document

_SAMPLE = 3  # lines to check


def _knows(text: str) -> bool:
    """Whether the first lines are complete objects or arrays."""
    lines: list[str] = []
    start = 0
    while len(lines) < _SAMPLE and start < len(text):
        if text[start] not in "[{":
            return False
        stop = text.find("\n", start) + 1 or len(text)
        lines.append(text[start:stop])
        start = stop
    return len(lines) > 1 and all(document(line) is not None for line in lines)


def _drafts(source: ClipText) -> Iterator[Draft]:
    return select(source, line_scale(source.text), shares_of(source.mode))


JSON_LINES = TextKind("json lines", _knows, _drafts)
