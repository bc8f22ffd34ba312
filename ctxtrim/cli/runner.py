"""One run of a command: from options to a request, to its work, to report and exit code."""

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import structs

from ctxtrim.cli import terminal
from ctxtrim.cli.commands import StageCommand
from ctxtrim.cli.machine import PARALLEL_SIZE, collect_rarely, cores
from ctxtrim.cli.messages import is_terminal
from ctxtrim.cli.progress import progress_bar
from ctxtrim.cli.recordings import Recordings
from ctxtrim.cli.request import Request, parse_request
from ctxtrim.cli.work import FINDING, Work
from ctxtrim.config.option import Values
from ctxtrim.errors import ArchiveError, InputError, OutputError, UsageError
from ctxtrim.findings import Finding
from ctxtrim.formats.reading import Reading
from ctxtrim.io.outputs import Sink, write_to
from ctxtrim.io.paths import folder_in_repository
from ctxtrim.io.spool import Spool
from ctxtrim.reports.model import Row
from ctxtrim.reports.report import Report
from ctxtrim.stages.events import Event

if TYPE_CHECKING:
    from ctxtrim.cli.workers.parallel_run import ParallelRun


def run_command(command: StageCommand, values: Values) -> int:
    """Run a command and return its exit code."""
    collect_rarely()
    return _run(parse_request(command, values))


def _run(request: Request) -> int:
    with ExitStack() as stack:
        problems = terminal.Problems(request.is_quiet)
        report = _new_report(request, problems, stack)
        sink = None
        if request.report.file is not None:
            # fail before anything is edited if the report cannot be written
            sink = write_to(request.report.file, makes_folders=True)
            stack.callback(sink.discard)
        if request.log is not None:
            _log_rows(report, request, request.log, stack)
        if request.events is not None:
            request = _with_events(request, request.events, stack)
        shares_lines = request.targets.shares_stdout and request.api is None
        readings = _open_all(request, stack) if shares_lines else {}
        recordings = Recordings(request)
        stack.callback(recordings.close)
        with progress_bar(
            request.sources,
            enabled=request.has_progress,
            fills_stdout=not request.targets.frees_stdout,
        ) as watch:
            parallel = _parallel_run(request)
            if parallel is not None:
                stack.callback(parallel.close)
            try:
                Work(request, recordings, report, watch, parallel).run(readings)
            except (OutputError, ArchiveError, BrokenPipeError):
                for _, write in _reports(report, request, sink):
                    write()
                raise
        for path, write in chain(_results(report, request), _reports(report, request, sink)):
            try:
                write()
            except (InputError, OutputError) as error:  # files are edited already
                _note(report, path, error)
        _print(request, report, problems)
        return report.exit_code


def _parallel_run(request: Request) -> "ParallelRun | None":
    """The processes of a run; None if this process does all work.

    It does if transcripts depend on earlier ones, or if others watch the run or take part in it:
    with a summary store, events, summaries of a model, and results that move to files.
    """
    job = request.job
    if job.summarizer or job.memory or job.on_event or request.spills:
        return None
    sizes = [source.size for source in request.sources if source.problem is None]
    is_small = None not in sizes and sum(size or 0 for size in sizes) < PARALLEL_SIZE
    if (request.processes or cores()) == 1 or (request.processes is None and is_small):
        return None
    from ctxtrim.cli.workers.parallel_run import ParallelRun
    from ctxtrim.cli.workers.pieces import PieceWork

    is_recorded, writes = request.archive is not None, request.targets.writes
    work = PieceWork(request.pipeline, is_recorded, writes)
    return ParallelRun(work, request.processes, request.sources)


def _new_report(request: Request, problems: terminal.Problems, stack: ExitStack) -> Report:
    """The report of a run, without rows."""
    rows: Spool[Row] = stack.enter_context(closing(Spool(lambda row: row.size)))
    findings: Spool[tuple[str, Finding]] = stack.enter_context(closing(Spool(lambda item: FINDING)))
    details = request.job.details
    keeps_rows = (
        request.shows or request.report.file is not None or details.explained or details.differences
    )
    stages, view = request.job.pipeline.stages, request.report.view
    folder = folder_in_repository() if keeps_rows else ""
    report = Report(
        stages,
        keeps_rows,
        rows,
        findings,
        [problems.take],
        view=view,
        folder=folder,
        has_tables=request.report.has_tables,
    )
    request.gate.add_to(report)
    for path, finding in request.notes:
        report.note(path, finding)
    return report


