"""The work on the inputs of a run: each is read, its results are written, and it is reported."""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING

from msgspec import Struct, field, structs

from ctxtrim.cli.progress import Watch
from ctxtrim.cli.recordings import Recordings
from ctxtrim.cli.request import Request
from ctxtrim.errors import ArchiveError, CtxtrimError, InputError, OutputError, UsageError
from ctxtrim.findings import Code, Finding
from ctxtrim.formats.chunks import joined_findings
from ctxtrim.formats.conversion.losses import LossTotals
from ctxtrim.formats.detection import Detection
from ctxtrim.formats.lines import blocks
from ctxtrim.formats.reading import Reading
from ctxtrim.io.inputs import Input
from ctxtrim.io.outputs import Sink, in_attempts
from ctxtrim.io.replacement import ChangedError, ReplacedError
from ctxtrim.io.signals import must_continue
from ctxtrim.io.spool import Spool
from ctxtrim.reports.failures import not_handled
from ctxtrim.reports.model import Row
from ctxtrim.reports.report import Report
from ctxtrim.stage import Keeper
from ctxtrim.stream.job import START, Done
from ctxtrim.text.records import BOM

if TYPE_CHECKING:
    from ctxtrim.archive.recorder import Recording
    from ctxtrim.cli.workers.parallel_run import ParallelRun, Pending

FINDING = 8  # size of a finding in a `Spool`


class InputResults(Struct):
    """The transcripts of one input so far.

    `rows` and `findings` are reported after a file is replaced, and `losses` of its conversion in
    one line. `start`: the first bytes. `is_lossy`: a transcript is left out.
    """

    rows: Spool[Row] = field(default_factory=lambda: Spool(lambda row: row.size))
    findings: Spool[Finding] = field(default_factory=lambda: Spool(lambda finding: FINDING))
    losses: LossTotals = field(default_factory=LossTotals)
    start: bytes = b""
    has_rows: bool = False
    has_written: bool = False
    is_changed: bool = False
    is_lossy: bool = False

    @property
    def has_transcript(self) -> bool:
        """Whether the input has a transcript, which may be left out."""
        return self.has_rows or self.is_lossy

    def add(self, done: Done) -> None:
        """Add the result of a chunk, but not its rows."""
        self.start = self.start or done.read[:START].removeprefix(BOM).strip()
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


_Results = Callable[[Keeper | None], Iterator[Done]]
"""The results of an input, with the keeper of its originals."""


class _Started(Struct, frozen=True):
    """A file on which a process works, and its sink if it is replaced in place."""

    pending: "Pending"
    sink: Sink | None


