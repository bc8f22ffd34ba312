"""Clips: a text within its limit, markers included, with the exact removed amount (S0-5, and the
error lines of S0-11).
"""

import json
import re
from itertools import pairwise

import pytest
from clipping_texts import (
    DIFF,
    GREP,
    JSON,
    JSON_LINES,
    OF_A_KIND,
    PLAIN,
    TEST_RUN,
    edges,
    plain_texts,
    walked,
)
from hypothesis import given
from hypothesis import strategies as st

from ctxtrim.clipping.clipper import MODES, clip, kind_of
from ctxtrim.clipping.layout import Mode
from ctxtrim.clipping.markers import MARKER, marked
from ctxtrim.errors import UsageError
from ctxtrim.tokenizers import tokenizer

O200K, CHARS4 = tokenizer("o200k_base"), tokenizer("chars4")
LIMITS = (0, 1, 2, 5, 10, 31, 64, 100, 500)
modes = st.sampled_from(MODES)
limits = st.sampled_from(LIMITS)


@pytest.mark.parametrize("name", OF_A_KIND)
def test_every_kind_of_text_is_recognized(name: str) -> None:
    assert kind_of(OF_A_KIND[name]) == name


@pytest.mark.parametrize(
    ("text", "name"),
    [
        (GREP, "listing"),
        ("total 8\n" + "-rw-r--r-- 1 me us 12 Jan  1 10:00 a b.txt\n" * 9, "listing"),
        ("a short story\nof two lines", "plain"),
        ("src/a.c:12:5: error: expected ';'\n" * 9, "log"),
        ("0 errors\nno failures\n" * 9, "plain"),
        ('{"a": 1}\nthen text\n' * 9, "plain"),
        ("--- a list\n+++ that is none\n" * 9, "plain"),
        ("", "plain"),
    ],
)
def test_similar_kinds_of_text_are_distinguished(text: str, name: str) -> None:
    assert kind_of(text) == name


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("text", ["", "a", PLAIN, JSON])
def test_a_text_that_fits_is_unchanged(text: str, mode: Mode) -> None:
    assert clip(text, O200K.count(text), O200K, mode) is text


def test_an_unknown_mode_is_refused() -> None:
    with pytest.raises(
        UsageError, match="unknown mode: middle; expected one of head, tail, head-tail"
    ):
        clip("a", 1, O200K, "middle")  # type: ignore[arg-type]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("limit", LIMITS)
@pytest.mark.parametrize("name", OF_A_KIND)
def test_s0_5_a_clip_with_markers_stays_within_its_limit(name: str, limit: int, mode: Mode) -> None:
    item = clip(OF_A_KIND[name], limit, O200K, mode)
    assert O200K.count(item) <= limit
    assert clip(item, limit, O200K, mode) is item
    if limit >= 100:
        assert O200K.count(item) >= 0.6 * limit
        assert "truncated" in item


@pytest.mark.parametrize("name", ["diff", "listing", "log", "plain", "json lines"])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("limit", [64, 100, 500, 1000])
def test_whole_lines_are_counted_as_lines(name: str, mode: Mode, limit: int) -> None:
    text = clip(OF_A_KIND[name], limit, O200K, mode)
    summary = [(int(mark[1] or 0), mark[2] or mark[3]) for mark in MARKER.finditer(text)]
    assert all(characters is None for _, characters in summary)
    shown = len(text.splitlines()) - len(summary)
    assert shown + sum(lines for lines, _ in summary) == len(OF_A_KIND[name].splitlines())
    walked(OF_A_KIND[name], text)


def test_a_plain_text_keeps_head_and_tail_by_mode() -> None:
    both, first, last = (clip(PLAIN, 100, O200K, mode) for mode in ("head-tail", "head", "tail"))
    assert both.startswith("This is line 0 of the story.\nThis is line 1 of")
    assert both.endswith("This is line 498 of the story.\nThis is line 499 of the story.\n")
    assert re.fullmatch(
        r"(This is line \d of the story\.\n)+\.\.\. \[truncated 49\d lines\] \.\.\.", first
    )
    assert re.fullmatch(
        r"\.\.\. \[truncated 49\d lines\] \.\.\.\n(This is line 4\d\d of the story\.\n)+", last
    )


