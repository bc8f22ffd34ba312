"""The bytes and the hash by which a text is stored, compared and named.

The name of an original in an archive, in a notice and in a placeholder is the same hash.
"""

import hashlib


def stored_bytes(text: str) -> bytes:
    """A text in UTF-8. Half of a surrogate pair, which JSON allows, has bytes too."""
    return text.encode("utf-8", "surrogatepass")


def sha256_of(text: str) -> str:
    """The SHA-256 of a text in hexadecimal digits."""
    return sha256(stored_bytes(text))


def sha256(data: bytes) -> str:
    """The SHA-256 of some bytes in hexadecimal digits."""
    return hashlib.sha256(data).hexdigest()
