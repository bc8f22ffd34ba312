"""The recording of a run: the data with which an archive can restore the input from the output."""

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from ctxtrim.archive.blobs import Objects
from ctxtrim.archive.delta import Copy, segments
from ctxtrim.archive.index import Archive
from ctxtrim.archive.pack import PackedTrace
from ctxtrim.archive.permissions import must_be_private
from ctxtrim.archive.places import literal, places
from ctxtrim.archive.starts import Starts
from ctxtrim.errors import ArchiveError, os_errors_as
from ctxtrim.stage import Original, StageOriginals
from ctxtrim.text.hashing import sha256, sha256_of, stored_bytes


class Recording:
    """Stores the input bytes that only the input has, and the places of results in them.

    `path` names the input, `pipeline` the stages, `target` the output file, if any. Methods raise
    `ArchiveError` if data cannot be stored. Call `finish` before the output is written to a file,
    and `sync` before it is written to standard output.
    """

    def __init__(self, archive: Archive, path: str, pipeline: str, target: str = "") -> None:
        self._archive = archive
        self._pack = archive.writer(path, pipeline, target)
        self._input, self._output = Starts(archive.known_outputs), hashlib.sha256()
        self._position = 0
        self._originals: list[tuple[Original, str]] = []  # of the current chunk, with their stages
        self._error: ArchiveError | None = None

    def keep(self, originals: Sequence[Original], stage: str) -> dict[int, str]:
        """Record the originals that a stage replaces; returns their SHA-256 by message index.

        A result that the transcript refers to by path is stored in a separate file at once.
        """
        names = {}
        for original in originals:
            text = stored_bytes(original.text)
            name = sha256(text)
            if original.action == "archived":
                self._archive.put(text)
            names[original.index] = name
        self._originals += [(original, stage) for original in originals]
        return names

    def path_of(self, name: str) -> str:
        """The path of the separate file of an original, by its SHA-256."""
        return str(self._archive.path(name))

    def take(self) -> StageOriginals:
        """Take back the originals since the last chunk."""
        taken, self._originals = self._originals, []
        return tuple(((original,), stage) for original, stage in taken)

    def chunk(self, before: bytes, after: bytes | None, added: bytes = b"") -> None:
        """Record input lines and their output (None: nothing), after `added` bytes of output."""
        out = added + (after or b"")
        start = self._position + len(added)
        with self._errors():
            if before == after:
                self._pack.copy(Copy(start, len(before)))
            else:
                self._take(before, after or b"", start)
            self._pack.refer(self._archive.mentioned(before))
            if after is not None and after != before:
                self._pack.refer(self._archive.mentioned(after))
            self._pack.end_chunk()
        self._originals = []
        self._input.add(before)
        self._output.update(out)
        self._position += len(out)

    def sync(self) -> None:
        """Write everything so far to the disk. An earlier error is raised again."""
        if self._error is not None:
            raise self._error
        with self._errors():
            self._pack.sync()

    def finish(self) -> None:
        """Store the run. After this, its output can be undone."""
        with self._errors():
            self._pack.finish(self._output.hexdigest(), self._input.sha256, self._input.found)

    def withdraw(self) -> None:
        """Remove the finished recording of an output that was not written."""
        with self._errors():
            self._pack.withdraw()

    def discard(self) -> None:
        """Remove the recording, unless it is finished or was synced."""
        self._pack.discard()

    def _take(self, before: bytes, after: bytes, start: int) -> None:
        """Store the bytes that only `before` has, and the places of the replaced results."""
        base, taken = self._pack.size, []
        for part in segments(_lines(before), _lines(after), start):
            if isinstance(part, Copy):
                self._pack.copy(part)
            else:
                self._pack.take(part)
                taken.append(part)
        if self._originals:
            positions = places(b"".join(taken), {original.text for original, _ in self._originals})
            positions = {text: [base + first, *rest] for text, (first, *rest) in positions.items()}
            for original, stage in self._originals:
                if original.text not in positions:
                    positions[original.text] = [self._pack.size]
                    self._pack.text(literal(original.text))
                place = positions[original.text]
                self._pack.trace(
                    PackedTrace(original.id, original.tool, stage, original.line, place)
                )

    @contextmanager
    def _errors(self) -> Iterator[None]:
        folder = self._archive.folder
        try:
            with os_errors_as(ArchiveError, f"{folder}: originals cannot be stored here"):
                yield
        except ArchiveError as error:
            self._error = error
            raise


def _lines(data: bytes) -> list[bytes]:
    """Lines with their ends, which are `\\n` only."""
    *whole, rest = data.split(b"\n")
    return [line + b"\n" for line in whole] + ([rest] if rest else [])


class Register:
    """The keeper of a process that works for a run: it names originals as `Recording` does.

    The run stores them when it takes the results.
    """

    def __init__(self) -> None:
        self._originals: list[tuple[tuple[Original, ...], str]] = []

    def keep(self, originals: Sequence[Original], stage: str) -> dict[int, str]:
        """Remember the originals that a stage replaces; returns their names by message index."""
        self._originals.append((tuple(originals), stage))
        return {original.index: sha256_of(original.text) for original in originals}

    def path_of(self, name: str) -> str:
        """Never called: runs that move results to files have one process."""
        raise ArchiveError(f"{name}: no file")

    def take(self) -> StageOriginals:
        """The originals since the last call, with their stages."""
        taken, self._originals = tuple(self._originals), []
        return taken


class Spills:
    """Stores spilled results in a folder: the keeper of a run without an archive.

    A dry run (not `stores`) needs their names and paths alone.
    """

    def __init__(self, folder: Path, stores: bool) -> None:
        self._objects, self._stores = Objects(folder), stores

    def keep(self, originals: Sequence[Original], stage: str) -> dict[int, str]:
        """Store spilled results; returns their names by the index of their message."""
        spilled = {
            original.index: stored_bytes(original.text)
            for original in originals
            if original.action == "archived"
        }
        if spilled and self._stores:
            self._objects.make()
            must_be_private(self._objects.folder)
            for text in spilled.values():
                self._objects.put(text)
        return {index: sha256(text) for index, text in spilled.items()}

    def path_of(self, name: str) -> str:
        """The path of a result, by its SHA-256."""
        return str(self._objects.path(name).absolute())

    def take(self) -> StageOriginals:
        """Nothing: results in files are complete."""
        return ()
