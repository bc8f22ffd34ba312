"""The archive recordings of a run."""

from pathlib import Path
from typing import TYPE_CHECKING

from ctxtrim.cli.request import Request
from ctxtrim.io.inputs import Input
from ctxtrim.io.outputs import Delayed, Sink

if TYPE_CHECKING:
    from ctxtrim.archive.index import Archive
    from ctxtrim.archive.recorder import Recording, Spills


def archive_of(request: Request) -> "Archive | None":
    """The archive for the originals of a run; most runs have none and do not load it."""
    if request.archive is None:
        return None
    from ctxtrim.archive.index import Archive

    return Archive(request.archive)


def _spills(folder: Path | None) -> "Spills | None":
    """The keeper of results that are moved to files."""
    if folder is None:
        return None
    from ctxtrim.archive.recorder import Spills

    return Spills(folder)


class Recordings:
    """The archive recording of each output.

    Inputs that share standard output have one recording.
    """

    def __init__(self, archive: "Archive | None", request: Request) -> None:
        self._archive, self._request = archive, request
        self.spills = _spills(request.spills) if archive is None else None
        self._shared: Recording | None = None
        if request.targets.shares_stdout:
            self._shared = self._new(", ".join(source.path for source in request.sources))

    def of(self, source: Input) -> "Recording | None":
        """The recording of an input."""
        return self._shared or self._new(source.path)

    def finish(self, recording: "Recording | None") -> None:
        """Finish a recording, unless it is the shared one."""
        if recording is not None and recording is not self._shared:
            recording.finish()

    def close(self) -> None:
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

    def discard(self, recording: "Recording | None" = None) -> None:
        """Discard an unfinished recording; None discards the shared one."""
        if recording is None and self._shared is not None:
            self._shared.discard()
        elif recording is not None and recording is not self._shared:
            recording.discard()

    def _new(self, path: str) -> "Recording | None":
        if self._archive is None:
            return None
        from ctxtrim.archive.recorder import Recording

        pipeline = ", ".join(spec.name for spec in self._request.job.pipeline.stages)
        return Recording(self._archive, path, pipeline)
