"""Writes a pack (see `pack`)."""

import json
import os
import zlib
from collections.abc import Iterable, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

from ctxtrim.archive.delta import Copy
from ctxtrim.archive.pack import PARTIAL, About, PackedTrace
from ctxtrim.io.clock import now
from ctxtrim.io.temporary import Temporary, sync_folder

_LEVEL = 4  # a third faster than gzip's default of 6, and about 4 % larger
_GZIP = 31  # zlib's number for the largest window and the wrapper of gzip
_BLOCK = 1 << 16  # bytes of the input in a record, unless a chunk is larger


class PackWriter:
    """Writes a pack. Nothing is on the disk before `sync` or `finish`. Methods raise `OSError`."""

    def __init__(self, folder: Path, path: str, pipeline: str, target: str) -> None:
        """Create a temporary file in the folder; the other arguments are those of `About`."""
        self._folder = folder
        self._file = Temporary(folder, "pack")
        self._is_partial = False
        self._gzip = zlib.compressobj(_LEVEL, zlib.DEFLATED, _GZIP)
        self._recipe: list[Copy | int] = []
        self._traces: list[PackedTrace] = []
        self._objects: set[str] = set()
        self._data: list[bytes] = []
        self._size = 0
        self._is_ahead = False  # of the disk
        self._new: Path | None = None  # the finished pack, if there was none of its name
        # files with equal bytes have a pack each, so that `restore` knows all of them
        self._files = sha256(json.dumps([path, target]).encode()).hexdigest()[:16]
        self._write(About(path, pipeline, now(), target)._asdict())

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

    def refer(self, names: Iterable[str]) -> None:
        """Store the names of separate files that the input or the output refers to."""
        self._objects |= set(names)

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
        self._file.write(self._gzip.flush(zlib.Z_SYNC_FLUSH))
        self._file.sync()
        if not self._is_partial:
            self._is_partial = True
            self._file.rename(self._folder / f"{PARTIAL}{os.urandom(8).hex()}")
            sync_folder(self._folder)

    def finish(self, output: str, source: str, starts: Iterable[str]) -> None:
        """Bring the pack to the disk under its name.

        `output` and `source` are the SHA-256 of the output and the input. `starts` are the outputs
        of earlier runs with which the input begins.
        """
        self._write_record()
        self._write({"starts": [*starts]})
        self._write({})
        self._file.write(self._gzip.flush())
        self._file.sync()
        target = self._folder / f"{output}-{source}-{self._files}"
        is_new = not target.exists()
        self._file.replace(target)
        self._file.discard()
        sync_folder(self._folder)
        self._is_ahead = False
        self._new = target if is_new else None

    def withdraw(self) -> None:
        """Remove the finished pack, unless there was one of the same name before."""
        if self._new is not None:
            self._new.unlink(missing_ok=True)

    def discard(self) -> None:
        """Close the file. Remove it unless it is finished or was synced."""
        self._file.discard()

    def _add(self, data: bytes) -> None:
        self._is_ahead = True
        self._data.append(data)
        self._size += len(data)

    def _write_record(self) -> None:
        if not (self._recipe or self._objects):
            return
        values = {
            "time": now(),
            "recipe": self._recipe,
            "traces": self._traces,
            "objects": sorted(self._objects),
        }
        self._write(values, self._data)
        self._recipe, self._traces, self._data, self._size = [], [], [], 0
        self._objects = set()

    def _write(self, values: dict[str, Any], data: Sequence[bytes] = ()) -> None:
        head = (
            json.dumps({"size": sum(map(len, data))} | values, separators=(",", ":")).encode()
            + b"\n"
        )
        digest = sha256(head)
        self._file.write(self._gzip.compress(head))
        for part in data:
            digest.update(part)
            self._file.write(self._gzip.compress(part))
        self._file.write(self._gzip.compress(digest.digest()))
