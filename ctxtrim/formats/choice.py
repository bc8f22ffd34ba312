"""The formats that a run detects, as the options choose them."""

from functools import cache

from msgspec import Struct

from ctxtrim.errors import UsageError
from ctxtrim.formats import FORMATS
from ctxtrim.formats.base import Format


class FormatChoice(Struct, frozen=True):
    """The options about the format: its name or `auto`, the path of message lists (None: the
    format's), and whether each request is a transcript. `origin` is where the path comes from, for
    messages. Unlike formats, they can be pickled.
    """

    name: str = "auto"
    messages_path: str | None = None
    each_request: bool = False
    origin: str = "--messages-path"

    @property
    def formats(self) -> tuple[Format, ...]:
        """The formats to detect; a `UsageError` for a path that the format cannot have."""
        return _formats(self)


@cache
def _formats(choice: FormatChoice) -> tuple[Format, ...]:
    name, path = choice.name, choice.messages_path
    formats = tuple(FORMATS.values()) if name == "auto" else (FORMATS[name],)
    if choice.each_request:
        formats = tuple(file_format.each_request or file_format for file_format in formats)
    if path is None:
        return formats
    try:
        formats = tuple(
            file_format.placed(path) for file_format in formats if file_format.placed is not None
        )
    except ValueError as error:
        raise UsageError(f"{choice.origin} {path}: {error}") from None
    if not formats:
        raise UsageError(
            f"{choice.origin} {path}: {name} has one event per line, not message lists in documents"
        )
    return formats
