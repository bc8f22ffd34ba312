"""The archive recordings of a run, and how the user undoes it."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from ctxtrim.archive.locations import own_archive
from ctxtrim.cli.request import Request
from ctxtrim.errors import ArchiveError
from ctxtrim.findings import Finding
from ctxtrim.io.inputs import Input
from ctxtrim.io.outputs import Delayed, Sink
from ctxtrim.text.escaping import shell_word

if TYPE_CHECKING:
    from ctxtrim.archive.index import Archive
    from ctxtrim.archive.recorder import Recording, Spills


def _archive(request: Request) -> "Archive | None":
    """The archive of a run, created if it does not exist; None for a run without an archive."""
    if request.archive is None:
        return None
    from ctxtrim.archive.index import Archive  # most runs have no archive

    with _hint(request):
        return Archive(request.archive)


@contextmanager
def _hint(request: Request) -> Iterator[None]:
    """Add the remedy to an error about the archive in the user's data folder."""
    try:
        yield
    except ArchiveError as error:
        if request.archive != own_archive():
            raise
        raise ArchiveError(
            f"{error}; name another folder with --archive, or use --no-archive to edit without undo"
        ) from error


def _spills(request: Request) -> "Spills | None":
    """The keeper of results that are moved to files."""
    if request.spills is None:
        return None
    from ctxtrim.archive.recorder import Spills

    return Spills(request.spills, stores=request.targets.writes)


class Recordings:
    """The archive of a run, with a recording of each output.

    Inputs that share standard output have one recording.
    """

    def __init__(self, request: Request) -> None:
        self._request = request
        self._archive = _archive(request)
        self.spills = _spills(request) if self._archive is None else None
        self._shared: Recording | None = None
        if request.targets.shares_stdout:
            paths = ", ".join(source.path for source in request.sources)
            self._shared = self._new(paths, None)

    def of(self, source: Input) -> "Recording | None":
        """The recording of an input."""
        return self._shared or self._new(source.path, self._request.targets.path(source))

    def finish(self, recording: "Recording | None") -> None:
        """Finish a recording, unless it is the shared one."""
        if recording is not None and recording is not self._shared:
            with _hint(self._request):
                recording.finish()

    def withdraw(self, recording: "Recording | None") -> None:
        """Remove a finished recording, because its output was not written."""
        if recording is not None and recording is not self._shared:
            recording.withdraw()

    def undo(self, source: Input) -> Iterator[Finding]:
        """The finding with the command that restores a file that was replaced in place."""
        if self._archive is None or not self._request.targets.in_place:
            return
        path = f"./{source.path}" if source.path.startswith("-") else source.path
        words = ["ctxtrim", "restore", path, "--in-place"]
        if self._archive.folder != own_archive():
            words += ["--archive", str(self._archive.folder)]
        yield Finding("undo", "info", f"undo: {' '.join(map(shell_word, words))}")

    def finish_shared(self) -> None:
        """Finish the shared recording."""
        if self._shared is not None:
            self._shared.finish()

    def sink(self, recording: "Recording | None", sink: Sink) -> Sink:
        """The sink of an output.

        Nothing is written to standard output before the originals are on the disk.
        """
        if recording is None or self._request.targets.holds_back:
            return sink
        return Delayed(sink, recording.sync)

    def discard(self, recording: "Recording | None") -> None:
        """Discard an unfinished recording, unless it is the shared one."""
        if recording is not None and recording is not self._shared:
            recording.discard()

    def close(self) -> None:
        """Discard the shared recording if it is unfinished, and close the archive."""
        if self._shared is not None:
            self._shared.discard()
        if self._archive is not None:
            self._archive.close()

    def _new(self, path: str, target: Path | None) -> "Recording | None":
        if self._archive is None:
            return None
        from ctxtrim.archive.recorder import Recording

        # `restore` finds the last run on a file by its path
        written = "" if target is None else str(target.resolve())
        if self._request.targets.in_place:
            path = written
        pipeline = ", ".join(spec.name for spec in self._request.job.pipeline.stages)
        with _hint(self._request):
            return Recording(self._archive, path, pipeline, written)
