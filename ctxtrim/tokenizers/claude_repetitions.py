"""Repetitions in a text, which the encodings merge and Claude's tokenizers may not.

A repetition is 16 or more characters that repeat with a period of at most six, or a longer phrase
that fills at least 64 characters.
"""

import re
from collections.abc import Iterator

from ctxtrim.text import Range

_REPEATED = 16  # minimum characters of a repetition
_PERIODS = (4, 5, 6)  # a period of one, two or three is also one of four or six
_BLOCK = 1 << 20  # characters searched at a time
_PHRASE = 128  # maximum characters of a phrase
_PROBE = 8  # characters of a probe
_STRIDES = (48, 160)  # characters between probes, in short and in long texts
_WINDOW = 2048  # characters searched after a probe
_FILLED = 64  # minimum characters filled by a repeated phrase
_ZEROS = re.compile(rb"\0*+")


def repetitions(text: str) -> Iterator[Range]:
    """The ranges of the repetitions in a text, in order and without overlaps."""
    done = 0
    for begin in range(0, len(text), _BLOCK):
        block = text[begin : begin + _BLOCK + _REPEATED]
        if len(block) < _REPEATED:
            return
        data = (
            block.encode("ascii")
            if block.isascii()
            else block.encode("utf-32-le", "surrogatepass")[::4]
        )
        for start, end in sorted((*_alike(data, _PERIODS, _REPEATED), *_phrases(data))):
            if begin + end > done:
                yield max(begin + start, done), begin + end
                done = begin + end


def _phrases(data: bytes) -> Iterator[Range]:
    """The ranges in which a phrase of 7 to `_PHRASE` characters repeats itself, as far as probes
    find one.
    """
    size = len(data)
    if size < _FILLED:
        return
    position, stride = 0, max(_STRIDES[0], min(_STRIDES[1], size // 32))
    while position < size:
        repeat = data.find(
            data[position : position + _PROBE], position + 7, position + _PHRASE + _PROBE
        )
        if repeat < 0:  # as almost always
            position += stride
            continue
        following = position + stride
        period, first = repeat - position, max(0, position - stride)
        window = data[first : position + _WINDOW]
        for start, end in _alike(window, (period,), max(_FILLED, 2 * period)):
            yield first + start, first + end
            following = max(following, first + end - period)
        position = following


def _alike(data: bytes, periods: tuple[int, ...], least: int) -> Iterator[Range]:
    """The ranges of `least` bytes or more in which each byte equals the byte a period earlier, plus
    that first period.

    The data as one large integer, XORed with itself shifted by the period, is 0 there. This is many
    times faster than a loop over the bytes. Equal low bytes of a character are enough: a text does
    not differ by multiples of 256 for so long.
    """
    number = int.from_bytes(data, "little")
    for period in periods:
        differences = (number ^ number >> 8 * period).to_bytes(len(data), "little")
        zeros, last = bytes(least - period), max(0, len(data) - period)
        start = differences.find(zeros, 0, last)
        while start >= 0:
            end = _ZEROS.match(differences, start, last).end()  # type: ignore[union-attr]  # it matches anywhere
            yield start, end + period
            start = differences.find(zeros, end, last)
