"""Escapes text for terminals: no character may control the terminal or hide a part of a line.

Python's printable characters are safe. All others are not: control characters (C0, DEL, C1),
invisible and bidirectional format characters, line and paragraph separators, spaces other than
U+0020, lone surrogates, and unassigned code points.
"""

import json


def clean(text: str) -> str:
    """The text as one line.

    Unsafe characters, including line breaks, become escapes such as `\\x1b`.
    """
    if text.isprintable():
        return text
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape").decode() for char in text
    )


def clean_lines(text: str) -> str:
    """The text with its line feeds, and each line between them escaped."""
    return "\n".join(map(clean, text.split("\n")))


def json_text(value: object, indent: int | None = None) -> str:
    """A value as readable JSON that is safe to print: unsafe characters become `\\u001b`."""
    text = json.dumps(value, indent=indent, ensure_ascii=False)
    return "\n".join(
        line if line.isprintable() else "".join(map(_json_escape, line))
        for line in text.split("\n")
    )


def _json_escape(char: str) -> str:
    if char.isprintable():
        return char
    return f"\\u{ord(char):04x}" if ord(char) == 0x7F else json.dumps(char)[1:-1]
