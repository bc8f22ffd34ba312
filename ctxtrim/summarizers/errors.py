"""Error messages of summarizers: one short line without keys or control characters."""

from ctxtrim.summaries.redaction import redacted

MAX_ANSWER = 1 << 20
"""The maximum number of bytes of an answer."""
_SHOWN = 200  # characters


def line(text: str, key: str | None = None) -> str:
    """A text as one short line, without `key` and without texts that look like keys."""
    if key:
        text = text.replace(key, "[REDACTED key]")
    words = " ".join(
        "".join(character if character.isprintable() else " " for character in text).split()
    )
    return redacted(words)[:_SHOWN]