class Work:
    """The work on all inputs of a run."""

    def __init__(
        self,
        request: Request,
        recordings: Recordings,
        report: Report,
        watch: Watch,
        parallel: "ParallelRun | None",
    ) -> None:
        self._request, self._recordings, self._report = request, recordings, report
        self._watch, self._parallel = watch, parallel
        # walked folders in which no transcript is found yet, without those that cannot be read
        folders = {source.folder for source in request.sources if source.folder is not None}
        problems = {source.path for source in request.sources if source.problem is not None}
        self._empty_folders = folders - problems
        self._ends_line = True  # whether the output so far ends with a line break

    def run(self, readings: Mapping[str, Reading]) -> None:
        """Write and report the results of all inputs. Errors of one do not stop the others.

        `readings` are the inputs that are open, by path.
        """
        waiting: deque[tuple[Input, _Started | None]] = deque()
        try:
            for source in self._request.sources:
                waiting.append((source, self._start(source, readings)))
                if self._parallel is None or len(waiting) > self._parallel.ahead:
                    self._attempt(*waiting.popleft(), readings)
            while waiting:
                self._attempt(*waiting.popleft(), readings)
        finally:
            for _, started in waiting:
                if started is not None and started.sink is not None:
                    started.sink.discard()
        for folder in sorted(self._empty_folders) if not self._request.may_be_empty else ():
            from ctxtrim.cli.missing_transcripts import NO_TRANSCRIPT_INSIDE

            self._report.note(folder, NO_TRANSCRIPT_INSIDE)
        self._recordings.finish_shared()

    def _start(self, source: Input, readings: Mapping[str, Reading]) -> _Started | None:
        """Let a process work on a file; None if it is read in its turn."""
        if self._parallel is None or source.path in readings or not self._parallel.ahead:
            return None
        sink = None
        if self._request.targets.in_place:
            try:
                # created before the file is read, so that it detects every later change
                sink = self._request.targets.sink(source)
            except (CtxtrimError, OSError):  # raised again in its turn
                return None
        pending = self._parallel.start(source)
        if pending is None and sink is not None:
            sink.discard()
        return _Started(pending, sink) if pending is not None else None

    def _attempt(
        self, source: Input, started: _Started | None, readings: Mapping[str, Reading]
    ) -> None:
        """Write and report the results of an input, or report its errors."""
        targets = self._request.targets
        try:
            if source.path in readings:
                self._run_open(source, readings[source.path])
            elif started is None or not self._take(source, started):
                self._run_closed(source)
        except InputError as error:
            self._report.note(source.path, Finding("unreadable", "error", str(error), error.line))
        except (OutputError, ArchiveError) as error:
            code: Code = "not-written" if isinstance(error, OutputError) else "not-archived"
            text = str(error).removeprefix(f"{source.path}: ")  # the report names the file
            self._report.note(source.path, Finding(code, "error", text))
            if not targets.holds_back:
                raise
        except (CtxtrimError, BrokenPipeError):
            raise
        except Exception as error:  # noqa: BLE001 - it must not stop the other inputs
            must_continue()
            finding = not_handled(error, None, shows_traceback=self._request.job.shows_tracebacks)
            self._report.note(source.path, finding)

    def _take(self, source: Input, started: _Started) -> bool:
        """Write the results of a process; False if the file must be read here."""
        from ctxtrim.cli.workers.parallel_run import dead_worker_finding, stored_results
        from ctxtrim.cli.workers.pool import DeadWorkerError

        assert self._parallel is not None
        try:
            result = self._parallel.result(started.pending)
            if result is None or result.detection is None:
                return False
            self._watch.add(source.size or 0)
            results_with = partial(stored_results, result)
            self._write_results(source, result.detection, results_with, started.sink)
        except ChangedError:
            return False
        except DeadWorkerError as error:
            self._report.note(source.path, dead_worker_finding(error))
        finally:
            if started.sink is not None:
                started.sink.discard()
        return True

    def _run_closed(self, source: Input) -> None:
        """Open an input and write its results to its target.

        If a file to replace changed in the meantime, read it again.
        """
        targets = self._request.targets
        if targets.in_place:
            in_attempts(partial(targets.sink, source), partial(self._read, source))
        else:
            self._read(source)

    def _read(self, source: Input, sink: Sink | None = None) -> None:
        with self._request.pipeline.reader.open(source, self._watch.lines) as content:
            self._run_open(source, content, sink)

    def _run_open(self, source: Input, content: Reading, sink: Sink | None = None) -> None:
        if self._parallel is not None and source.session is None:
            results_with = partial(self._parallel.results, source, content)
        else:
            results_with = partial(self._request.pipeline.run, source, content)
        self._write_results(source, content.detection, results_with, sink)

    def _write_results(
        self, source: Input, detection: Detection, results_with: _Results, sink: Sink | None
    ) -> None:
        """Write the results of one input to its target, and report them."""
        request = self._request
        choice = request.pipeline.reader.choice
        if detection.format is None and choice.messages_path is not None:
            place = f"{choice.origin} {choice.messages_path}"
            raise UsageError(f"{place}: no message list at this path in {source.name}")
        recording = self._recordings.of(source)
        sink = self._recordings.sink(recording, sink or request.targets.sink(source))
        results = InputResults()
        try:
            for done in results_with(recording or self._recordings.spills):
                must_continue()  # else what an interrupt broke is reported as an error
                results.add(done)
                self._write(done, recording, sink)
                if request.targets.holds_back:
                    results.rows.extend(done.rows)
                else:
                    self._report.add(done.rows)
            if results.has_transcript:
                self._empty_folders.discard(source.folder)
            self._finish(results, recording, sink)
            self._note_findings(source, detection, results)
        except BaseException:
            sink.discard()
            raise
        finally:
            self._recordings.discard(recording)
            results.close()

    def _write(self, done: Done, recording: "Recording | None", sink: Sink) -> None:
        """Write the bytes of a chunk, on a new line."""
        output = done.output
        added = b"" if self._ends_line or not output else b"\n"
        if recording is not None:
            recording.chunk(done.read, done.data, added)
        if output:
            for block in chain((added,), blocks(output)):
                sink.write(block)
            is_shared = self._request.targets.shares_stdout
            self._ends_line = done.is_open or output.endswith(b"\n") or not is_shared

    def _finish(self, results: InputResults, recording: "Recording | None", sink: Sink) -> None:
        """Commit the output, unless the file must stay as it is, and report the rows."""
        targets = self._request.targets
        is_incomplete = results.is_lossy or self._converts_nothing(results)
        stays = is_incomplete and (targets.in_place or not results.has_written)
        is_kept = stays or (targets.in_place and not results.is_changed)
        if not (is_kept and targets.holds_back):
            self._recordings.finish(recording)
        if is_kept:
            sink.discard()
        else:
            self._commit(recording, sink)
        if stays:
            self._report.add(structs.replace(row, is_written=False) for row in results.rows)
        else:
            self._report.add(results.rows)

    def _converts_nothing(self, results: InputResults) -> bool:
        """Whether a conversion has no request, except that of an empty input that is accepted."""
        request = self._request
        is_accepted = request.may_be_empty and not results.start
        return request.api is not None and not results.has_written and not is_accepted

    def _commit(self, recording: "Recording | None", sink: Sink) -> None:
        """Commit the output. If nothing was written, the archive has no run to undo."""
        try:
            sink.commit()
        except ReplacedError:
            raise
        except OutputError:
            self._recordings.withdraw(recording)
            raise

    def _note_findings(self, source: Input, detection: Detection, results: InputResults) -> None:
        findings: Iterable[Finding] = joined_findings(results.findings)
        if not results.has_transcript:
            from ctxtrim.cli.missing_transcripts import no_transcript

            first = next(iter(findings), None)
            findings = [no_transcript(source, detection, results.start, self._request, first)]
        if results.is_changed and not results.is_lossy:
            findings = chain(findings, self._recordings.undo(source))
        for finding in chain(_format_findings(detection, self._request), findings):
            self._report.note(source.path, finding)
        if losses := str(results.losses):
            self._report.note(source.path, Finding("losses", "info", losses))


def _format_findings(detection: Detection, request: Request) -> Iterator[Finding]:
    """The finding about the detected format, if the user wants it or if the format is uncertain."""
    if detection.is_mixed:
        yield Finding(
            "mixed-formats",
            "warning",
            f"{detection.description}; other values are kept unchanged",
        )
    elif request.explains_format:
        kept = "; kept unchanged" if detection.format is None else ""
        yield Finding("format", "info", f"{detection.description}{kept}")