def test_an_endless_line_keeps_head_and_tail() -> None:
    text = "0123456789" * 10_000
    item = clip(text, 100, O200K)
    first, last = item.split("\n")[0], item.split("\n")[2]
    assert (
        item
        == f"{first}\n... [truncated {len(text) - len(first) - len(last)} characters] ...\n{last}"
    )
    assert min(len(first), len(last)) > 50


@pytest.mark.parametrize("mode", MODES)
def test_an_endless_line_is_not_cut_inside_a_color(mode: Mode) -> None:
    color = "\x1b[38;5;12m"
    part = f"{color}ab"
    text = part * 3_000
    for limit in range(60, 80):
        for start, end in walked(text, clip(text, limit, CHARS4, mode)):
            assert start % len(part) == 0 or start % len(part) >= len(color)
            assert end % len(part) == 0 or end % len(part) >= len(color)


def test_a_test_run_keeps_its_failure_and_its_summary() -> None:
    item = clip(TEST_RUN, 200, O200K)
    assert item.startswith("===== test session starts =====\n")
    assert "tests/test_mid.py::test_the_thing FAILED [50%]\nE       assert 3 == 4\n" in item
    assert item.endswith("===== 1 failed, 400 passed in 12.3s =====\n")


def test_a_traceback_stays_together() -> None:
    block = (
        'Traceback (most recent call last):\n  File "a.py", line 1, in f\n    f()\nKeyError: 3\n'
    )
    text = "a quiet line of the log\n" * 300 + block + "a quiet line of the log\n" * 300
    assert block in clip(text, 200, O200K)


def test_a_traceback_above_the_limit_keeps_its_error_line() -> None:
    frames = "".join(
        f'  File "module_{number}.py", line {number}, in call\n    call()\n' for number in range(20)
    )
    quiet = "a quiet line of the log\n" * 300
    text = f"{quiet}Traceback (most recent call last):\n{frames}KeyError: the cause\n{quiet}"
    assert "    call()\nKeyError: the cause\n" in clip(text, 150, O200K)


@pytest.mark.parametrize("lines", [100, 2_000, 20_000])
def test_the_only_error_of_a_log_of_any_length_is_shown(lines: int) -> None:
    quiet = "2024-05-01 10:00:00 INFO [worker-3] all is quiet on the host\n" * lines
    error = "2024-05-01 10:00:00 ERROR [worker-3] cannot open /etc/app.conf\n"
    assert f"\n{error}" in clip(f"{quiet}{error}{quiet}", 300, O200K)


def test_a_repeated_error_line_is_shown_once() -> None:
    text = (
        "begin with the host\n" * 100
        + "ERROR: no route\n" * 500
        + "ERROR: the cause\n"
        + "waiting on the host\n" * 500
    )
    item = clip(text, 150, O200K)
    assert "ERROR: the cause" in item
    assert item.count("ERROR: no route") < 5


@pytest.mark.parametrize("name", ["chars4", "o200k_base"])
def test_an_error_in_the_middle_is_shown_although_the_head_has_more_errors(name: str) -> None:
    quiet = "a quiet line of the log\n" * 200
    text = f"ERROR: no disk\nERROR: no cable\n{quiet}ERROR: the cause\n{quiet}1 failed\n"
    assert "ERROR: the cause" in clip(text, 150, tokenizer(name))


def test_a_diff_keeps_its_first_hunks_and_a_tail_below_its_headers() -> None:
    text = clip(DIFF, 700, O200K)
    assert text.startswith(
        "diff --git a/src/first.py b/src/first.py\nindex 1..2 100644\n--- a/src/first.py\n"
    )
    assert text.endswith("-old line 139\n+new line 139\n")
    assert re.search(
        r"lines\] \.\.\.\ndiff --git a/src/third.py b/src/third.py\nindex 1\.\.2 100644\n"
        r"--- a/src/third.py\n\+\+\+ b/src/third.py\n"
        r"\.\.\. \[truncated \d+ lines\] \.\.\.\n@@ -100,40 \+100,40 @@\n"
        r"\.\.\. \[truncated \d+ lines\] \.\.\.\n-old line",
        text,
    )
    assert len(MARKER.findall(text)) == 3


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("limit", [300, 500, 700, 900, 1200, 1500])
@pytest.mark.parametrize("text", [DIFF, DIFF[: DIFF.index("diff --git a/src/second")], DIFF * 4])
def test_every_line_of_a_clipped_diff_is_below_the_headers_of_its_file_and_hunk(
    text: str, limit: int, mode: Mode
) -> None:
    kept = [span for span in walked(text, clip(text, limit, O200K, mode)) if span[0] < span[1]]
    for start, _ in kept:
        file = text.rfind("diff --git ", 0, start + len("diff --git "))
        hunk = text.rfind("@@ -", file, start + len("@@ -"))
        for header in (file, hunk):
            assert header < 0 or any(first <= header < stop for first, stop in kept)


