import re

import pytest

from ctxtrim.loading import LazyTable, lazy_pattern, module_table


def test_names_are_known_before_a_value_is_loaded() -> None:
    loaded: list[str] = []
    table = LazyTable(("mast", "keel"), lambda name: loaded.append(name) or name.upper())
    assert [*table] == ["mast", "keel"]
    assert ("keel" in table, "rudder" in table, len(table)) == (True, False, 2)
    assert loaded == []
    assert [table["keel"], table["keel"]] == ["KEEL", "KEEL"]
    assert loaded == ["keel"]
    assert table.get("rudder") is None
    assert [*table.items()] == [("mast", "MAST"), ("keel", "KEEL")]


def test_a_program_can_add_replace_and_remove_a_row() -> None:
    table = LazyTable(("mast",), str.upper)
    table["mast"], table["keel"] = "M", "K"
    assert dict(table) == {"mast": "M", "keel": "K"}
    del table["mast"]
    assert dict(table) == {"keel": "K"}
    with pytest.raises(KeyError):
        table["mast"]


def test_a_row_of_a_module_table_is_an_attribute_of_a_module() -> None:
    assert module_table("json", {"reader": "decoder:JSONDecoder"})["reader"]().decode("1") == 1


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
