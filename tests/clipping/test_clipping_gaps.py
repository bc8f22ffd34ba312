"""Clips are readable: one or two gaps, none shorter than its marker; text around an output is
kept.
"""

import json

import pytest
from clipping_texts import JSON, LISTING, OF_A_KIND, PLAIN, TEST_RUN, plain_texts, walked
from hypothesis import given
from hypothesis import strategies as st

from ctxtrim.clipping.clipper import MODES, clip, kind_of
from ctxtrim.clipping.layout import Mode
from ctxtrim.clipping.markers import MARKER, marked, marker
from ctxtrim.tokenizers import tokenizer

O200K, CHARS4 = tokenizer("o200k_base"), tokenizer("chars4")


def line(number: int) -> tuple[int, int]:
    """The range of a numbered line of the plain text."""
    start = PLAIN.index(f"line {number} of")
    return start, start + 8


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("limit", [100, 300, 1000])
@pytest.mark.parametrize("name", [name for name in OF_A_KIND if name != "json"])
def test_kept_ranges_across_a_text_make_at_most_two_gaps(name: str, limit: int, mode: Mode) -> None:
    text = OF_A_KIND[name]
    places = [len(text) * (7 * number % 20) // 20 for number in range(20)]
    item = clip(text, limit, O200K, mode, [(position, position + 5) for position in places])
    assert 1 <= len(MARKER.findall(item)) <= 2
    assert O200K.count(item) <= limit
    walked(text, item)


def test_a_kept_range_near_the_head_widens_the_head() -> None:
    text = clip(PLAIN, 300, O200K, keep=[line(24)])
    assert text.startswith(
        "".join(f"This is line {number} of the story.\n" for number in range(25))
    )
    assert text.endswith("This is line 499 of the story.\n")
    assert len(MARKER.findall(text)) == 1


def test_a_kept_range_near_the_tail_widens_the_tail() -> None:
    text = clip(PLAIN, 300, O200K, keep=[line(475)])
    assert text.startswith("This is line 0 of the story.\n")
    assert text.endswith(
        "".join(f"This is line {number} of the story.\n" for number in range(475, 500))
    )
    assert len(MARKER.findall(text)) == 1


def test_kept_ranges_in_the_middle_form_a_single_island() -> None:
    text = clip(PLAIN, 300, O200K, keep=[line(250), line(120), line(256), line(390)])
    assert "".join(f"This is line {number} of the story.\n" for number in range(250, 257)) in text
    assert text.startswith("This is line 0 of the story.\n")
    assert text.endswith("This is line 499 of the story.\n")
    assert len(MARKER.findall(text)) == 2


def test_the_region_with_most_errors_of_a_log_is_a_single_island() -> None:
    quiet = "all is quiet on the host\n" * 200
    block = "ERROR: no route to the host\nERROR: the cable is cut\nERROR: giving up\n"
    text = (
        f"{quiet}ERROR: a hiccup\n{quiet}{block}{quiet}ERROR: a hiccup again\n{quiet}done "
        "with 5 errors\n"
    )
    item = clip(text, 200, O200K)
    assert block in item
    assert len(MARKER.findall(item)) == 2
    assert item.startswith("all is quiet")
    assert item.endswith("done with 5 errors\n")


def test_a_log_whose_errors_are_in_its_tail_has_one_gap() -> None:
    text = clip(
        TEST_RUN.replace("FAILED [50%]", "PASSED [50%]").replace("E       assert 3 == 4\n", ""),
        200,
        O200K,
    )
    assert text.endswith("===== 1 failed, 400 passed in 12.3s =====\n")
    assert len(MARKER.findall(text)) == 1


WRAPPERS = {
    "mini-swe-agent": ("<returncode>1</returncode>\n<output>\n", "</output>"),
    "tags": ("<result>\n<name>find</name>\n<stdout>\n", "</stdout>\n</result>\n"),
    "codex": ("Exit code: 0\nWall time: 0.2 seconds\nTotal output lines: 500\nOutput:\n", ""),
    "codex exec": (
        "Chunk ID: 1f\nWall time: 0.1 seconds\nProcess exited with code 0\nOutput:\n",
        "",
    ),
    "SWE-agent": ("", "(Open file: n/a)\n(Current directory: /work)\nbash-$"),
    "OpenHands": (
        "",
        "[The command completed with exit code 0.]\n[Current working directory: /work]\n",
    ),
    "gemini-cli": (
        "Command: find .\nDirectory: (root)\nOutput:\n",
        "Error: (none)\nExit Code: 0\nSignal: (none)\nProcess Group PGID: 7\n",
    ),
    "line breaks of two characters": ("<output>\r\n", "</output>\r\n"),
    "Claude Code": ("", "\n<system-reminder>\nThe tool asks you to be kind.\n</system-reminder>\n"),
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", WRAPPERS)
def test_text_around_an_output_is_kept(name: str, mode: Mode) -> None:
    before, after = WRAPPERS[name]
    text = f"{before}{LISTING}{after}"
    item = clip(text, 200, O200K, mode)
    assert item.startswith(before)
    assert item.endswith(after)
    assert 100 < O200K.count(item) <= 200
    assert len(MARKER.findall(item)) == 1
    walked(text, item)
    again = clip(item, 150, O200K, mode)
    assert again.startswith(before)
    assert again.endswith(after)
    walked(text, again)


def test_json_in_tags_stays_json() -> None:
    text = clip(f"<returncode>0</returncode>\n<output>\n{JSON}\n</output>", 300, O200K)
    assert text.startswith("<returncode>0</returncode>\n<output>\n{")
    inside = text.removeprefix("<returncode>0</returncode>\n<output>\n").removesuffix("\n</output>")
    assert json.loads(inside)["total"] == 200


def test_an_unopened_closing_tag_does_not_end_an_output() -> None:
    text = clip(LISTING + "</output>", 100, O200K)
    assert text.startswith("./src/package_0/module_0.py\n")


def test_a_gap_that_saves_too_little_is_removed_for_a_larger_one() -> None:
    lines = "word one two\n" * 30
    text = f"{lines}a short line in the gap of it here ok\nx y z\n{lines}"
    item = clip(text, 254, O200K)
    (mark,) = marked(item)
    assert mark.lines == 5
    assert O200K.count(item) == 237


SHORT, LETTERS, OLDER = "word one two\n", "x y z a b c d e f g h\n", f"{marker(9, 0)}\n"


@pytest.mark.parametrize(
    ("text", "limit", "place"),
    [
        ("line of it\n" * 8 + LETTERS * 4 + "line of it\n" * 9, 62, 119),
        (SHORT * 6 + LETTERS * 3 + SHORT * 2, 56, 87),
        (SHORT + OLDER + LETTERS * 3 + SHORT * 2, 52, 62),
        (SHORT * 9 + OLDER + "word one two and more\n" * 5 + SHORT * 7, 58, 204),
    ],
)
def test_gaps_that_cannot_be_filled_leave_no_room_unused(text: str, limit: int, place: int) -> None:
    item = clip(text, limit, O200K, keep=[(place, place + 5)])
    assert 0.9 * limit < O200K.count(item) <= limit


@given(plain_texts, st.sampled_from([40, 64, 100, 500]), st.sampled_from(MODES), st.data())
def test_a_gap_saves_at_least_the_size_of_its_marker(
    text: str, limit: int, mode: Mode, data: st.DataObject
) -> None:
    position = st.integers(0, len(text))
    keep = data.draw(
        st.lists(st.tuples(position, position).map(lambda one: (min(one), max(one))), max_size=5)
    )
    item = clip(text, limit, CHARS4, mode, keep)
    marks = [mark[0] for mark in MARKER.finditer(item)]
    assert len(marks) <= 2 + (kind_of(text) == "diff")
    if marks:
        kept = walked(text, item)
        missing = [
            text[a:b]
            for a, b in zip(
                [end for _, end in kept], [start for start, _ in kept[1:]], strict=False
            )
        ]
        assert all(
            CHARS4.count(gap) >= 2 * CHARS4.count(mark)
            for gap, mark in zip(missing, marks, strict=True)
        )
