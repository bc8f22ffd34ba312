"""One output being written, and everything an archive needs to make its input again from it."""

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from ctxtrim.archive.blobs import Objects, sha256
from ctxtrim.archive.delta import Copy, joined, segments
from ctxtrim.archive.index import Archive
from ctxtrim.archive.pack import PackedTrace
from ctxtrim.archive.permissions import must_be_private
from ctxtrim.archive.places import literal, places
from ctxtrim.errors import ArchiveError, reason
from ctxtrim.stage import Original


class Recording:
    """Stores what undoes a run: the bytes that its output lacks, and the places of the replaced results in them.

    Every method is an `ArchiveError` where something cannot be stored. `path` names the input, `did` the stages.
    Nothing may be written to a file before `finish`, and nothing to standard output before `sync`.
    """

    def __init__(self, archive: Archive, path: str, did: str) -> None:
        self._archive = archive
        self._pack = archive.writer(path, did)
        self._input, self._output = hashlib.sha256(), hashlib.sha256()
        self._position = 0
        self._originals: list[tuple[Original, str]] = []  # of the current chunk, with their stages
        self._error: ArchiveError | None = None

    def keep(self, originals: Sequence[Original], stage: str) -> dict[int, str]:
        """Take in what a stage replaces; the SHA-256 of the originals by the index of their message.

        A result that the transcript refers to by its path gets a file of its own at once.
        """
        names = {}
        for original in originals:
            text = _bytes(original)
            names[original.index] = self._archive.put(text) if original.action == "archived" else sha256(text)
        self._originals += [(original, stage) for original in originals]
        return names

    def path_of(self, name: str) -> str:
        """The file of its own of an original, by its SHA-256."""
        return str(self._archive.path(name))

    def chunk(self, before: bytes, after: bytes | None, added: bytes = b"") -> None:
        """Take in some lines and what was written for them (None: nothing), after `added` bytes that no input had."""
        out = added + (after or b"")
        start = self._position + len(added)
        with self._trouble():
            if before == after:
                self._pack.copy(Copy(start, len(before)))
            else:
                self._take(before, after or b"", start)
        self._originals = []
        self._input.update(before)
        self._output.update(out)
        self._position += len(out)

    def sync(self) -> None:
        """Bring everything so far to the disk; after an error it is raised again."""
        if self._error is not None:
            raise self._error
        with self._trouble():
            self._pack.sync()

    def finish(self) -> None:
        """Store the run: from now on its output can be undone."""
        with self._trouble():
            self._pack.finish(self._output.hexdigest(), self._input.hexdigest())

    def discard(self) -> None:
        """Remove what was stored, unless it is finished or was synced."""
        self._pack.discard()

    def _take(self, before: bytes, after: bytes, start: int) -> None:
        """Store the bytes of `before` that `after` does not have, and the places of the replaced results."""
        base, taken = self._pack.size, []
        for part in joined(segments(_lines(before), _lines(after), start)):
            if isinstance(part, Copy):
                self._pack.copy(part)
            else:
                self._pack.take(part)
                taken.append(part)
        if self._originals:
            found = places(b"".join(taken), {original.text for original, _ in self._originals})
            found = {text: [base + first, *rest] for text, (first, *rest) in found.items()}
            for original, stage in self._originals:
                if original.text not in found:
                    found[original.text] = [self._pack.size]
                    self._pack.text(literal(original.text))
                place = found[original.text]
                self._pack.trace(PackedTrace(original.id, original.tool, stage, original.line, place))
        self._pack.end_chunk()

    @contextmanager
    def _trouble(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            self._error = ArchiveError(f"{self._archive.folder}: originals cannot be stored here: {reason(error)}")
            raise self._error from error


def _bytes(original: Original) -> bytes:
    return original.text.encode("utf-8", "surrogatepass")


def _lines(data: bytes) -> list[bytes]:
    """Lines with their ends, which are `\\n` only."""
    *whole, rest = data.split(b"\n")
    return [line + b"\n" for line in whole] + ([rest] if rest else [])


class Spills:
    """Keeps nothing but results that were spilled, in a folder of their own: what there is without an archive."""

    def __init__(self, folder: Path) -> None:
        self._objects = Objects(folder)

    def keep(self, originals: Sequence[Original], stage: str) -> dict[int, str]:
        """Store what was spilled; the names by the index of their message."""
        spilled = [one for one in originals if one.action == "archived"]
        if spilled:
            self._objects.make()
            must_be_private(self._objects.folder)
        return {one.index: self._objects.put(_bytes(one)) for one in spilled}

    def path_of(self, name: str) -> str:
        """The file that a result is in, by its SHA-256."""
        return str(self._objects.path(name).absolute())
