"""Escapes text for terminals: no character may control the terminal or hide a part of a line.

Python's printable characters are safe. All others are not: control characters (C0, DEL, C1),
invisible and bidirectional format characters, line and paragraph separators, spaces other than
U+0020, lone surrogates, and unassigned code points.
"""

import json

import msgspec

_PLAIN = bytes(range(0x20, 0x7F)) + b"\n"  # printable ASCII, and the breaks between lines


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


def shell_word(text: str) -> str:
    """The text as one word of a shell, in printable characters.

    Other characters, and bytes that are no UTF-8, become escapes in `$'…'`, as bash and zsh read
    them.
    """
    import shlex  # for commands that a run prints only

    if text.isprintable():
        return shlex.quote(text)
    data = text.encode("utf-8", "surrogateescape")
    plain = (chr(byte) if 32 <= byte < 127 and byte not in b"\\'" else None for byte in data)
    escaped = "".join(char or f"\\x{byte:02x}" for char, byte in zip(plain, data, strict=True))
    return f"$'{escaped}'"


def json_text(value: object, indent: int = 0) -> str:
    """A value as readable JSON that is safe to print: unsafe characters become `\\u001b`.

    Without `indent` it is one line.
    """
    data = _spaced(value, indent)
    text = data.decode(errors="surrogatepass")
    others = data.translate(None, _PLAIN)  # much faster than a look at each character
    if others.decode(errors="surrogatepass").isprintable():
        return text
    return "\n".join("".join(map(_json_escape, line)) for line in text.split("\n"))


def _spaced(value: object, indent: int) -> bytes:
    """A value as JSON with a space after each comma and colon, or with indented lines."""
    try:
        return msgspec.json.format(msgspec.json.encode(value), indent=indent)
    except (UnicodeEncodeError, TypeError):  # lone surrogates, subclasses of str
        text = json.dumps(value, ensure_ascii=False, indent=indent or None)
        return text.encode(errors="surrogatepass")


def _json_escape(char: str) -> str:
    if char.isprintable():
        return char
    return f"\\u{ord(char):04x}" if ord(char) == 0x7F else json.dumps(char)[1:-1]
