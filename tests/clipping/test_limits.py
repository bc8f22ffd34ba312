"""Limits of lines, characters and bytes: S3-5, S3-6 and S3-7 of the requirements."""

import re
from itertools import product

import pytest
from clipping_texts import edges, plain_texts, walked
from hypothesis import given
from hypothesis import strategies as st

from ctxtrim.clipping.limits import is_limited, spill_notice, spilled_to, truncate_text
from ctxtrim.clipping.markers import MARKER, marker
from ctxtrim.errors import UsageError

LOG = "".join(f"line {number}\n" for number in range(5000))
SIZES = dict.fromkeys(("max_lines", "max_bytes", "max_chars"), 0)
limits = st.fixed_dictionaries(
    {name: st.sampled_from([0, 1, 3, 4, 5, 9, 20, 100, 1000]) for name in SIZES}
)
modes = st.sampled_from(["head", "tail", "head_tail"])


def notice(text: str) -> list[str]:
    return re.findall(r"^\[tool output truncated: showing (.*)\]\Z", text, re.MULTILINE)


def test_s3_5_head_and_tail_of_too_many_lines_are_kept() -> None:
    output = truncate_text(LOG, max_lines=10)
    head, tail = "".join(LOG.splitlines(True)[:5]), "".join(LOG.splitlines(True)[-5:])
    assert output.content == f"{head}... [truncated 4990 lines] ...\n{tail}"
    assert (
        output.text
        == f"{output.content}\n[tool output truncated: showing 10/5000 lines, 85B/47.7KB bytes, "
        "85/48890 chars]"
    )
    assert output.is_truncated


def test_s3_5_the_defaults_are_2000_lines_51200_bytes_204800_characters() -> None:
    fits = "".join(f"{number}\n" for number in range(2000))
    assert truncate_text(fits).text is fits
    assert notice(truncate_text(fits + "one more").text) == [
        "2000/2001 lines, 8.7KB/8.7KB bytes, 8893/8898 chars"
    ]
    assert truncate_text("x" * 51200).is_truncated is False
    assert notice(truncate_text("x" * 51201).text) == [
        "1/1 lines, 50.0KB/50.0KB bytes, 51200/51201 chars"
    ]
    assert truncate_text("x" * 204800, max_bytes=0).is_truncated is False
    assert truncate_text("x" * 204801, max_bytes=0).is_truncated is True


@pytest.mark.parametrize("limit", [1, 2, 3])
def test_s3_5_a_limit_below_four_keeps_the_head(limit: int) -> None:
    output = truncate_text(LOG, max_lines=limit)
    assert output.content == "".join(LOG.splitlines(True)[:limit])
    assert output.text.startswith(
        f"{output.content}\n[tool output truncated: showing {limit}/5000 lines, "
    )
    assert truncate_text("abcdefgh", max_chars=limit).content == "abcdefgh"[:limit]


def test_s3_5_mode_head_keeps_the_beginning_alone() -> None:
    output = truncate_text(LOG, max_lines=10, mode="head")
    assert output.content == "".join(LOG.splitlines(True)[:10])
    assert notice(output.text) == ["10/5000 lines, 70B/47.7KB bytes, 70/48890 chars"]


@pytest.mark.parametrize("limit", [1, 2, 3, 4, 10])
def test_s3_5_mode_tail_keeps_the_end_alone(limit: int) -> None:
    output = truncate_text(LOG, max_lines=limit, mode="tail")
    end = "".join(LOG.splitlines(True)[-limit:])
    assert output.content == f"... [truncated {5000 - limit} lines] ...\n{end}"
    size = len(end)
    assert notice(output.text) == [f"{limit}/5000 lines, {size}B/47.7KB bytes, {size}/48890 chars"]
    for unit in ("max_chars", "max_bytes"):
        cut = truncate_text("abcdefgh" * 9, mode="tail", **{unit: limit}).content
        assert cut == f"... [truncated {72 - limit} characters] ...\n{('abcdefgh' * 2)[-limit:]}"


def test_s3_5_the_tail_of_a_head_and_a_tail_is_its_tail() -> None:
    both = truncate_text(LOG, max_lines=10)
    assert truncate_text(both.text, max_lines=8, mode="tail") == truncate_text(
        LOG, max_lines=5, mode="tail"
    )


def test_an_older_marker_in_the_head_is_content_of_the_clip() -> None:
    rows = "".join(f"row {number}\n" for number in range(40))
    output = truncate_text(f"a\n{marker(5, 0)}\nb\n{rows}", max_lines=10)
    assert output.content.startswith(f"a\n{marker(5, 0)}\nb\nrow 0\nrow 1\n{marker(33, 0)}\n")
    assert notice(output.text) == ["10/43 lines, 79B/302B bytes, 79/302 chars"]


def test_s3_5_both_names_of_the_mode_mean_the_same() -> None:
    assert truncate_text(LOG, 10, mode="head-tail") == truncate_text(LOG, 10, mode="head_tail")


def test_s3_5_limits_apply_to_lines_then_characters_then_bytes() -> None:
    text = "".join(f"{number}: äöü äöü\n" for number in range(100))
    output = truncate_text(text, max_lines=20, max_chars=100, max_bytes=60)
    kept = walked(text, output.content)
    bare = "".join(text[start:end] for start, end in kept)
    assert 50 <= len(bare.encode()) <= 60
    assert output.content.startswith("0: äöü äöü\n1: ")
    assert output.content.endswith("99: äöü äöü\n")


