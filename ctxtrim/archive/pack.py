"""A pack: everything that undoes one run, compressed, in one file.

::

    PACKS/<OUTPUT>-<INPUT>-<FILES>           a run that has ended
    PACKS/partial-<16 hexadecimal digits>    a run that still writes, or was killed

OUTPUT and INPUT are their SHA-256, FILES is the start of the SHA-256 of their paths.

A pack is a gzip stream of records. A record is a line of JSON, as many bytes as the line says, and
the SHA-256 of both. The first record describes the run. Records with parts of the input follow,
then one with the `starts`, and an empty one::

    {"size": 0, "path": "t.jsonl", "pipeline": "trim", "time": "…", "target": "/data/t.jsonl"}
    {"size": 900, "time": "…", "recipe": [[0, 500], 870, -30],
     "traces": [["call_1", "bash", "trim", 7, [120]], …], "objects": ["3f9a…", …]}
    {"size": 0, "starts": ["90ab…", …]}
    {"size": 0}

`recipe` makes the input from the output: `[start, length]` copies bytes of the output, a number
takes the next bytes of the record, a negative number skips them. A trace is the id of a result, its
tool, the stage that replaced it, its line in the input, and the place of its text in the bytes of
the record (see `places`). `objects` are the separate files that this part of the input or its
output refers to. `starts` are the outputs of earlier runs with which the input begins. Packs of
older versions have no FILES, no `target`, no `objects` and no `starts`.
"""

import json
import re
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from gzip import BadGzipFile, GzipFile
from hashlib import sha256
from pathlib import Path
from typing import Annotated, Any, NamedTuple

from msgspec import Meta, Struct, ValidationError, convert

from ctxtrim.archive.blobs import open_regular
from ctxtrim.archive.places import text_at
from ctxtrim.errors import ArchiveError, os_errors_as
from ctxtrim.io.locks import is_locked
from ctxtrim.text.hashing import stored_bytes

PARTIAL = "partial-"
"""How the file name of a run begins that still writes, or was killed."""

_DIGEST = sha256().digest_size
_READ = 1 << 20  # bytes to read at a time: a size in a damaged record reserves no memory
_DAMAGE = (
    EOFError,
    zlib.error,
    BadGzipFile,
    ValueError,
    ValidationError,
    LookupError,
    TypeError,
    RecursionError,
)
_NAME = re.compile("[0-9a-f]{64}-[0-9a-f]{64}(-[0-9a-f]{16})?|partial-[0-9a-f]{16}")

_Size = Annotated[int, Meta(ge=0)]


class PackGoneError(ArchiveError):
    """Another process removed the pack."""


def is_pack(path: Path) -> bool:
    """Whether a file name is that of a pack."""
    return _NAME.fullmatch(path.name) is not None


class About(NamedTuple):
    """The path of a run's input, its stages, its time, and the absolute path of its output file.

    `target` is empty if the output is not a file. Packs of older versions have none.
    """

    path: str
    pipeline: str
    time: str
    target: str = ""


class PackedTrace(NamedTuple):
    """A trace in a record. `place` is the position of its text in the bytes of the record."""

    id: str
    tool: str | None
    stage: str
    line: int | None
    place: list[_Size]


class _Head(Struct):
    """The line of JSON of a record."""

    size: _Size
    path: str = ""
    pipeline: str = ""
    time: str = ""
    target: str = ""
    recipe: list[tuple[_Size, _Size] | int] | None = None
    traces: list[PackedTrace] = []
    objects: list[str] | None = None
    starts: list[str] = []


class PackRecord(NamedTuple):
    """A part of the input: a recipe that uses the output and `data`, and the results in `data`.

    `objects` are the names of separate files; None in packs of older versions.
    """

    data: bytes
    recipe: Sequence[tuple[int, int] | int]
    traces: Sequence[PackedTrace]
    time: str
    objects: Sequence[str] | None


