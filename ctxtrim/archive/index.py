"""The archive of originals, with which every edit can be undone.

::

    DIR/packs/OUTPUT-INPUT-FILES  undoes a run (see `pack`)
    DIR/objects/3f/9a…            results that were moved to files, by their SHA-256
    DIR/index.sqlite3             in archives of version 1, with all originals in `objects`
                                  (see `old_index`)

New folders and files are private to the user. An existing folder keeps its mode. A folder that
other users can write to is refused, and so are symbolic links in it.
"""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TypeVar

from ctxtrim.archive.blobs import Objects
from ctxtrim.archive.locations import objects_of
from ctxtrim.archive.old_index import OldIndex
from ctxtrim.archive.pack import Pack, PackedTrace, PackGoneError, is_pack
from ctxtrim.archive.pack_writer import PackWriter
from ctxtrim.archive.permissions import make_folder, must_be_file, must_be_folder
from ctxtrim.errors import ArchiveError, NoArchiveError, os_errors_as
from ctxtrim.io.locks import FolderLock
from ctxtrim.text.escaping import clean
from ctxtrim.text.hashing import sha256

T = TypeVar("T")


@dataclass(frozen=True)
class Trace:
    """An original tool result: its id, where it was, and the stage and time of its replacement.

    `pack` has the original; None if the original is a separate file.
    """

    id: str
    sha256: str
    path: str
    line: int | None
    tool: str | None
    stage: str
    time: str
    pack: Pack | None = field(default=None, compare=False)


@dataclass(frozen=True)
class Run:
    """A run from an input to an output, both by their SHA-256.

    The recipe is a name or in a pack. `path` names the input, `pipeline` the stages, `time` is in
    UTC. `target` is the absolute path of the output file, empty if it is not known.
    """

    output: str
    input: str
    recipe: str | Pack
    path: str
    pipeline: str
    time: str
    target: str = ""


