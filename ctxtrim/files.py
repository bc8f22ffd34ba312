"""Paths, standard streams and atomic writing: the only place that opens files."""

import os
import stat
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Protocol

from ctxtrim.errors import InputError, OutputError, UsageError

STDIN = "-"
SUFFIXES = (".jsonl", ".json")


@dataclass(frozen=True)
class Input:
    """One input: its path as the user would write it, and its path relative to what the user named."""

    path: str
    relative: str

    @property
    def is_stdin(self) -> bool:
        """Whether it is standard input."""
        return self.path == STDIN

    @property
    def size(self) -> int | None:
        """Bytes, None where nobody knows before reading."""
        try:
            return None if self.is_stdin else Path(self.path).stat().st_size
        except OSError:
            return None


def inputs(paths: Iterable[str], skip: Path | None = None) -> list[Input]:
    """The files that some paths name; a folder is walked, hidden folders, links and the folder `skip` left out.

    No path at all is standard input. A folder without any transcript file is an `InputError`.
    """
    found: list[Input] = []
    for path in list(paths) or [STDIN]:
        if path != STDIN and Path(path).is_dir():
            inside = list(_walk(Path(path), skip))
            if not inside:
                raise InputError(
                    f"{path}: the folder holds no {' or '.join(SUFFIXES)} file; name files or another folder"
                )
            found += inside
        else:
            found.append(Input(path, Path(path).name))
    if sum(one.is_stdin for one in found) > 1:
        raise UsageError("standard input is named twice; it can be read once")
    return found


def _walk(folder: Path, skip: Path | None) -> Iterator[Input]:
    for parent, folders, names in os.walk(folder):
        folders[:] = sorted(
            name
            for name in folders
            if not name.startswith(".") and (skip is None or not _is_same(Path(parent, name), skip))
        )
        for name in sorted(names):
            if name.endswith(SUFFIXES):
                path = Path(parent, name)
                yield Input(str(path), str(path.relative_to(folder)))


def _is_same(one: Path, other: Path) -> bool:
    return one.resolve() == other.resolve()


@contextmanager
def reading(source: Input) -> Iterator[BinaryIO]:
    """The bytes of an input, in lines that end at `\\n` only; an `InputError` where it cannot be read."""
    try:
        if source.is_stdin:
            yield sys.stdin.buffer
        else:
            with Path(source.path).open("rb") as file:
                yield file
    except OSError as error:
        raise InputError(f"{source.path}: cannot be read: {_reason(error)}") from error


class Sink(Protocol):
    """Where bytes go. Nothing counts before `commit`."""

    def write(self, data: bytes) -> None:
        """Take some bytes."""
        ...

    def commit(self) -> None:
        """Make what was written last."""
        ...

    def discard(self) -> None:
        """Leave the target as it was; after `commit` it does nothing."""
        ...


class Nowhere:
    """Takes everything and keeps nothing."""

    def write(self, data: bytes) -> None:
        """Forget the bytes."""

    def commit(self) -> None:
        """Nothing to do."""

    discard = commit


class Stdout:
    """Standard output, flushed at every write so that a reader sees each transcript at once."""

    def write(self, data: bytes) -> None:
        """Hand the bytes on; a `BrokenPipeError` where nobody reads any more."""
        try:
            sys.stdout.buffer.write(data)
            sys.stdout.buffer.flush()
        except BrokenPipeError:
            raise
        except OSError as error:
            raise OutputError(f"standard output cannot be written: {_reason(error)}") from error

    def commit(self) -> None:
        """Nothing to do: it is out."""

    discard = commit


class Atomic:
    """A file that is replaced as a whole, or not at all: a temporary file beside it, synced, then renamed.

    A link keeps pointing where it points, and an existing file keeps its permissions. An `OutputError` at the very
    beginning where the file could not be written.
    """

    def __init__(self, path: Path, makes_folders: bool = False) -> None:
        self._target = path.resolve()
        self._name = path
        try:
            if makes_folders:
                self._target.parent.mkdir(parents=True, exist_ok=True)
            if self._target.is_dir():
                raise IsADirectoryError(21, "it is a folder")
            handle, name = tempfile.mkstemp(dir=self._target.parent, prefix=f".{self._target.name}.")
        except OSError as error:
            raise OutputError(f"{path}: cannot be written: {_reason(error)}") from error
        self._temporary = Path(name)
        self._file = os.fdopen(handle, "wb")

    def write(self, data: bytes) -> None:
        """Into the temporary file."""
        try:
            self._file.write(data)
        except OSError as error:
            self.discard()
            raise OutputError(f"{self._name}: cannot be written: {_reason(error)}") from error

    def commit(self) -> None:
        """The target is now what was written."""
        try:
            self._file.flush()
            os.fsync(self._file.fileno())
            self._file.close()
            self._temporary.chmod(self._mode())
            self._temporary.replace(self._target)
        except OSError as error:
            self.discard()
            raise OutputError(f"{self._name}: cannot be written: {_reason(error)}") from error

    def discard(self) -> None:
        """The target stays as it was."""
        self._file.close()
        self._temporary.unlink(missing_ok=True)

    def _mode(self) -> int:
        if self._target.exists():
            return stat.S_IMODE(self._target.stat().st_mode)
        mask = os.umask(0)
        os.umask(mask)
        return 0o666 & ~mask


def _reason(error: OSError) -> str:
    return (error.strerror or str(error)).lower()
