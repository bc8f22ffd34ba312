"""Files to which several programs append, such as logs."""

import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from ctxtrim.io.temporary import writing_errors
from ctxtrim.text.escaping import json_text


class Appended:
    """A file to which lines are appended. Raises `OutputError` if it cannot be written."""

    def __init__(self, path: Path) -> None:
        self._path = path
        with writing_errors(path):
            self._handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
        self._before = b"" if _ends_line(path) else b"\n"

    def add(self, values: Iterable[Mapping[str, Any]]) -> None:
        """Append a line for each value, in one write: lines of several processes do not mix."""
        self.write(b"".join(json_text(value).encode() + b"\n" for value in values))

    def write(self, data: bytes) -> None:
        """Append bytes on a new line: all of them, or none."""
        if not data:
            return
        data = self._before + data
        written = 0
        with writing_errors(self._path):
            try:
                while written < len(data):
                    written += os.write(self._handle, data[written:])
            except OSError:
                self._withdraw(written)
                raise
        self._before = b""

    def _withdraw(self, size: int) -> None:
        """Remove bytes that were just written, unless another program has appended more."""
        with suppress(OSError):  # a pipe keeps what it has
            end = os.lseek(self._handle, 0, os.SEEK_CUR)
            if end == os.fstat(self._handle).st_size:
                os.ftruncate(self._handle, end - size)

    def close(self) -> None:
        """Close the file."""
        os.close(self._handle)


def _ends_line(path: Path) -> bool:
    """Whether a file is empty or ends with a line break, or is not to be read."""
    with suppress(OSError):  # only written by this user
        if path.is_file():
            with path.open("rb") as file:
                size = file.seek(0, os.SEEK_END)
                file.seek(max(0, size - 1))
                return file.read() in (b"", b"\n")
    return True
