"""Text that is safe to print."""


def clean(text: str) -> str:
    """The text with control characters written as escapes, so that it cannot steer a terminal."""
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)
