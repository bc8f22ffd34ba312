"""Any text: head and tail in whole lines."""

from collections.abc import Iterator

from ctxtrim.clipping.kind import ClipText, Draft, TextKind
from ctxtrim.clipping.layout import shares_of, text_scale
from ctxtrim.clipping.selection import select


def _drafts(source: ClipText) -> Iterator[Draft]:
    return select(source, text_scale(source.text), shares_of(source.mode))


PLAIN = TextKind("plain", lambda text: True, _drafts)
