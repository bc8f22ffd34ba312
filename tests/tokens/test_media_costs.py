"""Media: the charges of each family of models, by documented examples and by measurements."""

import pytest
from depth import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from ctxtrim.model import Media
from ctxtrim.tokens.media.image_costs import Anthropic, Grid, Patches, Tiles
from ctxtrim.tokens.media.policies import PAGES, POLICIES

SIDES = st.integers(1, 20_000)
DETAILS = st.sampled_from([None, "auto", "low", "medium", "high", "ultra_high", "original", "odd"])


def image(width: int | None = None, height: int | None = None, detail: str | None = None) -> Media:
    return Media("image", width, height, detail)


@pytest.mark.parametrize(
    ("policy", "media", "tokens"),
    [
        # developers.openai.com, images and vision
        ("openai-gpt-4o", image(1024, 1024), 765),
        ("openai-gpt-4o", image(2048, 4096), 1105),
        ("openai-gpt-4o", image(4096, 8192, "low"), 85),
        (
            "openai-gpt-4o",
            image(511, 511),
            255,
        ),  # counted by the API: one tile, not enlarged
        ("openai-gpt-4o", image(512, 512, "original"), 255),
        ("openai-gpt-4o", image(), 1445),
        ("openai-gpt-4o-mini", image(1024, 1024), 25_501),
        ("openai-gpt-4o-mini", image(), 48_169),
        ("openai-gpt-5", image(1024, 1024), 630),
        ("openai-o1", image(detail="low"), 75),
        ("openai-computer-use", image(), 1097),
        ("openai-o4-mini", image(1024, 1024), 1762),
        ("openai-o4-mini", image(), 2642),
        ("openai-gpt-4.1-mini", image(1024, 1024), 1661),
        ("openai-gpt-4.1-mini", image(), 6638),
        ("openai-gpt-5-nano", image(1024, 1024), 2520),
        ("openai-gpt-5.4", image(), 3000),
        ("openai-gpt-5.4", image(detail="original"), 12_000),
        ("openai-gpt-5.6", image(detail="low"), 308),
        ("openai-gpt-5.6", image(), 36_000),
        # measured by a third party, the prompt taken off (the dataset image-token-cost of
        # JOHNISKING)
        ("openai-gpt-6", image(256, 256, "auto"), 77),
        ("openai-gpt-6", image(1024, 1024, "auto"), 1229),
        ("openai-gpt-6", image(1280, 720), 1104),
        ("openai-gpt-6", image(4032, 3024), 14_364),
        ("openai-gpt-6", image(2560, 1440, "high"), 2931),
        ("openai-gpt-6", image(3840, 2160, "high"), 2931),
        ("openai-gpt-6", image(4032, 3024, "high"), 2942),
        ("openai-gpt-5.5", image(3840, 2160), 9792),
        ("openai-gpt-5.5", image(4032, 3024), 11_868),
        # platform.claude.com, vision
        ("anthropic-high", image(200, 200), 64),
        ("anthropic-high", image(1000, 1000), 1296),
        ("anthropic-high", image(1920, 1080), 2691),
        ("anthropic-high", image(3840, 2160), 4784),
        ("anthropic-high", image(), 4784),
        ("anthropic-standard", image(200, 200), 64),
        ("anthropic-standard", image(1000, 1000), 1296),
        ("anthropic-standard", image(1920, 1080), 1560 + 100),
        ("anthropic-standard", image(2160, 3840), 1560 + 100),
        ("anthropic-standard", image(), 1668),
        # ai.google.dev, tokens and media resolution
        ("gemini-2", image(384, 384), 258),
        ("gemini-2", image(960, 540), 6 * 258),
        ("gemini-2", image(), 24 * 258),
        ("gemini-2.0", image(384, 384), 2 * 258),
        ("gemini-2.0", image(960, 540), 7 * 258),
        ("gemini-3", image(4000, 3000), 1120),
        ("gemini-3", image(detail="low"), 280),
        ("gemini-3", image(detail="ultra_high"), 2240),
        ("unknown", image(), 36_000),
        ("openai-gpt-4o", Media("audio", seconds=1.25), 13),
        ("openai-gpt-4o", Media("audio", size=750_000), 10_000),
        ("gemini-2", Media("audio", seconds=60), 1920),
        ("gemini-3", Media("audio"), 3600 * 32),
        ("gemini-2", Media("pdf", pages=3), 3 * 1_290),
        ("gemini-3", Media("pdf", pages=3), 1680),
        ("gemini-3", Media("pdf", pages=3, detail="high"), 3360),
        ("anthropic-standard", Media("pdf", pages=2), 2 * 4668),
        ("anthropic-high", Media("pdf"), PAGES * 7784),
        ("openai-gpt-4o", Media("pdf", pages=2, detail="low"), 192 + 2 * (3013 + 85)),
        ("openai-gpt-5.6", Media("pdf", pages=2), 192 + 2 * (3013 + 3000)),
        ("openai-gpt-4o", Media("file", size=1000), 1192),
        # openai/codex, context_manager/history.rs
        ("openai-gpt-5", Media("sealed", size=2650), 545),
        ("openai-gpt-5", Media("sealed", size=600), 45),
        ("openai-gpt-5", Media("sealed"), 45),  # content that is no text
    ],
)
def test_documented_and_measured_costs(policy: str, media: Media, tokens: int) -> None:
    assert POLICIES[policy].tokens(media) == tokens


