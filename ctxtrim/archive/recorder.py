"""One output being made, and everything an archive has to hold so that its input can be made again from it."""

import hashlib
from collections.abc import Sequence
from pathlib import Path

from ctxtrim.archive.blobs import Objects
from ctxtrim.archive.delta import Copy, Segment, joined, segments
from ctxtrim.archive.index import Archive, Trace
from ctxtrim.archive.permissions import must_be_private
from ctxtrim.io.clock import now
from ctxtrim.stage import Original


class Recording:
    """Stores originals as they are replaced, and in the end the recipe that undoes the run.

    Every method is an `ArchiveError` where something could not be stored. `path` names the input, `did` what was done.
    """

    def __init__(self, archive: Archive, path: str, did: str) -> None:
        self._archive, self.path, self._did = archive, path, did
        self._input, self._output = hashlib.sha256(), hashlib.sha256()
        self._position = 0
        self._recipe: list[Copy | str] = []

    def keep(self, originals: Sequence[Original], stage: str) -> dict[int, str]:
        """Store what a stage replaces; the names of the originals by the index of their message."""
        names = {one.index: self._archive.put(one.text.encode("utf-8", "surrogatepass")) for one in originals}
        moment = now()
        traced = [Trace(one.id, names[one.index], self.path, one.line, one.tool, stage, moment) for one in originals]
        if traced:
            self._archive.trace(traced)
        return names

    def path_of(self, name: str) -> str:
        """The file that an original is in, by its SHA-256."""
        return str(self._archive.path(name))

    def chunk(self, before: bytes, after: bytes | None, added: bytes = b"") -> None:
        """Take in some lines and what was written for them (None: nothing), after `added` bytes that no input had."""
        out = added + (after or b"")
        start = self._position + len(added)
        whole: list[Segment] = [Copy(start, len(before))] if before else []
        for part in whole if before == after else joined(segments(_lines(before), _lines(after or b""), start)):
            last = self._recipe[-1] if self._recipe else None
            if isinstance(part, bytes):
                self._recipe.append(self._archive.put(part))
            elif isinstance(last, Copy) and last.start + last.length == part.start:
                self._recipe[-1] = Copy(last.start, last.length + part.length)
            else:
                self._recipe.append(part)
        self._input.update(before)
        self._output.update(out)
        self._position += len(out)

    def finish(self) -> None:
        """Remember the run: from now on its output can be undone."""
        self._archive.record(self._output.hexdigest(), self._input.hexdigest(), self._recipe, self.path, self._did)


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
        return {one.index: self._objects.put(one.text.encode("utf-8", "surrogatepass")) for one in spilled}

    def path_of(self, name: str) -> str:
        """The file that a result is in, by its SHA-256."""
        return str(self._objects.path(name).absolute())
