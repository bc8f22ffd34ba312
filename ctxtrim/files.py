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
        return Path(self.path).stat().st_size if self.is_regular else None


def inputs(paths: Iterable[str], skip: Path | None = None) -> list[Input]:
    """The files that some paths name; a folder is walked, hidden folders, links and the folder `skip` left out.

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


def _walk(folder: Path, skip: Path | None) -> Iterator[Input]:
    left_out = _resolved(skip) if skip is not None else None
    for parent, folders, names in os.walk(folder):
        folders[:] = sorted(
            name for name in folders if not name.startswith(".") and _resolved(Path(parent, name)) != left_out
        )
        for name in sorted(names):
            if name.endswith(SUFFIXES):
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
        raise InputError(f"cannot be read: {_reason(error)}") from error


def _lines(file: BinaryIO) -> Iterator[bytes]:
    try:
        yield from file
    except OSError as error:
        raise InputError(f"cannot be read: {_reason(error)}") from error


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
        if sys.stdout is None:
            raise OutputError("standard output is closed")
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


def silence_stdout() -> None:
    """Send what is left in the buffers of standard output nowhere: nobody can take it."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def write_to(path: Path, makes_folders: bool = False) -> Sink:
    """A sink that replaces a file as a whole, or writes through to what is no regular file (a pipe, a device).

    An `OutputError` at once where it cannot be written.
    """
    try:
        target = path.resolve()
        if target.is_symlink():  # newer Pythons resolve a circle to itself
            raise RuntimeError
        if makes_folders:
            target.parent.mkdir(parents=True, exist_ok=True)
        if target.is_dir():
            raise IsADirectoryError(21, "it is a folder")
        return Through(path) if target.exists() and not target.is_file() else Atomic(path, target)
    except OSError as error:
        raise OutputError(f"{path}: cannot be written: {_reason(error)}") from error
    except RuntimeError as error:
        raise OutputError(f"{path}: cannot be written: too many levels of symbolic links") from error


class Atomic:
    """A file that is replaced as a whole, or not at all: a temporary file beside it, synced, then renamed.

    A link keeps pointing where it points, and an existing file keeps its permissions.
    """

    def __init__(self, path: Path, target: Path) -> None:
        self._path, self._target = path, target
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
        self._temporary = Path(name)
        self._file = os.fdopen(handle, "wb")

    def write(self, data: bytes) -> None:
        """Into the temporary file."""
        try:
            self._file.write(data)
        except OSError as error:
            self.discard()
            raise OutputError(f"{self._path}: cannot be written: {_reason(error)}") from error

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
            raise OutputError(f"{self._path}: cannot be written: {_reason(error)}") from error

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


class Through:
    """A pipe or a device: what is committed is written to it, and it stays what it is."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._pieces: list[bytes] = []

    def write(self, data: bytes) -> None:
        """Keep the bytes until they are settled."""
        self._pieces.append(data)

    def commit(self) -> None:
        """Write them."""
        try:
            with self._path.open("wb") as file:
                file.writelines(self._pieces)
        except OSError as error:
            raise OutputError(f"{self._path}: cannot be written: {_reason(error)}") from error

    def discard(self) -> None:
        """Forget them."""
        self._pieces.clear()


def _reason(error: OSError) -> str:
    return (error.strerror or str(error)).lower()
