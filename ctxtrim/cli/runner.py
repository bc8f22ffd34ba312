"""One run of a command: from options to a request, to the stream, to files, report
and exit code.
"""

import gc
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any

from msgspec import structs

from ctxtrim.archive.index import Archive
from ctxtrim.archive.recorder import Recording
from ctxtrim.cli import terminal
from ctxtrim.cli.recordings import Recordings
from ctxtrim.cli.report_files import append_summary, write_report
from ctxtrim.cli.request import Request, parse_request
from ctxtrim.conversion.losses import LossTotals
from ctxtrim.errors import ArchiveError, CtxtrimError, InputError, OutputError, UsageError
from ctxtrim.events import Event
from ctxtrim.formats import FORMATS
from ctxtrim.formats.reading import Reading, open_reading
from ctxtrim.io.clock import now
from ctxtrim.io.inputs import Input, reading
from ctxtrim.io.outputs import Appended, Sink, write_to
from ctxtrim.io.replacement import ATTEMPTS, ChangedError
from ctxtrim.io.spool import Spool
from ctxtrim.reports.failures import not_handled
from ctxtrim.reports.model import Report, Row
from ctxtrim.reports.usage_log import entry
from ctxtrim.stage import Finding
from ctxtrim.stream import Done, stream

_FINDING = 8  # size of a finding in a `Spool`
_START = 200  # bytes of an input whose beginning a message may quote
_QUOTED = 24  # characters of that beginning


def run_command(stages: Sequence[str] | None, writes: bool, values: Mapping[str, Any]) -> int:
    """Run a command and return its exit code."""
    calm_collector()
    return _run(parse_request(stages, writes, values))


def calm_collector() -> None:
    """Look for reference cycles rarely: decoded JSON has none, and the search takes a third of the
    time.
    """
    gc.set_threshold(200_000, 20, 100)


def _run(request: Request) -> int:
    with ExitStack() as stack:
        problems = terminal.Problems(request.is_quiet)
        report = _new_report(request, problems, stack)
        sink = None
        if request.report is not None:
            # fail before anything is edited if the report cannot be written
            sink = write_to(request.report)
            stack.callback(sink.discard)
        if request.log is not None:
            log = Appended(request.log)
            stack.callback(log.close)
            report.listeners.append(lambda row: log.add([entry(row, now())]))
        if request.events is not None:
            request = _with_events(request, Appended(request.events), stack)
        shares_lines = request.targets.shares_stdout and request.target is None
        readings = _open_all(request, stack) if shares_lines else {}
        archive = Archive(request.archive) if request.archive is not None else None
        if archive is not None:
            stack.callback(archive.close)
        with terminal.progress(request.sources, enabled=request.has_progress) as watch:
            recordings = Recordings(archive, request)
            stack.callback(recordings.discard)
            try:
                Work(request, recordings, report, watch).process_all(readings)
            except (OutputError, ArchiveError):
                _write_reports(report, request, sink)
                raise
        if request.store is not None:
            request.store.commit()
        _write_reports(report, request, sink)
        _print(request, report, problems)
        return report.exit_code


def _new_report(request: Request, problems: terminal.Problems, stack: ExitStack) -> Report:
    """The report of a run, without rows."""
    rows: Spool[Row] = stack.enter_context(closing(Spool(lambda row: row.size)))
    findings: Spool[tuple[str, Finding]] = stack.enter_context(
        closing(Spool(lambda item: _FINDING))
    )
    keeps_rows = request.shows or request.form is not None or request.job.details.explained
    stages, view = request.job.pipeline.stages, request.view
    report = Report(stages, keeps_rows, rows, findings, [problems.take], view=view)
    for path, finding in request.notes:
        report.note(path, finding)
    return report


def _write_reports(report: Report, request: Request, sink: Sink | None) -> None:
    """Write the report to its file, and the summary of the step of GitHub Actions."""
    if sink is not None:
        write_report(report, request, sink)
    if request.step_summary is not None:
        append_summary(report, request.step_summary)


def _print(request: Request, report: Report, problems: terminal.Problems) -> None:
    """Print findings, the report and the summary of a run."""
    is_shown = request.shows and request.form in (None, "text", "github")
    terminal.print_findings(report, request, None if is_shown else problems)
    if request.shows:
        terminal.print_report(report, request.form or "text", request.color)
    if request.writes and not request.is_quiet:
        terminal.print_summary(report, request.target)


