"""Segments behave as the bytes that they make."""

from hypothesis import given
from hypothesis import strategies as st

from ctxtrim.formats.lines import Fragment, Segments, blocks

SOURCE = bytes(range(64)) + b"\n" * 8
LARGE = b"0123456789abcdef" * (3 << 16)  # 3 MB

fragments = st.binary(max_size=5) | st.tuples(
    st.integers(0, len(SOURCE)), st.integers(0, len(SOURCE))
).map(lambda ends: (min(ends), max(ends)))


def _bytes(fragment: Fragment, source: bytes) -> bytes:
    if isinstance(fragment, bytes):
        return fragment
    start, end = fragment
    return source[start:end]


@given(st.lists(fragments, max_size=12), st.slices(200))
def test_they_equal_the_bytes_that_they_make(added: list[Fragment], place: slice) -> None:
    made = Segments(SOURCE)
    sizes = [made.add(fragment) for fragment in added]
    expected = b"".join(_bytes(fragment, SOURCE) for fragment in added)
    assert sizes == [len(_bytes(fragment, SOURCE)) for fragment in added]
    assert bytes(made) == expected
    assert len(made) == len(expected)
    assert made == expected
    assert made != expected + b"x"
    contiguous = slice(place.start, place.stop)
    assert made[contiguous] == expected[contiguous]
    assert made.endswith(expected[-3:])
    assert made.endswith(b"\n") == expected.endswith(b"\n")


def test_large_ones_are_compared_and_written_in_blocks() -> None:
    made = Segments(LARGE)
    for start in range(0, len(LARGE), 1 << 19):
        made.add((start, start + (1 << 19) - 16))
        made.add(b"0123456789abcdef")
    assert made == LARGE
    assert b"".join(blocks(made)) == LARGE
    assert max(map(len, blocks(made))) == 1 << 20
    changed = bytearray(LARGE)
    changed[-1] ^= 1
    assert made != bytes(changed)
    made.add(b"x")
    assert made != LARGE
