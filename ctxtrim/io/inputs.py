"""Inputs: paths, folders and standard input: text, compressed text, and containers."""

import stat
import sys
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from functools import cached_property
from io import BufferedReader, BytesIO
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from msgspec import Struct

from ctxtrim.errors import STDIN, InputError, UsageError, reason, source_name, too_large
from ctxtrim.io.blocking import waiting
from ctxtrim.io.compression import MAGIC, Compression, Unpacked, kind_named, kind_of, unpacked
from ctxtrim.io.containers import CONTAINERS, LONGEST, Container, container_of
from ctxtrim.io.paths import mode_of
from ctxtrim.io.storage import stored_session
from ctxtrim.io.walk import EVERYTHING, SUFFIXES, Scan, walk
from ctxtrim.text.records import LinePart, line_parts

if TYPE_CHECKING:
    from ctxtrim.io.storage.session import StoredSession

_PIECE = 1 << 20  # bytes that are read at a time
_MAGICS = (*MAGIC, *(container.magic for container in CONTAINERS))


class Input(Struct, frozen=True, dict=True):
    """An input: its path as written, its path relative to the named folder, and its problem.

    `folder` is the walked folder that it was found in; None if the user named it.
    """

    path: str
    relative: str
    problem: str | None = None
    folder: str | None = None

    @property
    def is_stdin(self) -> bool:
        """Whether it is standard input."""
        return self.path == STDIN

    @property
    def name(self) -> str:
        """Its name in messages."""
        return source_name(self.path)

    @cached_property
    def is_regular(self) -> bool:
        """Whether it can be read more than once: a file, or a folder that is a session."""
        mode = 0 if self.is_stdin or self.problem else mode_of(Path(self.path))
        return stat.S_ISREG(mode) or stat.S_ISDIR(mode)

    @cached_property
    def container(self) -> Container | None:
        """The container that it is; None if it is none, or cannot be read or read again."""
        if not self.is_regular:
            return None
        try:
            with Path(self.path).open("rb") as file:
                return container_of(file.read(LONGEST))
        except OSError:  # reported when it is read
            return None

    @cached_property
    def session(self) -> "StoredSession | None":
        """The session of many files that its path names; None for other inputs."""
        return stored_session(Path(self.path)) if self.is_regular else None

    @property
    def written(self) -> str:
        """The path of its output in a folder of outputs. That of a container has JSON lines."""
        if self.container is not None:
            return f"{self.relative}.jsonl"
        return f"{self.relative}{self.session.suffix}" if self.session else self.relative

    @cached_property
    def size(self) -> int | None:
        """The size in bytes, None if it is unknown before reading."""
        is_packed = kind_named(Path(self.path)) is not None or self.container is not None
        if is_packed or not self.is_regular or self.session is not None:
            return None
        return Path(self.path).stat().st_size


class InputList(Struct, frozen=True):
    """Inputs, and what was skipped in walked folders: each path with the reason."""

    inputs: tuple[Input, ...]
    skipped: tuple[tuple[str, str], ...]


def inputs(paths: Iterable[str], scan: Scan = EVERYTHING) -> InputList:
    """The files at some paths; folders are walked as `scan` defines.

    A path that the user names may be a link, a pipe, a socket or a device. Without paths, standard
    input is the input.
    """
    sources: list[Input] = []
    skipped: list[tuple[str, str]] = []
    for path in list(paths) or [STDIN]:
        if path == STDIN and any(other.is_stdin for other in sources):
            raise UsageError("standard input is named twice; it can be read once")
        if path != STDIN and stat.S_ISDIR(mode_of(Path(path))) and not stored_session(Path(path)):
            sources += _inside(Path(path), scan, skipped)
        else:
            named = path if Path(path).name else str(Path(path).absolute())  # `.` is a session
            sources.append(Input(named, Path(named).name, _problem(named)))
    return InputList(tuple(sources), tuple(skipped))


def _problem(path: str) -> str | None:
    """The reason if a path leads nowhere because it is a URL, or because it is relative and the
    working directory was deleted.
    """
    if path == STDIN or mode_of(Path(path)):
        return None
    if "://" in path:
        return "cannot be read: it is a URL; download the file and name it"
    if Path(path).is_absolute():
        return None
    try:
        Path.cwd()
    except FileNotFoundError as error:
        return f"cannot be read: {reason(error)}"
    return None


def _inside(folder: Path, scan: Scan, skipped: list[tuple[str, str]]) -> list[Input]:
    """The files in a folder; if there are none, the folder as an input with a problem."""
    sources = []
    for file in walk(folder, scan):
        if file.skipped is not None:
            skipped.append((str(file.path), file.skipped))
        else:
            relative = str(file.path.relative_to(folder))
            sources.append(Input(str(file.path), relative, file.problem, str(folder)))
    if not sources and not scan.may_be_empty:
        kinds = f"{', '.join(SUFFIXES[:-1])} or {SUFFIXES[-1]}"
        has_patterns = scan.include or scan.exclude
        others = " or left out by --include and --exclude" if has_patterns else ""
        text = (
            f"the folder has no {kinds} file and no JSON file without a suffix, or all are ignored"
            f"{others}; name files with another suffix, or another folder"
        )
        sources.append(Input(str(folder), "", text))
    return sources


