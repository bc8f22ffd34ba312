"""JSON lines: one value a line, cut by whole lines only."""

from ctxtrim.clipping.json_spans import scan
from ctxtrim.clipping.kind import Cut, Kind
from ctxtrim.clipping.order import ends
from ctxtrim.clipping.selection import select

_SAMPLE = 3  # lines that are read


def _knows(text: str) -> bool:
    """Whether the first lines are objects or arrays, each whole."""
    lines: list[str] = []
    start = 0
    while len(lines) < _SAMPLE and start < len(text):
        if text[start] not in "[{":
            return False
        stop = text.find("\n", start) + 1 or len(text)
        lines.append(text[start:stop])
        start = stop
    return len(lines) > 1 and all(scan(line) is not None for line in lines)


def _clip(cut: Cut) -> str | None:
    return select(cut.text, ends(cut.text, len(cut.text), cut.mode), cut.keep, cut.limit, cut.tokenizer)


JSON_LINES = Kind("json lines", _knows, _clip)
