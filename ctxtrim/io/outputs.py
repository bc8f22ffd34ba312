"""Outputs: standard output, and files that are replaced as a whole or not at all."""

import errno
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Protocol, TypeVar

from ctxtrim.errors import OutputError, reason
from ctxtrim.io.blocking import waiting
from ctxtrim.io.compression import MAGIC_SIZE, Compression, kind_named, kind_of, packer
from ctxtrim.io.replacement import ATTEMPTS, ChangedError, InPlace
from ctxtrim.io.storage import stored_session
from ctxtrim.io.temporary import Temporary, writing_errors

T = TypeVar("T")
_BLOCK = 1 << 22  # bytes: each block waits for the disk once


class Sink(Protocol):
    """A target of bytes. Nothing is final before `commit`."""

    def write(self, data: bytes) -> None:
        """Add bytes."""
        ...

    def commit(self) -> None:
        """Make the written bytes permanent."""
        ...

    def discard(self) -> None:
        """Leave the target unchanged. After `commit` it does nothing."""
        ...


class Nowhere:
    """A sink that discards everything."""

    def write(self, data: bytes) -> None:
        """Ignore the bytes."""

    def commit(self) -> None:
        """Nothing to do."""

    discard = commit


class Stdout:
    """Standard output, flushed at every write so that a reader sees each transcript at once."""

    def write(self, data: bytes) -> None:
        """Write the bytes. Raises `BrokenPipeError` if the reader has closed the pipe."""
        if sys.stdout is None:
            raise OutputError("standard output is closed")
        file = sys.stdout.buffer
        rest = memoryview(data)
        try:
            with waiting(file):
                while rest:  # without a buffer (PYTHONUNBUFFERED) one write may take only a part
                    written: int | None = file.write(rest)
                    if written is None:
                        raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))
                    rest = rest[written:]
                file.flush()
        except BrokenPipeError:
            raise
        except OSError as error:
            raise OutputError(f"standard output cannot be written: {reason(error)}") from error

    def commit(self) -> None:
        """Nothing to do: the bytes are written already."""

    discard = commit


class Delayed:
    """Writes bytes to standard output in blocks, and calls `before` ahead of each block."""

    def __init__(self, sink: Sink, before: Callable[[], None]) -> None:
        self._sink, self._before = sink, before
        self._pieces: list[bytes] = []
        self._size = 0

    def write(self, data: bytes) -> None:
        """Keep the bytes until there are enough of them."""
        self._pieces.append(data)
        self._size += len(data)
        if self._size >= _BLOCK:
            self.commit()

    def commit(self) -> None:
        """Hand on the bytes."""
        pieces, self._pieces, self._size = self._pieces, [], 0
        if pieces:
            self._before()
            self._sink.write(b"".join(pieces))

    discard = commit  # an error later in the input takes back nothing from standard output


def silence_stdout() -> None:
    """Redirect standard output to the null device, so that flushing its buffers cannot fail."""
    _silence(1)


def silence_stderr() -> None:
    """Redirect standard error to the null device: Python exits with 120 if it cannot flush it."""
    _silence(2)


def _silence(handle: int) -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), handle)


def write_to(path: Path, makes_folders: bool = False) -> Sink:
    """A sink that replaces a regular file as a whole, or writes through to a pipe or a device.

    A name with a suffix of compressed files compresses the output. Raises `OutputError` if the path
    cannot be written.
    """
    return _stored(path) or _packed(path, _plain(path, makes_folders), kind_named(path))


def write_file(path: Path, data: bytes, *, makes_folders: bool = False) -> None:
    """Replace a file by some bytes. Raises `OutputError`."""
    sink = write_to(path, makes_folders)
    try:
        sink.write(data)
        sink.commit()
    finally:
        sink.discard()


def in_place(path: Path, *, checks_first: bool = False) -> Sink:
    """A sink that replaces a file that other programs may append to. A compressed file is
    compressed again, whatever its name.

    Create it before the file is read. `checks_first`: raise `OutputError` now, not at `commit`, if
    the file cannot be replaced.
    """
    session = _stored(path)
    if session is not None:
        return session
    file = InPlace(path)
    if checks_first:
        file.check()
    return _packed(path, file, _kind_in(path))


