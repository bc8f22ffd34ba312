"""Pipes that do not wait: programs such as Node.js pass them to those that they start."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import IO


@contextmanager
def waiting(file: IO[bytes]) -> Iterator[None]:
    """Let reads and writes of a standard stream wait within the block.

    Else a read that comes before the next bytes would look like the end of the input, and a write
    into a full pipe would fail.
    """
    waits = True
    with suppress(OSError, AttributeError):  # no descriptor, or Windows before Python 3.12
        waits = os.get_blocking(file.fileno())
    if waits:
        yield
        return
    handle = file.fileno()
    os.set_blocking(handle, True)
    try:
        yield
    finally:
        with suppress(OSError):  # closed
            os.set_blocking(handle, False)  # other programs may share it
