"""A pack: everything that undoes one run, compressed, in one file.

::

    PACKS/<SHA-256 of the output>-<SHA-256 of the input>    a run that has ended
    PACKS/partial-<16 hexadecimal digits>                   a run that still writes, or was killed

A pack is a gzip stream of records. A record is a line of JSON, as many bytes as the line says, and
the SHA-256 of both. The first record describes the run, the last one is empty, and each record
between them has a part of the input::

    {"size": 0, "path": "t.jsonl", "pipeline": "trim", "time": "…", "target": "/work/t.jsonl"}
    {"size": 900, "time": "…", "recipe": [[0, 500], 870, -30],
     "traces": [["call_1", "bash", "trim", 7, [120]], …]}
    {"size": 0}

`recipe` makes the input from the output: `[start, length]` copies bytes of the output, a number
takes the next bytes of the record, a negative number skips them. A trace is the id of a result, its
tool, the stage that replaced it, its line in the input, and the place of its text in the bytes of
the record (see `places`).
"""

import json
import os
import re
import zlib
from collections.abc import Callable, Iterator, Sequence
from gzip import BadGzipFile, GzipFile
from hashlib import sha256
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from ctxtrim.archive.blobs import open_regular
from ctxtrim.archive.delta import Copy
from ctxtrim.archive.places import text_at
from ctxtrim.errors import ArchiveError
from ctxtrim.io.clock import now
from ctxtrim.io.temporary import Temporary, sync_folder

_LEVEL = 4  # a third faster than gzip's default of 6, and about 4 % larger
_GZIP = 31  # zlib's number for the largest window and the wrapper of gzip
_BLOCK = 1 << 16  # bytes of the input in a record, unless a chunk is larger
_DIGEST = sha256().digest_size
_PARTIAL = "partial-"
_DAMAGE = (
    EOFError,
    zlib.error,
    BadGzipFile,
    ValueError,
    LookupError,
    TypeError,
    RecursionError,
)
_NAME = re.compile("[0-9a-f]{64}-[0-9a-f]{64}|partial-[0-9a-f]{16}")


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
    place: list[int]


class PackRecord(NamedTuple):
    """A part of the input: a recipe that uses the output and `data`, and the results in `data`."""

    data: bytes
    recipe: Sequence[Any]
    traces: Sequence[PackedTrace]
    time: str


class PackWriter:
    """Writes a pack. Nothing is on the disk before `sync` or `finish`. Methods raise `OSError`."""

    def __init__(self, folder: Path, path: str, pipeline: str, target: str) -> None:
        """Create a temporary file in the folder; the other arguments are those of `About`."""
        self._folder = folder
        self._temporary = Temporary(folder, "pack")
        self._partial: Path | None = None
        self._file: BinaryIO | None = None
        self._gzip = zlib.compressobj(_LEVEL, zlib.DEFLATED, _GZIP)
        self._recipe: list[Copy | int] = []
        self._traces: list[PackedTrace] = []
        self._data: list[bytes] = []
        self._size = 0
        self._is_ahead = False  # of the disk
        self._write({"path": path, "pipeline": pipeline, "time": now(), "target": target})

    @property
    def size(self) -> int:
        """The number of bytes in the record so far: the position of the next addition."""
        return self._size

    def copy(self, part: Copy) -> None:
        """Append bytes of the output to the input."""
        last = self._recipe[-1] if self._recipe else None
        if isinstance(last, Copy) and last.start + last.length == part.start:
            self._recipe[-1] = Copy(last.start, last.length + part.length)
        else:
            self._recipe.append(part)

    def take(self, data: bytes) -> None:
        """Append bytes that the output does not have to the input."""
        last = self._recipe[-1] if self._recipe else None
        if isinstance(last, int) and last > 0:
            self._recipe[-1] = last + len(data)
        else:
            self._recipe.append(len(data))
        self._add(data)

    def text(self, data: bytes) -> None:
        """Store bytes that are not part of the input."""
        self._recipe.append(-len(data))
        self._add(data)

    def trace(self, trace: PackedTrace) -> None:
        """Store the trace of a text in this record."""
        self._traces.append(trace)

    def end_chunk(self) -> None:
        """Write the record if it is large enough."""
        if self._size >= _BLOCK:
            self._write_record()

    def sync(self) -> None:
        """Bring the originals so far to the disk, in a file that stays if the run ends here."""
        if not self._is_ahead:
            return
        self._is_ahead = False
        self._write_record()
        self._put(self._gzip.flush(zlib.Z_SYNC_FLUSH))
        if self._file is None:
            self._partial = self._folder / f"{_PARTIAL}{os.urandom(8).hex()}"
            self._temporary.sync()
            self._temporary.replace(self._partial)
            self._temporary.discard()
            self._file = self._partial.open("ab")
            sync_folder(self._folder)
        else:
            self._file.flush()
            os.fsync(self._file.fileno())

    def finish(self, output: str, source: str) -> None:
        """Bring the pack to the disk under its name: the SHA-256 of the output and of the input."""
        self._write_record()
        self._write({})
        self._put(self._gzip.flush())
        target = self._folder / f"{output}-{source}"
        if self._file is not None and self._partial is not None:
            self._file.flush()
            os.fsync(self._file.fileno())
            self._file.close()
            self._partial.replace(target)
        else:
            self._temporary.sync()
            self._temporary.replace(target)
            self._temporary.discard()
        sync_folder(self._folder)
        self._is_ahead = False

    def discard(self) -> None:
        """Close the file. Remove it unless it is finished or was synced."""
        if self._file is not None:
            self._file.close()
        self._temporary.discard()

    def _add(self, data: bytes) -> None:
        self._is_ahead = True
        self._data.append(data)
        self._size += len(data)

    def _write_record(self) -> None:
        if not self._recipe:
            return
        self._write({"time": now(), "recipe": self._recipe, "traces": self._traces}, self._data)
        self._recipe, self._traces, self._data, self._size = [], [], [], 0

    def _write(self, values: dict[str, Any], data: Sequence[bytes] = ()) -> None:
        head = (
            json.dumps({"size": sum(map(len, data))} | values, separators=(",", ":")).encode()
            + b"\n"
        )
        digest = sha256(head)
        self._put(self._gzip.compress(head))
        for part in data:
            digest.update(part)
            self._put(self._gzip.compress(part))
        self._put(self._gzip.compress(digest.digest()))

    def _put(self, data: bytes) -> None:
        if self._file is None:
            self._temporary.write(data)
        else:
            self._file.write(data)