class Pack:
    """A pack in a file.

    Methods raise `ArchiveError` if it cannot be read or was changed, and `PackGoneError` if it was
    removed.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.output, self.input = path.name.split("-")[:2]
        self.is_partial = path.name.startswith(PARTIAL)

    @property
    def is_live(self) -> bool:
        """Whether a run still writes it."""
        return self.is_partial and is_locked(self.path)

    @property
    def size(self) -> int:
        """The size of the file in bytes."""
        with self._errors():
            return self.path.stat().st_size

    def about(self) -> About:
        """The description of the run; empty if the run was killed before it was written."""
        for head, _ in self._records():
            return About(head.path, head.pipeline, head.time, head.target)
        return About("", "", "")

    def records(self) -> Iterator[PackRecord]:
        """The parts of the input, in order."""
        for head, data in self._records():
            if head.recipe is not None:
                yield PackRecord(data, head.recipe, head.traces, head.time, head.objects)

    def objects(self) -> set[str] | None:
        """The names of the separate files that the input and the output of the run refer to.

        None if the pack is of an older version, which does not say.
        """
        names: set[str] = set()
        for record in self.records():
            if record.objects is None:
                return None
            names |= set(record.objects)
        return names

    def starts(self) -> list[str]:
        """The outputs of earlier runs with which the input begins, if the run has ended."""
        return [start for head, _ in self._records() for start in head.starts]

    def originals(
        self, is_wanted: Callable[[PackedTrace], bool]
    ) -> Iterator[tuple[PackedTrace, str, bytes]]:
        """Traces, the time of each, and the text of the result in bytes."""
        for record in self.records():
            for trace in filter(is_wanted, record.traces):
                try:
                    text = text_at(record.data, trace.place)
                except (LookupError, ValueError, OverflowError):
                    raise self._changed() from None
                yield trace, record.time, stored_bytes(text)

    def restored(self, output: bytes) -> Iterator[bytes]:
        """The input, in parts, made from the output."""
        for record in self.records():
            position = 0
            for part in record.recipe:
                if isinstance(part, int):
                    if part > 0:
                        yield record.data[position : position + part]
                    position += abs(part)
                else:
                    start, length = part
                    yield output[start : start + length]

    def _records(self) -> Iterator[tuple[_Head, bytes]]:
        """The head and the bytes of each record. A partial pack may end at any place."""
        with self._errors(), open_regular(self.path) as raw, GzipFile(fileobj=raw) as file:
            try:
                is_last = False
                while not is_last:
                    values, data = _record(file)
                    is_last = values.keys() == {"size"}
                    yield convert(values, _Head), data
                if file.read(1):
                    raise self._changed()
            except _DAMAGE:
                if not self.is_partial:
                    raise self._changed() from None

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            with os_errors_as(ArchiveError, f"{self.path}: cannot be read"):
                yield
        except ArchiveError as error:
            if isinstance(error.__cause__, FileNotFoundError):
                raise PackGoneError(f"{self.path}: was removed") from error
            raise

    def _changed(self) -> ArchiveError:
        return ArchiveError(f"{self.path}: the pack has been changed; it is not what was stored")


def _record(file: GzipFile) -> tuple[dict[str, Any], bytes]:
    """The values and the bytes of the next record.

    Raises one of `_DAMAGE` if there is none, or if its digest differs.
    """
    head = file.readline()
    values = json.loads(head)
    data = _bytes(file, convert(values["size"], _Size))
    digest = sha256(head)
    digest.update(data)
    if file.read(_DIGEST) != digest.digest():
        raise ValueError("the digest differs")
    return values, data


def _bytes(file: GzipFile, size: int) -> bytes:
    """The next bytes; an `EOFError` if there are fewer."""
    parts = []
    while size:
        part = file.read(min(size, _READ))
        if not part:
            raise EOFError
        parts.append(part)
        size -= len(part)
    return b"".join(parts)