def test_s3_7_characters_and_bytes_keep_a_tail_too() -> None:
    text = "start" + "x" * 5000 + "FAILED"
    for limit in ({"max_chars": 100}, {"max_bytes": 100}):
        output = truncate_text(text, **limit)
        assert (
            output.content
            == f"start{'x' * 45}\n... [truncated 4911 characters] ...\n{'x' * 44}FAILED"
        )
        assert output.text.endswith(
            "\n\n[tool output truncated: showing 1/1 lines, 100B/4.9KB bytes, 100/5011 chars]"
        )


@pytest.mark.parametrize(
    ("size", "spelled"), [(12, "12B"), (1536, "1.5KB"), (1 << 21, "2.0MB"), (1023, "1023B")]
)
def test_s3_7_sizes_are_formatted_with_units(size: int, spelled: str) -> None:
    assert f"4B/{spelled} bytes, 4/{size} chars]" in truncate_text("x" * size, max_chars=4).text


def test_s3_7_the_notice_comes_after_an_empty_line() -> None:
    assert truncate_text("abcdef", max_chars=3).text == (
        "abc\n\n[tool output truncated: showing 1/1 lines, 3B/6B bytes, 3/6 chars]"
    )


def test_s3_7_zero_means_no_limit() -> None:
    assert truncate_text(LOG * 9, 0, 0, 0).text == LOG * 9


def test_s3_7_smaller_limits_replace_the_notice_and_keep_the_totals_of_the_original() -> None:
    first = truncate_text(LOG, max_lines=100)
    second = truncate_text(first.text, max_lines=10)
    assert second == truncate_text(LOG, max_lines=10)
    third = truncate_text(second.text, max_chars=20)
    assert len(notice(third.text)) == len(MARKER.findall(third.text)) == 1
    assert "/5000 lines, 20B/47.7KB bytes, 20/48890 chars]" in third.text


@pytest.mark.parametrize("bad", [{"mode": "middle"}, {"max_lines": -1}])
def test_an_invalid_limit_is_refused(bad: dict[str, object]) -> None:
    with pytest.raises(
        UsageError,
        match=r"truncate_text: .*expected (head, tail or head_tail|a whole number from 0)",
    ):
        truncate_text("a", **bad)  # type: ignore[arg-type]


@given(plain_texts, limits, modes)
def test_s3_7_limits_count_the_content_that_is_kept(
    text: str, wanted: dict[str, int], mode: str
) -> None:
    output = truncate_text(text, **wanted, mode=mode)
    assert is_limited(output.text) is output.is_truncated
    if not output.is_truncated:
        assert output.text is text
        return
    marks = MARKER.findall(output.content)
    assert len(marks) <= (mode != "head")
    kept = walked(text, output.content, is_whole=False)  # only the notice shows the removed end
    bare = "".join(text[start:end] for start, end in kept)
    assert {edge for span in kept for edge in span} <= edges(text)
    assert len(bare) <= (wanted["max_chars"] or len(text))
    assert len(bare.encode("utf-8", "surrogatepass")) <= (wanted["max_bytes"] or 1 << 30)


@given(plain_texts, limits, limits, modes, modes)
def test_s3_7_texts_within_the_limits_are_unchanged(
    text: str, wanted: dict[str, int], smaller: dict[str, int], mode: str, then: str
) -> None:
    output = truncate_text(text, **wanted, mode=mode)
    assert truncate_text(output.text, **wanted, mode=then).text == output.text
    two = truncate_text(output.text, **smaller, mode=then)
    assert len(notice(two.text)) <= 1
    if output.is_truncated:
        total = [part.split("/")[1] for part in output.notice.split(",")]
        assert [part.split("/")[1] for part in two.notice.split(",")] == total


def test_a_notice_counts_the_content_without_the_marker() -> None:
    """With blank lines at the cut: the marker has the place of one line break."""
    for text in ("left\n\nthe middle right", "left\r\n\r\nthe middle right"):
        output = truncate_text(text, max_chars=len(text) - 7)
        shown = len(MARKER.sub("", output.content)) - len("\n\n")
        assert notice(output.text)[0].endswith(f"{shown}/{len(text)} chars")
        assert f"truncated {len(text) - shown} characters" in output.content


@pytest.mark.parametrize("mode", ["head_tail", "tail"])
@pytest.mark.parametrize("limit", range(1, 8))
def test_a_second_run_changes_no_text_with_line_breaks_at_the_cut(limit: int, mode: str) -> None:
    for pieces in product(["a", "bc", "\n", "\r\n"], repeat=5):
        once = truncate_text("".join(pieces), max_chars=limit, mode=mode).text
        assert truncate_text(once, max_chars=limit, mode=mode).text == once


@given(st.lists(st.sampled_from(["a", "\n", marker(2, 0), marker(2, 3)])), limits, modes)
def test_a_second_run_changes_no_text_with_older_markers(
    pieces: list[str], wanted: dict[str, int], mode: str
) -> None:
    once = truncate_text("\n".join(pieces), **wanted, mode=mode).text
    assert truncate_text(once, **wanted, mode=mode).text == once


@pytest.mark.parametrize("path", ["/tmp/ai_tool_outputs/ab.txt", "C:\\out puts\\x, sha256 y.txt"])
def test_s3_6_a_spill_notice_contains_path_and_sha256(path: str) -> None:
    text = spill_notice(path, "ab" * 32, LOG)
    assert (
        text
        == f"[tool output of 5000 lines, 47.7KB, 48890 chars moved to {path}, sha256 {'ab' * 32}]"
    )
    assert spilled_to(text) == (path, "ab" * 32)
    assert spilled_to(LOG) is None