def test_a_diff_without_room_for_headers_of_a_tail_keeps_more_of_its_head() -> None:
    item = clip(DIFF, 120, O200K)
    assert len(MARKER.findall(item)) == 1
    assert O200K.count(item) >= 105


def test_the_tail_of_a_diff_starts_at_a_near_header() -> None:
    text = DIFF + DIFF[: DIFF.index("-old line 5\n")].replace("first", "fourth")
    item = clip(text, 300, O200K)
    assert f"lines] ...\n{text[text.index('diff --git a/src/fourth.py') :]}" in item
    assert len(MARKER.findall(item)) == 1


def test_a_diff_whose_headers_do_not_fit_keeps_the_first_headers() -> None:
    assert clip(DIFF, 100, O200K).startswith("diff --git a/src/first.py b/src/first.py\n")


def test_a_listing_keeps_its_head() -> None:
    text = clip(OF_A_KIND["listing"], 100, O200K)
    assert text.startswith("./src/package_0/module_0.py\n./src/package_0/module_1.py\n")
    assert re.search(r"\n\.\.\. \[truncated \d+ lines\] \.\.\.$", text)


def test_json_lines_are_clipped_by_whole_lines() -> None:
    text = clip(JSON_LINES, 200, O200K)
    rest = [line for line in text.splitlines() if not MARKER.fullmatch(line)]
    assert {0, 299} <= {json.loads(line)["id"] for line in rest}


@pytest.mark.parametrize("mode", MODES)
def test_required_ranges_are_in_the_clip(mode: Mode) -> None:
    wanted = [PLAIN.index(f"line {number} of") for number in (250, 253, 247)]
    text = clip(PLAIN, 200, O200K, mode, [(start, start + 11) for start in wanted])
    assert all(f"This is line {number} of the story.\n" in text for number in (250, 253, 247))
    assert len(MARKER.findall(text)) == 2
    walked(PLAIN, text)


def test_s0_11_a_long_required_line_keeps_its_beginning() -> None:
    text = "x " * 3000 + "\nValueError: " + "far too long " * 900 + "\n" + "y " * 3000
    start = text.index("ValueError")
    item = clip(text, 100, CHARS4, keep=[(start, start + 9000)])
    assert "ValueError: far too long far too long" in item
    walked(text, item)


def test_a_used_value_in_json_is_kept() -> None:
    text = json.dumps(
        {
            "log": "a " * 3000 + "token=SECRET-42" + " b" * 3000,
            "rows": [{"id": f"r{n}"} for n in range(900)],
        }
    )
    places = [text.index("token=SECRET-42"), text.index('"r450"')]
    item = clip(text, 200, O200K, keep=[(places[0], places[0] + 15), (places[1], places[1] + 6)])
    value = json.loads(item)
    assert "token=SECRET-42" in value["log"]
    assert {"id": "r450"} in value["rows"]
    assert O200K.count(item) <= 200


def shows(text: str, kept: list[tuple[int, int]], wanted: tuple[int, int], least: int) -> bool:
    """Whether a clip shows a whole range, or at least so many tokens of its beginning.

    The line break at the end of a range may be that of a marker.
    """
    start, end = wanted
    stop = next((stop for begin, stop in kept if begin <= start < stop), start)
    is_whole = stop >= start + len(text[start:end].rstrip("\r\n"))
    return is_whole or CHARS4.count(text[start:stop]) >= least