@contextmanager
def reading(source: Input, max_size: int) -> Iterator[Iterator[bytes]]:
    """The lines of an input, which end at `\\n` only; those of more than `max_size` bytes, after
    decompression, in parts.

    Raises `InputError` if it cannot be read.
    """
    if source.problem is not None:
        raise InputError(source.problem)
    if source.is_stdin:
        if sys.stdin is None:
            raise InputError("standard input is closed")
        with waiting(sys.stdin.buffer):
            yield _lines(sys.stdin.buffer, max_size)
        return
    try:
        if source.session is not None:
            yield source.session.lines(max_size)
            return
        with Path(source.path).open("rb", _PIECE) as file:
            yield _lines(file, max_size, Path(source.path) if source.is_regular else None)
    except OSError as error:
        if error.filename != str(Path(source.path)):  # not of this file, but of the caller
            raise
        raise InputError(f"cannot be read: {reason(error)}") from error


def begins_with(source: Input, data: bytes) -> bool:
    """Whether a file begins with these bytes as they are read: not if it is compressed."""
    if source.size is None:
        return False
    try:
        with Path(source.path).open("rb", buffering=0) as file:
            return file.read(len(data)) == data
    except OSError:
        return False


def bytes_at(path: str, start: int, size: int) -> bytes:
    """Some bytes of a file; fewer if it ends before them."""
    with Path(path).open("rb", buffering=0) as file:
        file.seek(start)
        return file.read(size)


def _started(file: BinaryIO) -> tuple[BinaryIO, bytes]:
    """A file and its first bytes: as many as show its kind, even if a pipe gives them singly."""
    start = file.peek(LONGEST) if isinstance(file, BufferedReader) else b""
    if not _is_partial(start):
        return file, start
    read = getattr(file, "read1", file.read)
    start = read(_PIECE)
    while _is_partial(start) and (more := read(_PIECE)):
        start += more
    rest = chain([start], iter(lambda: read(_PIECE), b""))
    return BufferedReader(Unpacked(rest), _PIECE), start


def _is_partial(start: bytes) -> bool:
    """Whether more bytes may make some first bytes those of compressed data or a container."""
    return bool(start) and any(
        len(start) < len(magic) and magic.startswith(start) for magic in _MAGICS
    )


def _lines(file: BinaryIO, max_size: int, path: Path | None = None) -> Iterator[bytes]:
    """The lines of an open file; its path if it can be opened again."""
    try:
        file, start = _started(file)
        kind, container = kind_of(start), container_of(start)
        if container is not None:
            with _on_disk(file, path) as place:
                yield from container.lines(place, max_size)
        elif kind is not None:
            yield from _packed_lines(file, kind, max_size)
        else:
            yield from _bounded_lines(file, max_size)
    except OSError as error:
        raise InputError(f"cannot be read: {reason(error)}") from error


@contextmanager
def _on_disk(file: BinaryIO, path: Path | None) -> Iterator[Path]:
    """The path of an open file, or of a temporary copy if it has none."""
    if path is not None:
        yield path
        return
    import shutil  # for containers in pipes only
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        copied = Path(folder, "copy")
        with copied.open("wb") as copy:
            shutil.copyfileobj(file, copy, _PIECE)
        yield copied


def _bounded_lines(file: BinaryIO, max_size: int) -> Iterator[bytes]:
    """The lines of a file, long ones in parts. An endless line is noticed before memory ends."""
    for lines in _line_groups(file, max_size):
        for line in lines:
            if len(line) <= max_size or isinstance(line, LinePart):
                yield line
            else:
                yield from line_parts(line, max_size)


def _line_groups(file: BinaryIO, max_size: int) -> Iterator[Iterable[bytes]]:
    """The lines of a file in groups, one for each block that is read.

    A line of more than `max_size` bytes may come in parts. A part is kept until it is known whether
    the line goes on.
    """
    read = getattr(file, "read1", file.read)  # a pipe gives what it has
    start = BytesIO()  # of a line that ends in a later block, or of its next part
    begins = True  # whether no part of this line was passed on
    while block := read(min(_PIECE, max_size + 1)):
        rest = BytesIO(block)
        if start.tell():
            if not begins or start.tell() > max_size:
                yield line_parts(start.getvalue(), max_size, begins=begins, ends=False)
                start, begins = BytesIO(), False
            more = rest.readline()
            start.write(more)
            if not more.endswith(b"\n"):
                continue
            yield _line_end(start, max_size, begins)
            start, begins = BytesIO(), True
        lines = rest.readlines()
        if lines and not lines[-1].endswith(b"\n"):
            start.write(lines.pop())
        yield lines
    if start.tell():
        yield _line_end(start, max_size, begins)


def _line_end(start: BytesIO, max_size: int, begins: bool) -> Iterable[bytes]:
    """A whole line, or the last part of one."""
    line = start.getvalue()
    return [line] if begins else line_parts(line, max_size, begins=False)


def _packed_lines(file: BinaryIO, kind: Compression, max_size: int) -> Iterator[bytes]:
    """The lines of a compressed file.

    The whole file is checked first: nothing of a bad file is used, and little memory if the first
    line is too long.
    """
    with ExitStack() as stack:
        if not file.seekable():
            import shutil  # for compressed pipes only
            import tempfile

            spool = stack.enter_context(tempfile.TemporaryFile())
            shutil.copyfileobj(file, spool, _PIECE)
            spool.seek(0)
            file = spool
        _check_packed(unpacked(file, kind), max_size)
        file.seek(0)
        yield from _bounded_lines(BufferedReader(Unpacked(unpacked(file, kind)), _PIECE), max_size)


def _check_packed(blocks: Iterator[bytes], max_size: int) -> None:
    """Read all blocks; an `InputError` if the first line has more than `max_size` bytes."""
    size = 0
    for block in blocks:
        end = block.find(b"\n")
        size += len(block) if end < 0 else end + 1
        if size > max_size:
            raise InputError(too_large("the line", max_size), 1)
        if end >= 0:
            break
    for _ in blocks:
        pass
