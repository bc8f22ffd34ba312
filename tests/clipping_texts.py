"""Small, generated texts of every kind that tools return, and the properties of their clips."""

import json
import re
from typing import Any

import regex
from hypothesis import strategies as st

from ctxtrim.clipping.markers import MARKER

ODD = (
    "",
    "a",
    "word " * 9,
    "e\u0301" * 7,
    "👨‍👩‍👧" * 5,
    "🇩🇪🇫🇷" * 4,
    "日本語の" * 6,
    "\ud800",
    "x" * 300,
    "\r",
    "\\n",
    "=" * 90,
)
LINES = (
    *ODD, "ERROR: it broke", "ValueError: bad", "warning: unused", "3 failed, 12 passed in 0.1s",
    "0 "
"errors",
    "src/a.py", "src/a.py:12: x = 1", "@@ -1,3 +1,4 @@ def f", "--- a/x", "+++ b/x", "diff --git "
"a/x "
"b/x", "+new",
    "-old", '{"a": 1}', "Traceback (most recent call last):", '  File "x.py", line 1', "... not a "
"marker ...",
)  # fmt: skip
lines = st.lists(st.sampled_from(LINES), max_size=60)
plain_texts = st.tuples(lines, st.sampled_from(["\n", "\r\n"])).map(
    lambda item: item[1].join(item[0])
)
json_leaves = st.one_of(
    st.sampled_from(ODD[:7] + ODD[8:]),
    st.integers(),
    st.sampled_from([1.10, None, True]),
    st.text(max_size=60),
)
json_values = st.recursive(
    json_leaves,
    lambda inner: (
        st.lists(inner, max_size=40) | st.dictionaries(st.text(max_size=6), inner, max_size=6)
    ),
    max_leaves=40,
)
json_texts = st.tuples(
    st.lists(json_values, max_size=30)
    | st.dictionaries(st.text(max_size=6), json_values, max_size=8),
    st.sampled_from([None, 1]),
    st.booleans(),
).map(lambda item: json.dumps(item[0], indent=item[1], ensure_ascii=item[2]))

TEST_RUN = "".join(
    [
        "===== test session starts =====\n",
        *(f"tests/test_{number}.py::test_it PASSED [{number // 4}%]\n" for number in range(200)),
        "tests/test_mid.py::test_the_thing FAILED [50%]\n",
        "E       assert 3 == 4\n",
        *(
            f"tests/test_{number}.py::test_it PASSED [{number // 4}%]\n"
            for number in range(200, 400)
        ),
        "===== 1 failed, 400 passed in 12.3s =====\n",
    ]
)
DIFF = "".join(
    f"diff --git a/src/{name}.py b/src/{name}.py\nindex 1..2 100644\n--- "
    f"a/src/{name}.py\n+++ b/src/{name}.py\n"
    + "".join(
        f"@@ -{start},40 +{start},40 @@\n"
        + "".join(f"-old line {start + n}\n+new line {start + n}\n" for n in range(40))
        for start in (1, 100)
    )
    for name in ("first", "second", "third")
)
LISTING = "".join(f"./src/package_{number // 10}/module_{number}.py\n" for number in range(500))
GREP = "".join(
    f"src/module_{number}.py:{number}:    raise ValueError('no')\n" for number in range(300)
)
PLAIN = "".join(f"This is line {number} of the story.\n" for number in range(500))
JSON_LINES = "".join(
    json.dumps({"id": number, "text": "word " * (number % 9)}) + "\n" for number in range(300)
)
JSON = json.dumps(
    {"rows": [{"id": n, "price": 1.10, "note": "long " * 80} for n in range(200)], "total": 200},
    indent=2,
)
OF_A_KIND = {
    "json": JSON, "json lines": JSON_LINES, "diff": DIFF, "listing": LISTING, "log": TEST_RUN,
    "plain": PLAIN,
}  # fmt: skip


def edges(text: str) -> set[int]:
    """The ends of grapheme clusters."""
    return {0} | {match.end() for match in regex.finditer(r"\X", text)}


def walked(text: str, clip: str, is_whole: bool = True) -> list[tuple[int, int]]:
    """The ranges of a text in its clip; fails unless the markers state exactly the text between
    them.
    """
    kept = []
    position = done = 0
    for mark in MARKER.finditer(clip):
        begin, end = mark.span()
        characters = int(mark[2] or mark[3] or 0)
        begin -= begin > 0 and characters > 0
        assert text.startswith(clip[done:begin], position)
        kept.append((position, position + begin - done))
        position += begin - done + characters
        for _ in range(int(mark[1] or 0)):
            assert position < len(text)
            position = text.find("\n", position) + 1 or len(text)
        done = end + (end < len(clip))
    assert text.startswith(clip[done:], position)
    assert not is_whole or text[position:] == clip[done:]
    return [*kept, (position, position + len(clip) - done)]


def unmarked(value: Any, was: Any) -> None:
    """Fails unless a JSON value equals the original with strings, arrays and objects shortened by
    the stated amounts.
    """
    if isinstance(was, str) and value != was:
        parts = re.split(r"… \[(\d+) characters truncated\](?: …)?", value)
        assert len(parts) > 1
        assert sum(map(len, parts[::2])) + sum(map(int, parts[1::2])) == len(was)
        assert was.startswith(parts[0])
        assert was.endswith(parts[-1])
    elif isinstance(was, list) and isinstance(value, list):
        position = 0
        for element in value:
            gone = (
                re.fullmatch(r"\[(\d+) more items? truncated\]", element)
                if isinstance(element, str)
                else None
            )
            if gone:
                position += int(gone[1])
            else:
                unmarked(element, was[position])
                position += 1
        assert position == len(was)
    elif isinstance(was, dict) and isinstance(value, dict):
        marks = [key for key in value if re.fullmatch(r"…( \d+)?", key)]
        shown = [key for key in value if key not in marks]
        assert [key for key in was if key in value] == shown
        for key in shown:
            unmarked(value[key], was[key])
        counts = [re.fullmatch(r"\[(\d+) more members? truncated\]", value[key]) for key in marks]
        assert sum(int(count[1]) for count in counts if count) == len(was) - len(shown)
    else:
        assert type(value) is type(was)
        assert value == was
