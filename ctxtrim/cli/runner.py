"""One run of a command: from options to a request, to the stream, to files, report
and exit code.
"""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import replace
from typing import Any

from ctxtrim.archive.index import Archive
from ctxtrim.cli import terminal
from ctxtrim.cli.recordings import Recordings
from ctxtrim.cli.request import Request, parse_request
from ctxtrim.cli.work import FINDING, Work
from ctxtrim.errors import InputError, UsageError
from ctxtrim.events import Event
from ctxtrim.formats.reading import Reading, open_reading
from ctxtrim.io.clock import now
from ctxtrim.io.collector import calm_collector
from ctxtrim.io.inputs import reading
from ctxtrim.io.outputs import Appended, write_to
from ctxtrim.io.spool import Spool
from ctxtrim.reports import REPORTS, blocks
from ctxtrim.reports.model import Report, Row
from ctxtrim.reports.usage_log import entry
from ctxtrim.stage import Finding
from ctxtrim.workers.crew import Crew
from ctxtrim.workers.pieces import Kit


def run_command(stages: Sequence[str] | None, writes: bool, values: Mapping[str, Any]) -> int:
    """Run a command and return its exit code."""
    calm_collector()
    return _run(parse_request(stages, writes, values))


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
            crew = _crew(request)
            stack.callback(crew.close)
            Work(request, recordings, report, watch, crew).process_all(readings)
        if request.store is not None:
            request.store.commit()
        if sink is not None:
            for block in blocks(REPORTS[request.form or "text"](report)):
                sink.write(block.encode(errors="backslashreplace"))
            sink.commit()
        _print(request, report, problems)
        return report.exit_code


def _crew(request: Request) -> Crew:
    """The processes of a run.

    There is one if transcripts depend on earlier ones, or if others watch the run or take part in
    it: with a summary store, events, summaries of a model, and results that move to files.
    """
    job, is_recorded = request.job, request.archive is not None
    kit = Kit(job, request.choice, request.max_size, is_recorded, request.targets.writes)
    is_alone = job.summarizer or job.memory or job.on_event or request.moves_results
    return Crew(kit, 1 if is_alone else request.jobs, request.sources)


def _new_report(request: Request, problems: terminal.Problems, stack: ExitStack) -> Report:
    """The report of a run, without rows."""
    rows: Spool[Row] = stack.enter_context(closing(Spool(lambda row: row.size)))
    findings: Spool[tuple[str, Finding]] = stack.enter_context(closing(Spool(lambda item: FINDING)))
    keeps_rows = request.shows or request.form is not None or request.job.explains
    report = Report(request.job.pipeline.stages, keeps_rows, rows, findings, [problems.take])
    for path, finding in request.notes:
        report.note(path, finding)
    return report


def _print(request: Request, report: Report, problems: terminal.Problems) -> None:
    """Print findings, the report and the summary of a run."""
    is_shown = request.shows and request.form in (None, "text")
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
