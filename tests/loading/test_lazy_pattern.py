import re

import pytest

from ctxtrim.loading.lazy_pattern import lazy_pattern


def test_a_lazy_pattern_has_the_methods_of_the_pattern() -> None:
    knots = lazy_pattern(r"(\d+) KN", re.IGNORECASE)
    assert [knots.sub(r"\1", "12 kn"), knots.sub(r"\1", "7 Kn")] == ["12", "7"]
    assert knots.search("wind", 1) is None
    assert knots.pattern == r"(\d+) KN"
    assert lazy_pattern(rb"\d").findall(b"1 2") == [b"1", b"2"]


def test_a_lazy_pattern_is_compiled_on_use() -> None:
    broken = lazy_pattern("(")
    with pytest.raises(re.error):
        broken.search("")
