import pytest

from ctxtrim.text.tolerance import parse_tolerance


@pytest.mark.parametrize(
    ("text", "most"),
    [
        ("0", 100),
        ("29", 129),
        ("29%", 129),
        ("28.999%", 128),
        ("57%", 157),
        ("0.5%", 100),
        ("1%", 101),
        ("250 %", 350),
        ("1k", 1100),
        ("1,000", 1100),
        ("30_000", 30_100),
        ("1,000%", 1100),
    ],
)
def test_a_tolerance_is_exact(text: str, most: int) -> None:
    assert parse_tolerance(text).most(100) == most


@pytest.mark.parametrize("text", ["", "%", "-1", "-1%", "1.5", "nan%", "inf%", "1e3", "x", "5%%"])
def test_other_texts_are_invalid(text: str) -> None:
    with pytest.raises(ValueError, match="such as 200 or 5%"):
        parse_tolerance(text)