def _log_rows(report: Report, request: Request, path: Path, stack: ExitStack) -> None:
    """Append a line to the log for each transcript. The first error is noted and ends the log."""
    from ctxtrim.io.clock import now
    from ctxtrim.io.shared_files import Appended  # for --log only
    from ctxtrim.reports.usage_log import entry

    log = Appended(path)
    stack.callback(log.close)
    writes = request.targets.writes
    errors: list[OutputError] = []

    def append(row: Row) -> None:
        try:
            if not errors:
                log.add([entry(row, now(), writes=writes)])
        except OutputError as error:  # the file of the row is written already
            errors.append(error)
            _note(report, path, error)

    report.listeners.append(append)


def _note(report: Report, path: Path, error: Exception) -> None:
    """Add the finding about a file that could not be written."""
    text = str(error).removeprefix(f"{path}: ")
    report.note(str(path), Finding("not-written", "error", text))


def _results(report: Report, request: Request) -> Iterator["_Write"]:
    """The files of later runs: the summary store and the baseline."""
    if request.store is not None:
        yield request.store.path, request.store.commit
    if request.gate.file is not None:
        yield request.gate.file, lambda: request.gate.finish(report, request.sources)


def _reports(report: Report, request: Request, sink: Sink | None) -> Iterator["_Write"]:
    """The summary of the step of GitHub Actions, and the report, which says if that failed."""
    summary, file = request.report.step_summary, request.report.file
    if summary is None and file is None:
        return
    from ctxtrim.cli.report_files import append_summary, write_report

    if summary is not None:
        yield summary, partial(append_summary, report, summary)
    if sink is not None and file is not None:
        yield file, partial(write_report, report, request.report.file_format, sink)


_Write = tuple[Path, Callable[[], None]]
"""A file and the function that writes it, or raises `OutputError`."""


def _print(request: Request, report: Report, problems: terminal.Problems) -> None:
    """Print findings, the report and the summary of a run."""
    is_shown = request.shows and request.report.is_text
    terminal.print_findings(report, request, None if is_shown else problems)
    terminal.print_explained(report, request)
    if request.shows:
        terminal.print_report(report, request.report.shown or "text", request.report.color)
    elif request.job.details.differences and not request.is_quiet:
        terminal.print_differences(report)
    if request.writes and not request.is_quiet:
        has_totals = not (is_shown and is_terminal(sys.stdout))  # the report on it has them
        terminal.print_summary(report, request.api, has_totals=has_totals)
        terminal.print_undo(report)
    elif not request.writes and not request.shows and report.view.totals:
        terminal.print_totals(report)


def _with_events(request: Request, file: Path, stack: ExitStack) -> Request:
    """The request with a callback that appends compaction events to a file."""
    from ctxtrim.io.clock import now
    from ctxtrim.io.shared_files import Appended  # for --events only

    events = Appended(file)
    stack.callback(events.close)

    def append(path: str, line: int, event: Event) -> None:
        events.add([{"time": now(), "path": path, "line": line} | event.as_json])

    pipeline = request.pipeline.with_jobs(partial(structs.replace, on_event=append))
    return structs.replace(request, pipeline=pipeline)


def _open_all(request: Request, stack: ExitStack) -> dict[str, Reading]:
    """Open all inputs that share standard output before any output is written.

    Raises `UsageError` unless every input has one conversation per line. Inputs that can be read
    only once stay open and are returned by their paths.
    """
    readings: dict[str, Reading] = {}
    for source in request.sources:
        with ExitStack() as own:
            try:
                content = own.enter_context(request.pipeline.reader.open(source))
            except InputError:
                continue  # `Work.run` reports it
            if not content.is_lines:
                raise UsageError(
                    f"{source.name} does not have one conversation per line, so it cannot "
                    "share standard output with other inputs; write to a folder with -o"
                )
            if not source.is_regular:
                readings[source.path] = content
                stack.push(own.pop_all())
    return readings