class Pack:
    """A pack in a file. Methods raise `ArchiveError` if it was changed, and `OSError`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.output, _, self.input = path.name.partition("-")
        self.is_partial = path.name.startswith(_PARTIAL)

    def about(self) -> About:
        """The description of the run; empty if the run was killed before it was written."""
        for values, _ in self._records():
            return About(
                str(values.get("path")),
                str(values.get("pipeline")),
                str(values.get("time")),
                str(values.get("target", "")),
            )
        return About("", "", "")

    def records(self) -> Iterator[PackRecord]:
        """The parts of the input, in order."""
        for values, data in self._records():
            if "recipe" in values:
                try:
                    traces = [PackedTrace(*trace) for trace in values["traces"]]
                    yield PackRecord(data, values["recipe"], traces, values["time"])
                except (LookupError, TypeError):
                    raise self._changed() from None

    def originals(
        self, is_wanted: Callable[[PackedTrace], bool]
    ) -> Iterator[tuple[PackedTrace, str, bytes]]:
        """Traces, the time of each, and the text of the result in bytes."""
        for record in self.records():
            for trace in filter(is_wanted, record.traces):
                try:
                    text = text_at(record.data, trace.place)
                except (LookupError, TypeError, ValueError):
                    raise self._changed() from None
                yield trace, record.time, text.encode("utf-8", "surrogatepass")

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
                    try:
                        start, length = part
                        yield output[start : start + length]
                    except (TypeError, ValueError):
                        raise self._changed() from None

    def _records(self) -> Iterator[tuple[dict[str, Any], bytes]]:
        """The head and the bytes of each record. A partial pack may end at any place."""
        with open_regular(self.path) as raw, GzipFile(fileobj=raw) as file:
            try:
                is_last = False
                while not is_last:
                    values, data = _record(file)
                    is_last = values.keys() == {"size"}
                    yield values, data
                if file.read(1):
                    raise self._changed()
            except _DAMAGE:
                if not self.is_partial:
                    raise self._changed() from None

    def _changed(self) -> ArchiveError:
        return ArchiveError(f"{self.path}: the pack has been changed; it is not what was stored")


def _record(file: GzipFile) -> tuple[dict[str, Any], bytes]:
    """The next record; `EOFError` or `ValueError` where there is none or its digest differs."""
    head = file.readline()
    values = json.loads(head)
    data = file.read(values["size"])
    digest = sha256(head)
    digest.update(data)
    if file.read(_DIGEST) != digest.digest():
        raise ValueError("the digest differs")
    return values, data
