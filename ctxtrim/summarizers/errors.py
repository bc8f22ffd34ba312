"""How a summarizer's own words about its trouble are shown: one short line without keys or control characters."""

from ctxtrim.summaries import redacted

MOST = 1 << 20
"""The most bytes that are read of an answer."""
_SHOWN = 200  # characters


def line(text: str, key: str | None = None) -> str:
    """A text as one short line, in which neither `key` nor anything that looks like one stands."""
    if key:
        text = text.replace(key, "[REDACTED key]")
    words = " ".join("".join(one if one.isprintable() else " " for one in text).split())
    return redacted(words)[0][:_SHOWN]