WORDS, CLUSTERS = "word " * 9, "e\u0301" * 7
FAMILIES = "👨‍👩‍👧" * 5


@pytest.mark.parametrize(
    ("text", "mode", "wanted"),
    [
        # two lines are longer than a third of the limit, the range is not
        (f"{WORDS}\n" * 4 + "=" * 90, "tail", (0, 47)),
        # a whole line is less than a quarter of the limit
        ("word word word word word \n" * 8 + "=" * 60, "tail", (0, 200)),
        # with the line before the range there is no room for it
        (f"{CLUSTERS}\r\na\r\n{FAMILIES}\r\n{CLUSTERS}\r\n{FAMILIES}\r\n" * 9, "head", (172, 248)),
        # the gap before the range is short, but there is no room to fill it
        ("".join(f"line {number} of it\n" for number in range(30)), "head", (172, 248)),
    ],
)
def test_a_range_gets_a_quarter_of_the_limit(
    text: str, mode: Mode, wanted: tuple[int, int]
) -> None:
    item = clip(text, 64, CHARS4, mode, [wanted])
    assert CHARS4.count(item) <= 64
    assert shows(text, walked(text, item), wanted, 16)


@given(plain_texts, limits, modes, st.data())
def test_properties_of_clips_of_any_text(
    text: str, limit: int, mode: Mode, data: st.DataObject
) -> None:
    position = st.integers(0, len(text))
    keep = data.draw(
        st.lists(st.tuples(position, position).map(lambda one: (min(one), max(one))), max_size=3)
    )
    item = clip(text, limit, CHARS4, mode, keep)
    assert CHARS4.count(item) <= limit
    if CHARS4.count(text) <= limit:
        assert item is text
    elif MARKER.search(item) and kind_of(text) != "json":
        kept = walked(text, item)
        assert {edge for span in kept for edge in span} <= edges(text)
        # the headers of a diff, and whole JSON lines, may leave no room for a range
        if keep and limit >= 64 and kind_of(text) in ("plain", "log", "listing"):
            assert keep[0][0] == keep[0][1] or shows(text, kept, keep[0], limit // 4)
    else:
        assert item in (text[: len(item)], text[len(text) - len(item) :]) or kind_of(text) == "json"
    assert clip(item, limit, CHARS4, mode) is item


@given(
    plain_texts, st.sampled_from([40, 64, 100, 200]), st.sampled_from([20, 31, 50]), modes, modes
)
def test_a_clip_of_a_clip_sums_its_markers(
    text: str, limit: int, smaller: int, mode: Mode, then: Mode
) -> None:
    first = clip(text, limit, CHARS4, mode)
    second = clip(first, smaller, CHARS4, then)
    assert CHARS4.count(second) <= smaller
    marks = marked(second)
    assert all(gap.end < other.start for gap, other in pairwise(marks))


def test_the_markers_of_two_clips_are_merged() -> None:
    twice = clip(clip(PLAIN, 200, O200K), 60, O200K)
    assert len(MARKER.findall(twice)) == 1
    walked(PLAIN, twice)


@pytest.mark.parametrize("line_break", ["\n", "\r\n"])
def test_a_blank_line_alone_between_two_markers_is_removed(line_break: str) -> None:
    first = clip(line_break.join(["x" * 300, "", "x" * 300, "x" * 300]), 200, CHARS4, "tail")
    assert first.startswith(f"... [truncated 1 lines] ...\n{line_break}xxx")
    second = clip(first, 50, CHARS4)
    (mark,) = marked(second)
    assert second.startswith("... [truncated 1 lines and ")
    assert mark.characters + len(second) - mark.end == len(first) - len(
        "... [truncated 1 lines] ...\n"
    )


def test_blank_lines_between_several_older_markers_are_removed() -> None:
    text = "... [truncated 2 lines] ...\n\n... [truncated 3 lines] ...\n\n" + "x" * 300
    (mark,) = marked(clip(text, 40, CHARS4))
    assert mark.lines == 5


def test_a_row_of_blanks_or_slashes_is_not_a_listing() -> None:
    for row in (" " * 1000 + "!", "/" * 1000, "-." * 500, "│ " * 500 + "!"):
        assert kind_of(f"{row}\n" * 8) == "plain"
