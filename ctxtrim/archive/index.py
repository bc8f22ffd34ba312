"""The archive of originals, with which every edit can be undone.

::

    DIR/packs/OUTPUT-INPUT  undoes a run, by the SHA-256 of its output and its input (see `pack`)
    DIR/objects/3f/9a…      results that were moved to files, by their SHA-256
    DIR/index.sqlite3       in archives of version 1, with all originals in `objects`
                            (see `old_index`)

New folders and files are private to the user. An existing folder keeps its mode. A folder that
other users can write to is refused, and so are symbolic links in it.
"""

from collections.abc import Iterator
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from ctxtrim.archive.blobs import Objects, sha256
from ctxtrim.archive.old_index import OldIndex
from ctxtrim.archive.pack import Pack, PackedTrace, PackWriter, is_pack
from ctxtrim.archive.permissions import make_folder, must_be_file, must_be_folder
from ctxtrim.errors import ArchiveError, NoArchiveError, os_errors_as
from ctxtrim.text.escaping import clean


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

    Methods raise `ArchiveError` if it cannot be read, written or trusted.
    """

    def __init__(self, folder: Path, makes: bool = True) -> None:
        self.folder = folder
        self._packs = folder / "packs"
        self._objects = Objects(folder / "objects")
        self._old: OldIndex | None = None
        index = folder / "index.sqlite3"
        with self._errors():
            if not makes and not index.exists() and not self._packs.exists():
                raise NoArchiveError(
                    f"{folder}: there is no archive here; name the folder of the run's --archive"
                )
            if makes:
                make_folder(folder, is_named=True)
                self._must_be_ours()
                make_folder(self._packs)
            self._must_be_ours()
            if index.exists():
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
        """Close the index."""
        if self._old is not None:
            self._old.close()

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

    def original(self, trace: Trace) -> bytes:
        """The text of a result, checked against its SHA-256."""
        if trace.pack is None:
            return self._objects.take(trace.sha256)
        for _, _, text in self._originals(trace.pack, trace.id):
            if sha256(text) == trace.sha256:
                return text
        raise ArchiveError(f"{trace.pack.path}: the original {trace.sha256} is missing")

    def runs(self, output: str) -> list[Run]:
        """The runs that produced an output, the newest last."""
        found = []
        if self._old is not None:
            found += [Run(output, *row) for row in self._old.runs(output)]
        for pack in self.packs():
            if pack.output == output:
                with self._errors():
                    found.append(Run(output, pack.input, pack, *pack.about()))
        return sorted(found, key=lambda run: (run.time, run.input))

    def outputs(self) -> set[str]:
        """The SHA-256 of every output that can be undone."""
        old = self._old.outputs() if self._old is not None else []
        return {*old, *(pack.output for pack in self.packs() if not pack.is_partial)}

    def inputs(self) -> set[str]:
        """The SHA-256 of every input that can be restored."""
        old = self._old.inputs() if self._old is not None else []
        return {*old, *(pack.input for pack in self.packs() if not pack.is_partial)}

    def restored(self, run: Run, output: bytes) -> Iterator[bytes]:
        """The input of a run, in parts, made from its output."""
        with self._errors():
            if isinstance(run.recipe, Pack):
                yield from run.recipe.restored(output)
            elif self._old is not None:
                yield from self._old.restored(run.recipe, output, self._objects.take)

    def traces(self, name: str | None = None) -> list[Trace]:
        """The originals with an id, or all originals, the oldest first.

        An id with unprintable characters is also found by its escaped form, as `trace list` shows
        it. Raises `ArchiveError` for a pack that was changed, unless another pack has the id.
        """
        found = [Trace(*row) for row in self._old.traces()] if self._old is not None else []
        errors = []
        for pack in self.packs():
            try:
                found += self._packed_traces(pack, name)
            except ArchiveError as error:
                errors.append(error)
        exact = [trace for trace in found if name in (None, trace.id)]
        found = exact or [trace for trace in found if clean(trace.id) == name]
        if errors and (name is None or not found):
            raise errors[0]
        return sorted(found, key=lambda trace: (trace.time, trace.path, trace.line or 0, trace.id))

    def damage(self) -> tuple[int, list[str]]:
        """The number of originals, and an error for each file that is missing or was changed."""
        names, errors = set(self._objects.names()), []
        if self._old is not None:
            names |= {row[1] for row in self._old.traces()} | set(self._old.recipes())
        for name in sorted(names):
            try:
                self._objects.take(name)
            except ArchiveError as error:
                errors.append(str(error))
        for pack in self.packs():
            try:
                names |= {trace.sha256 for trace in self._packed_traces(pack, None)}
            except ArchiveError as error:
                errors.append(str(error))
        return len(names), errors

    def packs(self) -> list[Pack]:
        """The packs of all runs, also of those that were killed, by their names."""
        with self._errors(), suppress(FileNotFoundError):
            return [Pack(path) for path in sorted(self._packs.iterdir()) if is_pack(path)]
        return []

    def separate(self, pack: Pack) -> set[str]:
        """The names of the separate files with originals of a run.

        There are none to remove in an archive with an index of version 1, which may need them.
        """
        stored = set() if self._old is not None else set(self._objects.names())
        if not stored:
            return stored
        return stored & {trace.sha256 for trace in self._packed_traces(pack, None)}

    def _packed_traces(self, pack: Pack, name: str | None) -> list[Trace]:
        with self._errors():
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
                for trace, time, text in self._originals(pack, name)
            ]

    def _originals(self, pack: Pack, name: str | None) -> Iterator[tuple[PackedTrace, str, bytes]]:
        """The traces in a pack that have an id, or all of them, with their times and texts."""
        with self._errors():
            yield from pack.originals(
                lambda trace: name is None or name in (trace.id, clean(trace.id))
            )
