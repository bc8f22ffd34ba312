"""Any text: its head and its tail, by whole lines."""

from ctxtrim.clipping.kind import Cut, Kind
from ctxtrim.clipping.order import ends
from ctxtrim.clipping.selection import select


def _clip(cut: Cut) -> str | None:
    return select(cut.text, ends(cut.text, cut.limit, cut.mode), cut.keep, cut.limit, cut.tokenizer)


PLAIN = Kind("plain", lambda text: True, _clip)
