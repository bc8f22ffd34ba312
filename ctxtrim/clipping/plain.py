"""Any text: head and tail in whole lines."""

from ctxtrim.clipping.kind import Cut, Kind
from ctxtrim.clipping.layout import lines_of, shares_of
from ctxtrim.clipping.selection import select


def _clip(cut: Cut) -> str | None:
    return select(cut, lines_of(cut.text), shares_of(cut.mode))


PLAIN = Kind("plain", lambda text: True, _clip)
