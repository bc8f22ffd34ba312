"""What a picture costs: one small rule for each way in which providers cut pictures up.

Where a rule leaves the rounding open, the dearer reading is taken. Results are tokens, for any size and detail.
"""

from bisect import bisect_right
from dataclasses import dataclass
from math import ceil, floor, sqrt
from typing import Literal, Protocol

from ctxtrim.model import Media


class ImagePolicy(Protocol):
    """Says what a picture costs; one of unknown size costs the most that any can at its detail."""

    def tokens(self, media: Media) -> int:
        """The tokens of a picture."""
        ...


@dataclass(frozen=True, slots=True)
class Tiles:
    """OpenAI's older rule: `base` tokens, and `tile` for each tile of 512 pixels.

    The picture is made to fit 2048 x 2048, its shorter side 768, and is never enlarged; low detail costs `base`.
    Source: developers.openai.com, images and vision; a picture of 511 x 511 costs one tile by the API's counts.
    """

    base: int
    tile: int

    def tokens(self, media: Media) -> int:
        """The tokens of a picture, at most 8 tiles; detail auto and original count as high."""
        if media.detail == "low":
            return self.base
        return self.base + self.tile * self._tiles(media.pixels)

    def _tiles(self, pixels: tuple[int, int] | None) -> int:
        if pixels is None:
            return 8
        long, short = max(pixels), min(pixels)
        # the scale as a fraction: 1, 2048 over the longer or 768 over the shorter side, whichever is smallest
        part, whole = min(((1, 1), (2048, long), (768, short)), key=lambda scale: scale[0] / scale[1])
        return _ceil(long * part, whole * 512) * _ceil(short * part, whole * 512)


@dataclass(frozen=True, slots=True)
class Grid:
    """How far a picture is scaled down before it is cut into patches of 32 pixels: patches, and pixels a side."""

    budget: int
    side: int | None = None

    @property
    def most(self) -> int:
        """The most patches that any picture has."""
        return self.budget if self.side is None else min(self.budget, _ceil(self.side, 32) ** 2)

    def patches(self, width: int, height: int) -> int:
        """The patches of a picture, scaled down to whole patches as the documentation of OpenAI says."""
        long = max(width, height)
        if self.side is not None and long > self.side:
            width, height = _ceil(width * self.side, long), _ceil(height * self.side, long)
        whole = _cover(width, height, 32)
        if whole <= self.budget:
            return whole
        shrink = sqrt(32**2 * self.budget / (width * height))
        columns, rows = width * shrink / 32, height * shrink / 32
        if min(columns, rows) < 1:  # a strip thinner than a patch: the rule does not say
            return self.most
        shrink *= min(floor(columns) / columns, floor(rows) / rows)
        return min(self.most, _cover(floor(width * shrink), floor(height * shrink), 32))


@dataclass(frozen=True, slots=True)
class Patches:
    """OpenAI's newer rule: patches of 32 pixels, times the model's multiplier.

    `low` and `original` are None where that detail is charged as high; `frame` is added to each picture. Source:
    developers.openai.com, images and vision, spring and October 2026; limits by detail as litellm 1.109.1 (MIT) gives
    them; the frame from recorded requests.
    """

    multiplier: float
    high: Grid
    low: Grid | None = None
    original: Grid | None = None
    auto: Literal["high", "original"] = "high"
    frame: int = 0

    def tokens(self, media: Media) -> int:
        """The tokens of a picture; a detail that is unknown or not given counts as auto."""
        grid = self._grid(media.detail)
        patches = grid.most if media.pixels is None else grid.patches(*media.pixels)
        return self.frame + ceil(round(patches * self.multiplier, 6))  # 1.2 is no binary number

    def _grid(self, detail: str | None) -> Grid:
        detail = detail if detail in ("low", "high", "original") else self.auto
        chosen = {"low": self.low, "original": self.original}.get(detail)
        return chosen or self.high


@dataclass(frozen=True, slots=True)
class Anthropic:
    """Anthropic's rule: patches of 28 pixels, after scaling down to `edge` pixels a side and `cap` patches.

    `allowance` comes on top where a picture is scaled down: the standard tier was charged up to 28 tokens above its
    own cap, while pictures that fit cost the rule's tokens exactly. Source: platform.claude.com, vision; third-party
    measurements of ten sizes on two models.
    """

    edge: int
    cap: int
    allowance: int = 0

    def tokens(self, media: Media) -> int:
        """The tokens of a picture; detail does not matter."""
        if media.pixels is None:
            return self.cap + self.allowance
        long, short = max(media.pixels), min(media.pixels)
        if long <= self.edge and (whole := _cover(long, short, 28)) <= self.cap:
            return whole

        def at(edge: int) -> int:
            return _ceil(edge, 28) * _ceil(edge * short, long * 28)

        largest = bisect_right(range(1, min(long, self.edge) + 1), self.cap, key=at)
        return at(largest) + self.allowance


@dataclass(frozen=True, slots=True)
class Crops:
    """The rule of Gemini 2: 258 tokens, and for a side above 384 pixels as many for each crop.

    A crop is two thirds of the shorter side, 256 to 768 pixels. No picture has more than 24, as none is larger than
    3072 pixels a side once scaled down. `more` crops are added to each picture, as gemini-2.0-flash does. Sources:
    ai.google.dev, tokens; firebase.google.com, input file requirements; recorded requests.
    """

    crop: int = 258
    most: int = 24
    more: int = 0

    def tokens(self, media: Media) -> int:
        """The tokens of a picture; detail does not matter. Large ones are charged unscaled, up to the most."""
        if media.pixels is None:
            return self.crop * (self.most + self.more)
        long, short = max(media.pixels), min(media.pixels)
        if long <= 384:
            return self.crop * (1 + self.more)
        unit = min(768, max(256, short * 2 // 3))
        return self.crop * (min(self.most, _cover(long, short, unit)) + self.more)


@dataclass(frozen=True, slots=True)
class Levels:
    """The rule of Gemini 3 and 4: a number for each resolution that a request can ask for, whatever the size.

    Source: ai.google.dev, media resolution; 1,065 to 1,101 tokens measured at the default, prompt included.
    """

    low: int = 280
    medium: int = 560
    high: int = 1120
    ultra_high: int = 2240

    def tokens(self, media: Media) -> int:
        """The tokens of a picture; a resolution that is unknown or not given is high."""
        levels = {"low": self.low, "medium": self.medium, "ultra_high": self.ultra_high}
        return levels.get(media.detail or "", self.high)


@dataclass(frozen=True, slots=True)
class Flat:
    """The same for every picture: where only the most that one can cost is known."""

    most: int

    def tokens(self, media: Media) -> int:
        """The tokens of any picture."""
        return self.most


@dataclass(frozen=True, slots=True)
class Largest:
    """The dearest of several rules: where sources disagree, or the model is not known."""

    policies: tuple[ImagePolicy, ...]

    def tokens(self, media: Media) -> int:
        """The tokens of a picture by the rule that charges the most."""
        return max(policy.tokens(media) for policy in self.policies)


def _cover(width: int, height: int, side: int) -> int:
    """How many squares cover a picture."""
    return _ceil(width, side) * _ceil(height, side)


def _ceil(number: int, divisor: int) -> int:
    """A quotient rounded up, in whole numbers."""
    return -(-number // divisor)
