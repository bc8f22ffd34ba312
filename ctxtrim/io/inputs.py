"""Inputs: paths, folders and standard input, compressed or not. Only this module and `outputs` open files."""

import os
import shutil
import sys
import tempfile
from collections import deque
from collections.abc import Collection, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path
from typing import BinaryIO

from ctxtrim.errors import InputError, UsageError, reason
from ctxtrim.io.compression import Kind, kind_named, kind_of, lines, unpacked

STDIN = "-"
SUFFIXES = (".jsonl", ".ndjson", ".json", ".traj")
"""What a folder is walked for, and the same with the endings of compressed files."""


@dataclass(frozen=True)
class Input:
    """One input: its path as the user wrote it, the path relative to what the user named, and what is wrong with it."""

    path: str
    relative: str
    problem: str | None = None

    @property
    def is_stdin(self) -> bool:
        """Whether it is standard input."""
        return self.path == STDIN

    @property
    def is_regular(self) -> bool:
        """Whether it can be read more than once."""
        return not self.is_stdin and Path(self.path).is_file()

    @property
    def size(self) -> int | None:
        """Bytes, None where nobody knows before reading."""
        if kind_named(Path(self.path)) is not None or not self.is_regular:
            return None
        return Path(self.path).stat().st_size


def inputs(paths: Iterable[str], skip: Collection[Path] = ()) -> list[Input]:
    """The files that some paths name; a folder is walked, hidden folders, links and the folders of `skip` left out.

    No path at all is standard input.
    """
    found: list[Input] = []
    for path in list(paths) or [STDIN]:
        if path == STDIN and any(other.is_stdin for other in found):
            raise UsageError("standard input is named twice; it can be read once")
        if path != STDIN and Path(path).is_dir():
            inside = list(_walk(Path(path), skip))
            kinds = " or ".join(SUFFIXES)
            found += inside or [Input(path, "", f"the folder holds no {kinds} file; name files or another folder")]
        else:
            found.append(Input(path, Path(path).name))
    return found


def _walk(folder: Path, skip: Collection[Path]) -> Iterator[Input]:
    left_out = {_resolved(path) for path in skip}
    for parent, folders, names in os.walk(folder):
        folders[:] = sorted(
            name for name in folders if not name.startswith(".") and _resolved(Path(parent, name)) not in left_out
        )
        for name in sorted(names):
            bare = name.removesuffix(Path(name).suffix) if kind_named(Path(name)) else name
            if bare.endswith(SUFFIXES):
                path = Path(parent, name)
                yield Input(str(path), str(path.relative_to(folder)))


def is_same(one: Path, other: Path) -> bool:
    """Whether two paths name the same place."""
    return _resolved(one) == _resolved(other)


def _resolved(path: Path) -> Path:
    try:
        return path.resolve()
    except (OSError, RuntimeError):  # links in a circle
        return path.absolute()


@contextmanager
def reading(source: Input) -> Iterator[Iterator[bytes]]:
    """The lines of an input, which end at `\\n` only; an `InputError` where it cannot be read."""
    if source.problem is not None:
        raise InputError(source.problem)
    if source.is_stdin:
        if sys.stdin is None:
            raise InputError("standard input is closed")
        yield _lines(sys.stdin.buffer)
        return
    try:
        with Path(source.path).open("rb") as file:
            yield _lines(file)
    except OSError as error:
        if error.filename != source.path:  # not of this file: of whatever was done with it
            raise
        raise InputError(f"cannot be read: {reason(error)}") from error


def _lines(file: BinaryIO) -> Iterator[bytes]:
    try:
        kind = kind_of(file.peek(4)[:4]) if isinstance(file, BufferedReader) else None
        if kind is None:
            yield from file
        else:
            yield from _packed_lines(file, kind)
    except OSError as error:
        raise InputError(f"cannot be read: {reason(error)}") from error


def _packed_lines(file: BinaryIO, kind: Kind) -> Iterator[bytes]:
    """The lines of a compressed file, which is looked through first: nothing is used of one that is cut or damaged."""
    with ExitStack() as stack:
        if not file.seekable():
            spool = stack.enter_context(tempfile.TemporaryFile())
            shutil.copyfileobj(file, spool)
            spool.seek(0)
            file = spool
        deque(unpacked(file, kind), maxlen=0)
        file.seek(0)
        yield from lines(unpacked(file, kind))
