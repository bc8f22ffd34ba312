"""Excerpts of texts, measured in characters."""

from unicodedata import combining

_JOINERS = "\u200d\ufe0e\ufe0f"  # they belong to the character before them
_REACH = 32  # characters that one may be made of


def bounded(text: str, limit: int) -> str:
    """Head and tail of a text, at most `limit` characters with the marker between them that says how many went."""
    if len(text) <= limit:
        return text
    room = limit - len(_marker(len(text)))
    if room < 2:
        return text[: _end(text, max(0, limit))]
    first = text[: _end(text, room - room // 2)]
    start = len(text) - room // 2
    last = text[start + next((at for at, one in enumerate(text[start : start + _REACH]) if not _joins(one)), 0) :]
    return first + _marker(len(text) - len(first) - len(last)) + last


def head(text: str, limit: int) -> str:
    """The beginning of a text on one line, at most `limit` characters, at the end of a word where there is one.

    What was left out is counted behind it.
    """
    line = " ".join(text.split())
    if len(line) <= limit:
        return line
    room = limit - len(_rest(len(line)))
    end = line.rfind(" ", room // 2, room + 1)
    end = end if end > 0 else _end(line, max(0, room))
    return line[:end] + _rest(len(line) - end)


def _end(text: str, end: int) -> int:
    """Where to end a text at most that far, so that no character loses what is joined to it."""
    least = max(0, end - _REACH)
    for place in range(end, least, -1):
        if place >= len(text) or not (_joins(text[place]) or text[place - 1] == "\u200d"):
            return place
    return end


def _joins(character: str) -> bool:
    return character in _JOINERS or combining(character) != 0


def _marker(characters: int) -> str:
    return f"\n... [truncated {characters} characters] ...\n"


def _rest(characters: int) -> str:
    return f"… [+{characters} characters]"
