"""The bytes and the hash by which a text is stored, compared and named.

The name of an original in an archive, in a notice and in a placeholder is the same hash.
"""

from hashlib import sha256


def stored_bytes(text: str) -> bytes:
    """A text in UTF-8. Half of a surrogate pair, which JSON allows, has bytes too."""
    return text.encode("utf-8", "surrogatepass")


def sha256_of(text: str) -> str:
    """The SHA-256 of a text in hexadecimal digits."""
    return sha256(stored_bytes(text)).hexdigest()
