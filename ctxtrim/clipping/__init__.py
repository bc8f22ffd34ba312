"""Clips: shorten one text, in a way that suits its kind.

`clipper.KINDS` are tried in order. A new kind is a module with a `TextKind` and an entry in this
table.
"""

from typing import TYPE_CHECKING

from ctxtrim.loading.lazy_table import lazy_names

if TYPE_CHECKING:
    from ctxtrim.clipping.clipper import MODES, Clipper, clip

__all__ = ["MODES", "Clipper", "clip"]

__getattr__ = lazy_names(
    "ctxtrim.clipping",
    {"clipper": ("MODES", "Clipper", "clip")},
)
