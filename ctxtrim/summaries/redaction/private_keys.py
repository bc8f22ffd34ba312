"""Private keys in PEM and PuTTY blocks, also in blocks whose beginning or end is missing."""

import re

_MASK = "[REDACTED private key]"
_LABEL = r"[A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
# a line break, with a line number or the marks of a quote or a diff
_GAP = r"(?:[\s0-9>|+\"',→]|\\[nrt]){1,32}"
_HEADERS = rf"(?:{_GAP}[A-Z][A-Za-z-]{{2,20}}: [^\n\\]{{1,100}}){{0,8}}"
_LINES = rf"{_HEADERS}(?:{_GAP}[A-Za-z0-9+/=]{{16,}}+)+"
# An atomic group, because Python before 3.11.5 loses its place after some possessive groups.
_BLOCK = re.compile(
    rf"-----BEGIN {_LABEL}(?:(?>[\s\S]*?(?=-----))-----END {_LABEL}|{_LINES})"
    rf"|Private-Lines: [0-9]{{1,4}}{_LINES}"
)
_END = re.compile(rf"-----END {_LABEL}")
_BREAK = re.compile(r"\\[nr]|[\n\r]")
_BASE64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/="
_LONGEST = 16_384  # characters of a key
_SHORTEST = 40
_LINE = 16  # characters of any line but the last


def without_private_keys(text: str) -> str:
    """The text with a mask instead of each private key.

    A block without an end is masked as far as its lines look like Base64, and so is a block without
    a beginning.
    """
    if "-----BEGIN " in text or "Private-Lines: " in text:
        text = _BLOCK.sub(_MASK, text)
    if "-----END " not in text:
        return text
    pieces: list[str] = []
    copied = floor = 0
    for end in _END.finditer(text):
        start = _start_of_key(text, floor, end.start())
        floor = end.end()
        if end.start() - start >= _SHORTEST:
            pieces += (text[copied:start], _MASK)
            copied = floor
    return "".join((*pieces, text[copied:]))


def _start_of_key(text: str, floor: int, end: int) -> int:
    """The start of the lines of Base64 before `end`, not before `floor`.

    `end` if there are none.
    """
    first = max(floor, end - _LONGEST)
    breaks = list(_BREAK.finditer(text, first, end))
    starts = (first, *(line_break.end() for line_break in breaks))
    ends = (*(line_break.start() for line_break in breaks), end)
    key = end
    for line_start, line_end in zip(reversed(starts), reversed(ends), strict=True):
        line = text[line_start:line_end].rstrip(" \t\"'")
        margin = line.rstrip(_BASE64)
        length = len(line) - len(margin)
        if length < _LINE and key < end:
            break
        if length > 0:
            key = line_start + len(margin)
        if margin.strip(" \t\"'>|+→0123456789"):
            break
    return key
