"""An attachment as a value: what it is and how large, as far as its block and its header tell."""

from dataclasses import dataclass
from typing import Literal

SMALLEST = 100
"""Bytes below which no picture fits whose header does not tell its size: the smallest JPEG has 107, a TIFF 110."""

MediaKind = Literal["image", "audio", "pdf", "file", "sealed"]


@dataclass(frozen=True, slots=True)
class Media:
    """One attachment. What is None is not known, and costs the most that it may.

    `width` and `height` are pixels, `detail` the resolution that the request asks for (low, high, auto, original;
    for Gemini low, medium, high, ultra_high), `seconds` the length of a sound, `pages` the most pages that a PDF can
    have, `size` the bytes of the file where it stands in the block. What is `sealed` is text that only the provider can
    read, such as reasoning that it sends encrypted.
    """

    kind: MediaKind
    width: int | None = None
    height: int | None = None
    detail: str | None = None
    seconds: float | None = None
    pages: int | None = None
    size: int | None = None

    @property
    def pixels(self) -> tuple[int, int] | None:
        """Width and height, where both are known and positive; bytes too few for a picture count as one pixel."""
        if self.width is None or self.height is None or min(self.width, self.height) < 1:
            return (1, 1) if self.size is not None and self.size < SMALLEST else None
        return self.width, self.height
