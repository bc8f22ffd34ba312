"""Finds the letters, marks and digits of Unicode 17, which gigatoken 0.10 takes for signs.

tiktoken 0.14 knows them, so words with them have other tokens. The engines were compared for each
assigned character.
"""

from ctxtrim.loading import lazy_pattern

# First bytes of their UTF-8 forms, each with the next bytes; some of these begin a few older
# characters, too. Most texts have none of the first bytes, which `in` finds out fastest.
_STARTS = (
    (b"\xe0", lazy_pattern(rb"\xe0(?:\xa2\x8f|[\xb1\xb3]\x9c)")),
    (b"\xe1", lazy_pattern(rb"\xe1\xab")),
    (b"\xea", lazy_pattern(rb"\xea\x9f")),
    (
        b"\xf0",
        lazy_pattern(
            rb"\xf0(?:\x90[\xa5\xbb]|\x91[\xad\xb6\xb7]|\x96[\xba\xbb\xbf]|\x98[\x9f\xb4\xb6\xb7]"
            rb"|\x9e\x9b|\xab\x9c|\xac\xba|[\xb2\xb3])"
        ),
    ),
)


def may_have_letters(data: bytes) -> bool:
    """Whether a text in UTF-8 has such a character, or one that begins with the same bytes."""
    patterns = [pattern for first, pattern in _STARTS if first in data]  # mostly none
    return bool(patterns) and any(pattern.search(data) for pattern in patterns)
