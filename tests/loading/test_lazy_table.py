import pytest

from ctxtrim.loading.lazy_table import LazyTable, module_table


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