def _with_events(request: Request, events: Appended, stack: ExitStack) -> Request:
    """The request with a callback that appends compaction events to a file."""
    stack.callback(events.close)

    def append(path: str, line: int, event: Event) -> None:
        events.add([{"time": now(), "path": path, "line": line} | event.spelled])

    return replace(request, job=replace(request.job, on_event=append))


def _open_all(request: Request, stack: ExitStack) -> dict[str, Reading]:
    """Open all inputs that share standard output before any output is written.

    Raises `UsageError` unless every input has one conversation per line. Inputs that can be read
    only once stay open and are returned by their paths.
    """
    readings: dict[str, Reading] = {}
    for source in request.sources:
        with ExitStack() as own:
            try:
                lines = own.enter_context(reading(source, request.max_size))
                content = open_reading(lines, request.formats, request.max_size)
            except InputError:
                continue  # `_process_all` reports it
            if not content.is_lines:
                raise UsageError(
                    f"{source.name} does not have one conversation per line, so it cannot "
                    "share standard output with "
                    "other inputs; write to a folder with -o"
                )
            if not source.is_regular:
                readings[source.path] = content
                stack.push(own.pop_all())
    return readings


@dataclass
class Progress:
    """The transcripts of one input so far.

    `rows` and `findings` are reported after a file is replaced, and `losses` of its conversion in
    one line. `start`: the first bytes.
    `is_lossy`: a transcript is left out.
    """

    rows: Spool[Row] = field(default_factory=lambda: Spool(lambda row: row.size))
    findings: Spool[Finding] = field(default_factory=lambda: Spool(lambda finding: _FINDING))
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
        self, request: Request, recordings: Recordings, report: Report, watch: terminal.Watch
    ) -> None:
        self._request, self._recordings, self._report = request, recordings, report
        self._watch = watch
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
            for done in stream(source.path, content, request.job, keeper):
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

    def _write(self, done: Done, recording: Recording | None, sink: Sink) -> None:
        """Write the bytes of a chunk, on a new line."""
        added = b"" if self._ends_line or not done.data else b"\n"
        if recording is not None:
            recording.chunk(done.read, done.data, added)
        if done.data:
            sink.write(added + done.data)
            is_shared = self._request.targets.shares_stdout
            self._ends_line = done.data.endswith(b"\n") or not is_shared

    def _finish(self, progress: Progress, recording: Recording | None, sink: Sink) -> None:
        """Commit the output, unless the file must stay as it is, and report the rows."""
        targets = self._request.targets
        stays = progress.is_lossy and (targets.in_place or not progress.has_written)
        if not (stays and targets.holds_back):
            self._recordings.finish(recording)
        if stays or (targets.in_place and not progress.is_changed):
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
            first = next(iter(findings), None)
            findings = [_no_transcript(content, progress.start, self._request, first)]
        for finding in chain(_format_findings(content, self._request), findings):
            self._report.note(source.path, finding)
        if losses := str(progress.losses):
            self._report.note(source.path, Finding("losses", "info", losses))


def _no_transcript(
    content: Reading, start: bytes, request: Request, first: Finding | None
) -> Finding:
    """The finding that explains why a file has no transcript; `start` has its first bytes."""
    known = ", ".join(form.name for form in request.formats)
    line = None
    if not start:
        text = "no transcript found: the input is empty"
    elif content.format is not None:
        text = f"no messages found, though it looks like {content.format.name}"
    elif content.reason is not None:
        text = f"no conversation found: {content.reason}"
    elif first is not None:
        text = f"no transcript found: {first.message.split('; the line')[0]}"
        line = first.line
    elif len(request.formats) < len(FORMATS):
        text = f"no transcript found: the format is not {known}; omit --format"
    else:
        quoted = start.decode(errors="replace").replace("\n", " ")
        if len(quoted) > _QUOTED:
            quoted = f"{quoted[:_QUOTED]}…"
        text = f"unrecognized format (starts with `{quoted}`); supported: {known}"
    return Finding("no-transcript", "error", text, line)


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