@pytest.mark.parametrize(
    ("policy", "most"),
    [
        ("openai-gpt-4o", 1445), ("openai-gpt-4.1-mini", 6638), ("openai-gpt-5.2", 4916),
        ("openai-gpt-5.4", 12_000), ("openai-gpt-5.4-mini", 12_000), ("openai-gpt-5.5", 12_000),
        ("openai-gpt-6", 36_000), ("gemini-3", 2240), ("anthropic-standard", 1668),
        ("pixtral", 4160), ("qwen", 16_384), ("unknown", 36_000),
    ],
)  # fmt: skip
def test_the_maximum_cost_of_an_image(policy: str, most: int) -> None:
    assert POLICIES[policy].image_most == most


def test_images_are_scaled_as_documented() -> None:
    assert Patches(1, Grid(1536)).tokens(image(1800, 2400)) == 1452
    assert Patches(1, Grid(1536)).tokens(image(1_000_000, 1)) == 1536


@pytest.mark.parametrize(("side", "tokens"), [(256, 100), (512, 361), (768, 784), (1024, 1369)])
def test_anthropic_image_costs_match_measurements_on_both_tiers(side: int, tokens: int) -> None:
    for policy in ("anthropic-standard", "anthropic-high"):
        assert POLICIES[policy].tokens(image(side, side)) == tokens


@pytest.mark.parametrize("size", [(2560, 1440, 1592), (3840, 2160, 1592), (4032, 3024, 1596)])
def test_the_allowance_of_the_standard_tier_covers_the_measurements(
    size: tuple[int, int, int],
) -> None:
    width, height, measured = size
    assert measured <= POLICIES["anthropic-standard"].tokens(image(width, height)) <= 1668


@pytest.mark.parametrize("name", POLICIES)
@given(width=SIDES | st.integers(1, 2**40), height=SIDES | st.integers(1, 2**40), detail=DETAILS)
@settings(max_examples=examples(60))
def test_no_size_costs_more_than_an_unknown_one(
    name: str, width: int, height: int, detail: str | None
) -> None:
    tokens = POLICIES[name].tokens
    assert 0 < tokens(image(width, height, detail)) <= tokens(image(detail=detail))
    assert (
        tokens(image(width, height, detail)) <= POLICIES["unknown"].tokens(image())
        or name == "openai-gpt-4o-mini"
    )


@given(width=SIDES, height=SIDES, more=st.integers(2, 9))
def test_an_enlarged_image_costs_no_less_in_tiles(width: int, height: int, more: int) -> None:
    tiles = Tiles(85, 170)
    assert tiles.tokens(image(width, height)) <= tiles.tokens(image(width * more, height * more))
    assert tiles.tokens(image(width, height)) == tiles.tokens(image(height, width))


@given(
    width=st.integers(1, 900),
    height=st.integers(1, 900),
    wider=st.integers(0, 300),
    higher=st.integers(0, 300),
)
def test_without_scaling_a_larger_image_costs_no_less(
    width: int, height: int, wider: int, higher: int
) -> None:
    for policy in (Patches(1.2, Grid(1536)), Anthropic(1568, 2000)):
        assert policy.tokens(image(width, height)) <= policy.tokens(
            image(width + wider, height + higher)
        )
