import pytest
from bytecodes import bytecodes

from ctxtrim.reports.tables import Look, Table, bar, drawn, shortened

TABLE = Table(
    "",
    ("verdict", "transcript", ">tokens", "model"),
    (("fits", "sessions/of/june/harbour.jsonl:1", "12,345", "gpt-4o"),),
    optional=("model",),
)


def test_a_narrow_table_loses_optional_columns_then_the_middle_of_names() -> None:
    def row(width: int | None) -> str:
        return "".join(drawn(TABLE, Look(width))).splitlines()[1]

    whole = "fits     sessions/of/june/harbour.jsonl:1  12,345"
    assert row(None) == row(57) == f"{whole}  gpt-4o"
    assert row(56) == row(49) == whole
    assert row(40) == "fits     session…harbour.jsonl:1  12,345"
    assert row(10) == "fits     ses….jsonl:1  12,345"


@pytest.mark.parametrize("text", ["harbour.jsonl", "码头/潮汐表.jsonl", "e\u0301" * 20, ""])
@pytest.mark.parametrize("width", [1, 7, 12])
def test_a_shortened_text_fits_and_keeps_its_end(text: str, width: int) -> None:
    short = shortened(text, width)
    table = Table("", ("name", ">n"), ((short, "1"),))
    assert short == text or "…" in short
    assert short == text or text.endswith(short.partition("…")[2])
    assert all(line.rstrip().endswith(("n", "1")) for line in drawn(table))


def test_colors_do_not_change_the_columns() -> None:
    colored = "".join(drawn(TABLE, Look(60, has_colors=True)))
    assert "\x1b[32mfits\x1b[0m" in colored
    for code in ("\x1b[32m", "\x1b[1m", "\x1b[0m"):
        colored = colored.replace(code, "")
    assert colored == "".join(drawn(TABLE, Look(60)))


def test_columns_are_aligned_next_to_wide_characters() -> None:
    rows = (("码头", "潮汐", "1"), ("pier", "tide", "23"), ("e\u0301f", "f", "4"))
    assert list(drawn(Table("", ("", "", ">"), rows))) == [
        "码头  潮汐   1\n",
        "pier  tide  23\n",
        "e\u0301f    f      4\n",
    ]


def test_a_bar_shows_a_share() -> None:
    assert [len(bar(tokens, 1000)) for tokens in (0, 1, 500, 1000)] == [0, 1, 10, 20]
    assert bar(1, 0) == ""


def test_a_column_that_is_whole_keeps_its_texts() -> None:
    table = Table("", ("id", "file"), (("call_" * 8, "path/" * 8),), whole=("id",))
    row = list(drawn(table, Look(width=60)))[1]
    assert row.startswith("call_" * 8)
    assert len(row.rstrip()) <= 60


def test_the_widest_columns_of_a_narrow_table_get_one_width() -> None:
    cells = ("a" * 40, "b" * 20, "c" * 41, "d" * 8)
    (row,) = drawn(Table("", ("", "", "", ""), (cells,)), Look(width=75))
    assert [len(text) for text in row.split()] == [20, 20, 21, 8]
    (row,) = drawn(Table("", ("", "", "", ""), (cells,)), Look(width=10))
    assert [len(text) for text in row.split()] == [12, 12, 12, 8]


@pytest.mark.parametrize("text", ["x" * 20_000_000, "码" * 2_000_000])
@pytest.mark.parametrize("width", [None, 80])
def test_a_long_text_takes_no_long_time(text: str, width: int | None) -> None:
    lines: list[str] = []
    table = Table("", ("name", ">n"), ((text, "1"), ("b", "2")))
    assert bytecodes(lambda: lines.extend(drawn(table, Look(width)))) < 200_000
    assert max(map(len, lines)) <= 5_100