class Archive:
    """An archive in a folder.

    Methods raise `ArchiveError` if it cannot be read, written or trusted. An archive that is opened
    to write (`makes`) has a shared lock until `close`: `prune` removes no separate file meanwhile.
    """

    def __init__(self, folder: Path, makes: bool = True) -> None:
        self.folder = folder
        self._packs = folder / "packs"
        self._objects = Objects(objects_of(folder))
        self._lock: FolderLock | None = None
        index = folder / "index.sqlite3"
        with self._errors():
            if not makes and not index.exists() and not self._packs.exists():
                raise NoArchiveError(
                    f"{folder}: no archive in this folder; name the --archive of the run"
                )
            if makes:
                make_folder(folder, is_named=True)
                self._must_be_ours()
                make_folder(self._packs)
                self._lock = FolderLock(self._packs, is_shared=True)
            self._must_be_ours()
            self._old = OldIndex(index)

    def _must_be_ours(self) -> None:
        """Raise `ArchiveError` if others can change the archive, or if links lead out of it."""
        must_be_folder(self.folder, is_named=True)
        for folder in (self._packs, self._objects.folder):
            with suppress(FileNotFoundError):
                must_be_folder(folder)
        for ending in ("", "-wal", "-shm", "-journal"):
            with suppress(FileNotFoundError):
                must_be_file(self.folder / f"index.sqlite3{ending}")

    def _errors(self) -> AbstractContextManager[None]:
        return os_errors_as(ArchiveError, f"{self.folder}: the archive cannot be used")

    def close(self) -> None:
        """End the lock."""
        if self._lock is not None:
            self._lock.close()

    def lock_alone(self) -> bool:
        """Keep new runs out until `close`; False if a run uses the archive."""
        with self._errors(), suppress(FileNotFoundError):
            try:
                self._lock = FolderLock(self._packs, is_shared=False)
            except BlockingIOError:
                return False
        return True

    def writer(self, path: str, pipeline: str, target: str) -> PackWriter:
        """A new pack for a run on the input at `path`. The file at `target` gets its output."""
        with self._errors():
            return PackWriter(self._packs, path, pipeline, target)

    def put(self, data: bytes) -> str:
        """Store a text in a separate file and return its name once it is on the disk."""
        self._objects.make()
        return self._objects.put(data)

    def path(self, name: str) -> Path:
        """The path of the separate file of a text, whether it exists or not."""
        return self._objects.path(name).absolute()

    def mentioned(self, data: bytes) -> set[str]:
        """The names of the separate files that notices in a transcript refer to."""
        return self._objects.mentioned(data)

    def original(self, trace: Trace) -> bytes:
        """The text of a result, checked against its SHA-256."""
        if trace.pack is None:
            return self._objects.take(trace.sha256)
        for _, _, text in _originals(trace.pack, trace.id):
            if sha256(text) == trace.sha256:
                return text
        raise ArchiveError(f"{trace.pack.path}: the original {trace.sha256} is missing")

    def runs(self, output: str) -> list[Run]:
        """The runs that produced an output, the newest last."""
        matches = [Run(output, *row) for row in self._old.runs(output)]
        for pack in self.packs():
            if pack.output == output:
                with suppress(PackGoneError):
                    matches.append(Run(output, pack.input, pack, *pack.about()))
        return sorted(matches, key=lambda run: (run.time, run.input))

    def old_runs(self) -> list[Run]:
        """The runs in the index of version 1."""
        return [Run(*row) for row in self._old.all_runs()]

    def outputs(self) -> set[str]:
        """The SHA-256 of every output that can be undone."""
        packed = (pack.output for pack in self.packs() if not pack.is_partial)
        return {*self._old.outputs(), *packed}

    @cached_property
    def known_outputs(self) -> set[str]:
        """The outputs when they were first needed: one list of them is enough for a run."""
        return self.outputs()

    def inputs(self) -> set[str]:
        """The SHA-256 of every input that can be restored."""
        packed = (pack.input for pack in self.packs() if not pack.is_partial)
        return {*self._old.inputs(), *packed}

    def restored(self, run: Run, output: bytes) -> Iterator[bytes]:
        """The input of a run, in parts, made from its output."""
        if isinstance(run.recipe, Pack):
            yield from run.recipe.restored(output)
        else:
            yield from self._old.restored(run.recipe, output, self._objects.take)

    def traces(self, name: str | None = None) -> tuple[list[Trace], list[str]]:
        """The originals with an id, or all originals, the oldest first; errors of damaged packs.

        An id with unprintable characters is also found by its escaped form, as `trace list` shows
        it.
        """
        matches = [Trace(*row) for row in self._old.traces()]
        packed, errors = self.each(lambda pack: self._packed_traces(pack, name))
        for _, traces in packed:
            matches += traces
        exact = [trace for trace in matches if name in (None, trace.id)]
        matches = exact or [trace for trace in matches if clean(trace.id) == name]
        order = sorted(
            matches, key=lambda trace: (trace.time, trace.path, trace.line or 0, trace.id)
        )
        return order, errors

    def damage(self) -> tuple[int, list[str]]:
        """The number of originals, and an error for each file that is missing or was changed."""
        old = (row[1] for row in self._old.traces())
        names, errors = {*self._objects.names(), *old, *self._old.recipes()}, []
        referring, _ = self.each(Pack.objects)
        names = names.union(*(objects or () for _, objects in referring))
        for name in sorted(names):
            try:
                self._objects.take(name)
            except ArchiveError as error:
                errors.append(str(error))
        packed, damaged = self.each(lambda pack: self._packed_traces(pack, None))
        names |= {trace.sha256 for _, traces in packed for trace in traces}
        return len(names), errors + damaged

    def each(self, read: Callable[[Pack], T]) -> tuple[list[tuple[Pack, T]], list[str]]:
        """The packs and what a function reads of each, and an error for each damaged pack.

        Packs that another process removes in the meantime are left out.
        """
        results, errors = [], []
        for pack in self.packs():
            with suppress(PackGoneError):
                try:
                    results.append((pack, read(pack)))
                except PackGoneError:
                    raise
                except ArchiveError as error:
                    errors.append(str(error))
        return results, errors

    def packs(self) -> list[Pack]:
        """The packs of all runs, also of those that were killed, by their names."""
        with self._errors(), suppress(FileNotFoundError):
            return [Pack(path) for path in sorted(self._packs.iterdir()) if is_pack(path)]
        return []

    def separate(self) -> list[str]:
        """The names of the separate files.

        There are none to remove in an archive with an index of version 1, which may need them.
        """
        return [] if self._old.exists else self._objects.names()

    def _packed_traces(self, pack: Pack, name: str | None) -> list[Trace]:
        path = pack.about().path
        return [
            Trace(
                id=trace.id,
                sha256=sha256(text),
                path=path,
                line=trace.line,
                tool=trace.tool,
                stage=trace.stage,
                time=time,
                pack=pack,
            )
            for trace, time, text in _originals(pack, name)
        ]


def _originals(pack: Pack, name: str | None) -> Iterator[tuple[PackedTrace, str, bytes]]:
    """The traces in a pack that have an id, or all of them, with their times and texts."""
    return pack.originals(lambda trace: name is None or name in (trace.id, clean(trace.id)))