def in_attempts(make: Callable[[], Sink], work: Callable[[Sink], T]) -> T:
    """The result of some work with a new sink, done again if the file changed in the meantime.

    The sink is made before the work reads the file, so that it detects every later change.
    """
    attempt = 0
    while True:
        attempt += 1
        sink = make()
        try:
            return work(sink)
        except ChangedError:
            if attempt == ATTEMPTS:
                raise
        finally:
            sink.discard()


def _kind_in(path: Path) -> Compression | None:
    """The compression of a file by its first bytes, as for reading."""
    with path.open("rb") as file:
        return kind_of(file.read(MAGIC_SIZE))


def _stored(path: Path) -> Sink | None:
    """A sink that writes a session to its many files; None if the path is no session of them."""
    session = stored_session(path)
    if session is None:
        return None
    from ctxtrim.io.storage.files import SessionFiles

    return SessionFiles(session)


def _packed(path: Path, sink: Sink, kind: Compression | None) -> Sink:
    try:
        return Packed(sink, kind) if kind else sink
    except OutputError as error:
        sink.discard()
        raise OutputError(f"{path}: {error}") from None


def private(path: Path) -> Sink:
    """A sink that replaces a file that only the user can read. Missing folders are created."""
    return _plain(path, makes_folders=True, is_private=True)


def _plain(path: Path, makes_folders: bool, is_private: bool = False) -> Sink:
    with writing_errors(path):
        if path.exists() and not (path.is_file() or path.is_dir()):
            return Through(path)  # also a link to a pipe, which has no other name
        target = path.resolve()
        if target.is_symlink():  # newer Pythons resolve a circle to itself
            raise RuntimeError
        if makes_folders:
            try:
                target.parent.mkdir(parents=True, exist_ok=True)
            except FileExistsError:
                text = f"{path}: cannot be written: {path.parent} is not a folder"
                raise OutputError(text) from None
        if target.is_dir():
            raise IsADirectoryError(21, "it is a folder")
        return Atomic(path, target, is_private)


class Atomic:
    """A file that is replaced as a whole, or not at all, by a temporary file in its folder.

    A symbolic link stays and its target is replaced. An existing file keeps its permissions, and
    its owner and group where the system permits it; a private file has mode 0600.
    """

    def __init__(self, path: Path, target: Path, is_private: bool = False) -> None:
        self._path, self._target, self._is_private = path, target, is_private
        self._temporary = Temporary(target.parent, target.name)

    def write(self, data: bytes) -> None:
        """Write into the temporary file."""
        try:
            with writing_errors(self._path):
                self._temporary.write(data)
        except OutputError:
            self.discard()
            raise

    def commit(self) -> None:
        """Replace the target by what was written."""
        try:
            with writing_errors(self._path):
                self._temporary.sync()
                self._copy_metadata()
                self._temporary.replace(self._target)
        finally:
            self.discard()

    def discard(self) -> None:
        """Leave the target as it was; after `commit` do nothing."""
        self._temporary.discard()

    def _copy_metadata(self) -> None:
        """Set the metadata of the new file; the temporary file is private until then."""
        if self._is_private:
            return
        if not self._target.exists():
            mask = os.umask(0)
            os.umask(mask)
            self._temporary.path.chmod(0o666 & ~mask)
            return
        status = self._target.stat()
        with suppress(PermissionError):  # the user may write here, but not give files away
            self._temporary.copy_owner(status)
        self._temporary.copy_attributes(self._target)
        self._temporary.copy_mode(status)


class Packed:
    """Compresses what it hands on to another sink."""

    def __init__(self, sink: Sink, kind: Compression) -> None:
        self._sink = sink
        self._packer = packer(kind)

    def write(self, data: bytes) -> None:
        """Into the other sink, some of it later."""
        self._sink.write(self._packer.compress(data))

    def commit(self) -> None:
        """Write the rest and commit the other sink."""
        self._sink.write(self._packer.flush())
        self._sink.commit()

    def discard(self) -> None:
        """Leave the target of the other sink as it was."""
        self._sink.discard()


class Through:
    """A pipe or a device. The bytes are written on `commit`."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._pieces: list[bytes] = []

    def write(self, data: bytes) -> None:
        """Keep the bytes until `commit`."""
        self._pieces.append(data)

    def commit(self) -> None:
        """Write the bytes."""
        with writing_errors(self._path), self._path.open("wb") as file:
            file.writelines(self._pieces)

    def discard(self) -> None:
        """Discard the bytes."""
        self._pieces.clear()
