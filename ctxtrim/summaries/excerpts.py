"""Excerpts of texts, measured in characters."""

from collections.abc import Iterable

from ctxtrim.text.graphemes import cut_after, cut_before


def bounded(text: str, limit: int) -> str:
    """Head and tail of a text, at most `limit` characters, with a marker that counts the removed
    characters.
    """
    if len(text) <= limit:
        return text
    room = limit - len(_marker(len(text)))
    if room < 2:
        return text[: cut_before(text, max(0, limit))]
    first = text[: cut_before(text, room - room // 2)]
    last = text[cut_after(text, len(text) - room // 2) :]
    return first + _marker(len(text) - len(first) - len(last)) + last


def head(text: str, limit: int) -> str:
    """The beginning of a text on one line, at most `limit` characters, ending with a whole word if
    possible.

    A suffix counts the removed characters.
    """
    line = " ".join(text.split())
    if len(line) <= limit:
        return line
    room = limit - len(_rest(len(line)))
    end = line.rfind(" ", room // 2, room + 1)
    end = end if end > 0 else cut_before(line, max(0, room))
    return line[:end] + _rest(len(line) - end)


def without_marks(text: str, marks: Iterable[str]) -> str:
    """A text that quotes others, with brackets around the marks of their attachments.

    The attachments stay with the texts that are quoted: `[image]` for `<image>`.
    """
    for mark in marks:
        text = text.replace(mark, f"[{mark[1:-1]}]")
    return text


def _marker(characters: int) -> str:
    from ctxtrim.clipping.markers import marker  # for texts that are cut only

    return f"\n{marker(0, characters)}\n"


def _rest(characters: int) -> str:
    return f"… [+{characters} characters]"
