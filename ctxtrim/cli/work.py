"""The work on the inputs of a run: each is read, its results are written, and it is reported."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING

from msgspec import structs

from ctxtrim.cli.progress import Watch
from ctxtrim.cli.recordings import Recordings
from ctxtrim.cli.request import Request
from ctxtrim.conversion.losses import LossTotals
from ctxtrim.errors import ArchiveError, CtxtrimError, InputError, OutputError, UsageError
from ctxtrim.formats.reading import Reading, open_reading
from ctxtrim.io.inputs import Input, reading
from ctxtrim.io.outputs import Sink
from ctxtrim.io.replacement import ATTEMPTS, ChangedError
from ctxtrim.io.spool import Spool
from ctxtrim.reports.failures import not_handled
from ctxtrim.reports.model import Report, Row
from ctxtrim.stage import Finding
from ctxtrim.stream import Done, stream

if TYPE_CHECKING:
    from ctxtrim.archive.recorder import Recording

FINDING = 8  # size of a finding in a `Spool`
_START = 200  # bytes of an input whose beginning a message may quote


@dataclass
class Progress:
    """The transcripts of one input so far.

    `rows` and `findings` are reported after a file is replaced, and `losses` of its conversion in
    one line. `start`: the first bytes.
    `is_lossy`: a transcript is left out.
    """

    rows: Spool[Row] = field(default_factory=lambda: Spool(lambda row: row.size))
    findings: Spool[Finding] = field(default_factory=lambda: Spool(lambda finding: FINDING))
    losses: LossTotals = field(default_factory=LossTotals)
    start: bytes = b""
    has_rows: bool = False
    has_written: bool = False
    is_changed: bool = False
    is_lossy: bool = False

    def add(self, done: Done) -> None:
        """Add the result of a chunk, but not its rows."""
        self.start = self.start or done.read[:_START].strip()
        self.has_rows |= bool(done.rows)
        self.has_written |= any(row.is_written for row in done.rows)
        self.is_changed |= done.is_changed
        self.is_lossy |= done.is_lossy
        self.findings.extend(done.findings)
        for row in done.rows:
            self.losses.add(row.findings)

    def close(self) -> None:
        """Remove temporary files."""
        self.rows.close()
        self.findings.close()


class Work:
    """The work on all inputs of a run."""

    def __init__(
        self, request: Request, recordings: Recordings, report: Report, watch: Watch
    ) -> None:
        self._request, self._recordings, self._report = request, recordings, report
        self._watch = watch
        # the walked folders in which no transcript is found yet
        self._without = {source.folder for source in request.sources if source.folder is not None}
        self._ends_line = True  # whether the output so far ends with a line break

    def process_all(self, readings: Mapping[str, Reading]) -> None:
        """Process all inputs. Errors of one input do not stop the others.

        `readings` are the inputs that are open, by path.
        """
        targets = self._request.targets
        for source in self._request.sources:
            try:
                if source.path in readings:
                    self._process(source, readings[source.path])
                elif targets.writes and targets.in_place:
                    self._replace(source)
                else:
                    self._read(source)
            except InputError as error:
                self._report.note(
                    source.path, Finding("unreadable", "error", str(error), error.line)
                )
            except (OutputError, ArchiveError) as error:
                code = "not-written" if isinstance(error, OutputError) else "not-archived"
                self._report.note(source.path, Finding(code, "error", str(error)))
                if not targets.holds_back:
                    raise
            except (CtxtrimError, BrokenPipeError):
                raise
            except Exception as error:  # noqa: BLE001 - it must not stop the other inputs
                finding = not_handled(error, None, self._request.job.shows_tracebacks)
                self._report.note(source.path, finding)
        for folder in sorted(self._without) if not self._request.may_be_empty else ():
            from ctxtrim.cli.missing_transcripts import NO_TRANSCRIPT_INSIDE

            self._report.note(folder, NO_TRANSCRIPT_INSIDE)
        self._recordings.close()

    def _read(self, source: Input, sink: Sink | None = None) -> None:
        request = self._request
        with reading(source, request.max_size) as lines:
            content = open_reading(self._watch(lines), request.formats, request.max_size)
            self._process(source, content, sink)

    def _replace(self, source: Input) -> None:
        """Replace one file. If it changed in the meantime, read it again."""
        for attempt in range(1, ATTEMPTS + 1):
            # created before the file is read, so that it detects every later change
            sink = self._request.targets.sink(source)
            try:
                self._read(source, sink)
                return
            except ChangedError:
                if attempt == ATTEMPTS:
                    raise
            finally:
                sink.discard()

    def _process(self, source: Input, content: Reading, sink: Sink | None = None) -> None:
        """Process one input and write it to its target."""
        request = self._request
        if content.format is None and request.messages_path is not None:
            raise UsageError(
                f"--messages-path {request.messages_path}: no message list at this path in "
                f"{source.name}"
            )
        recording = self._recordings.of(source)
        sink = self._recordings.sink(recording, sink or request.targets.sink(source))
        progress = Progress()
        try:
            keeper = recording or self._recordings.spills
            for done in stream(source.path, content, request.job_of(source), keeper):
                if source.session is not None:
                    done = _canonical(done)
                progress.add(done)
                self._write(done, recording, sink)
                if request.targets.holds_back:
                    progress.rows.extend(done.rows)
                else:
                    self._report.add(done.rows)
            self._finish(progress, recording, sink)
            self._note_findings(source, content, progress)
        except BaseException:
            sink.discard()
            raise
        finally:
            if recording is not None:
                self._recordings.discard(recording)
            progress.close()

    def _write(self, done: Done, recording: "Recording | None", sink: Sink) -> None:
        """Write the bytes of a chunk, on a new line."""
        added = b"" if self._ends_line or not done.data else b"\n"
        if recording is not None:
            recording.chunk(done.read, done.data, added)
        if done.data:
            sink.write(added + done.data)
            is_shared = self._request.targets.shares_stdout
            self._ends_line = done.data.endswith(b"\n") or not is_shared

    def _finish(self, progress: Progress, recording: "Recording | None", sink: Sink) -> None:
        """Commit the output, unless the file must stay as it is, and report the rows."""
        targets = self._request.targets
        stays = progress.is_lossy and (targets.in_place or not progress.has_written)
        is_kept = stays or (targets.in_place and not progress.is_changed)
        if not (is_kept and targets.holds_back):
            self._recordings.finish(recording)
        if is_kept:
            sink.discard()
        else:
            sink.commit()
        if stays:
            self._report.add(structs.replace(row, is_written=False) for row in progress.rows)
        else:
            self._report.add(progress.rows)

    def _note_findings(self, source: Input, content: Reading, progress: Progress) -> None:
        findings: Iterable[Finding] = progress.findings
        if not progress.has_rows and not progress.is_lossy:
            from ctxtrim.cli.missing_transcripts import no_transcript

            first = next(iter(findings), None)
            findings = [no_transcript(source, content, progress.start, self._request, first)]
        else:
            self._without.discard(source.folder)
        if progress.is_changed and not progress.is_lossy:
            findings = chain(findings, self._recordings.undo(source))
        for finding in chain(_format_findings(content, self._request), findings):
            self._report.note(source.path, finding)
        if losses := str(progress.losses):
            self._report.note(source.path, Finding("losses", "info", losses))


def _format_findings(content: Reading, request: Request) -> Iterator[Finding]:
    """The finding about the detected format, if the user wants it or if the format is uncertain."""
    if content.is_mixed:
        yield Finding(
            "mixed-formats",
            "warning",
            f"{content.taken_for}; what is not understood is kept as it is",
        )
    elif request.explains_format:
        yield Finding("format", "info", content.taken_for)


def _canonical(done: Done) -> Done:
    """The result of a stored session, whose data is as the program would write it."""
    from ctxtrim.io.storage.document import canonical

    return structs.replace(done, data=canonical(done.read, done.data))
