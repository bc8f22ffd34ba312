"""One run of a command: from options to a request, to the stream, to files, report
and exit code.
"""

import gc
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import replace
from typing import Any

from ctxtrim.archive.index import Archive
from ctxtrim.archive.recorder import Recording, Spills
from ctxtrim.cli import terminal
from ctxtrim.cli.request import Request, parse_request
from ctxtrim.errors import ArchiveError, CtxtrimError, InputError, OutputError, UsageError
from ctxtrim.events import Event
from ctxtrim.formats import FORMATS
from ctxtrim.formats.reading import Reading, open_reading
from ctxtrim.io.clock import now
from ctxtrim.io.inputs import Input, reading
from ctxtrim.io.outputs import Appended, Delayed, Sink, write_to
from ctxtrim.io.replacement import ATTEMPTS, ChangedError
from ctxtrim.io.spool import Spool
from ctxtrim.reports import REPORTS, blocks
from ctxtrim.reports.failures import not_handled
from ctxtrim.reports.model import Report, Row
from ctxtrim.reports.usage_log import entry
from ctxtrim.stage import Finding
from ctxtrim.stream import stream

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
        keeps_rows = request.shows or request.form is not None or request.job.explains
        rows: Spool[Row] = stack.enter_context(closing(Spool(lambda row: row.size)))
        findings: Spool[tuple[str, Finding]] = stack.enter_context(
            closing(Spool(lambda item: _FINDING))
        )
        problems = terminal.Problems(request.is_quiet)
        report = Report(request.job.specs, keeps_rows, rows, findings, [problems.take])
        for path, finding in request.notes:
            report.note(path, finding)
        sink = None
        if (
            request.report is not None
        ):  # fail before anything is edited if the report cannot be written
            sink = write_to(request.report)
            stack.callback(sink.discard)
        if request.log is not None:
            log = Appended(request.log)
            stack.callback(log.close)
            report.listeners.append(lambda row: log.add([entry(row, now())]))
        if request.events is not None:
            request = _with_events(request, Appended(request.events), stack)
        readings = _open_all(request, stack) if request.targets.shares_stdout else {}
        archive = Archive(request.archive) if request.archive is not None else None
        if archive is not None:
            stack.callback(archive.close)
        with terminal.progress(request.sources, enabled=request.has_progress) as watch:
            recordings = Recordings(archive, request)
            stack.callback(recordings.discard)
            _process_all(request, readings, recordings, report, watch)
        if request.store is not None:
            request.store.commit()
        if sink is not None:
            for block in blocks(REPORTS[request.form or "text"](report)):
                sink.write(block.encode(errors="backslashreplace"))
            sink.commit()
        is_shown = request.shows and request.form in (None, "text")
        terminal.print_findings(report, request, None if is_shown else problems)
        if request.shows:
            terminal.print_report(report, request.form or "text", request.color)
        if request.writes and not request.is_quiet:
            terminal.print_summary(report)
        return report.exit_code


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


class Recordings:
    """The archive recording of each output.

    Inputs that share standard output have one recording.
    """

    def __init__(self, archive: Archive | None, request: Request) -> None:
        self._archive, self._request = archive, request
        self.spills = (
            Spills(request.spills) if archive is None and request.spills is not None else None
        )
        self._shared = (
            self._new(", ".join(source.path for source in request.sources))
            if request.targets.shares_stdout
            else None
        )

    def of(self, source: Input) -> Recording | None:
        """The recording of an input."""
        return self._shared or self._new(source.path)

    def finish(self, recording: Recording | None) -> None:
        """Finish a recording, unless it is the shared one."""
        if recording is not None and recording is not self._shared:
            recording.finish()

    def close(self) -> None:
        """Finish the shared recording."""
        if self._shared is not None:
            self._shared.finish()

    def sink(self, recording: Recording | None, sink: Sink) -> Sink:
        """The sink of an output.

        Nothing is written to standard output before the originals are on the disk.
        """
        if recording is None or self._request.targets.holds_back:
            return sink
        return Delayed(sink, recording.sync)

    def discard(self, recording: Recording | None = None) -> None:
        """Discard an unfinished recording; None discards the shared one."""
        if recording is None and self._shared is not None:
            self._shared.discard()
        elif recording is not None and recording is not self._shared:
            recording.discard()

    def _new(self, path: str) -> Recording | None:
        pipeline = ", ".join(spec.name for spec in self._request.job.specs)
        return Recording(self._archive, path, pipeline) if self._archive is not None else None


def _process_all(
    request: Request,
    readings: Mapping[str, Reading],
    recordings: Recordings,
    report: Report,
    watch: terminal.Watch,
) -> None:
    ends_line = True
    for source in request.sources:
        try:
            if source.path in readings:
                ends_line = _process(
                    source, readings[source.path], request, recordings, report, ends_line
                )
            elif request.targets.writes and request.targets.in_place:
                _in_place(source, request, recordings, report, watch)
            else:
                with reading(source, request.max_size) as lines:
                    content = open_reading(watch(lines), request.formats, request.max_size)
                    ends_line = _process(source, content, request, recordings, report, ends_line)
        except InputError as error:
            report.note(source.path, Finding("unreadable", "error", str(error), error.line))
        except (OutputError, ArchiveError) as error:
            if not request.targets.holds_back:
                raise
            code = "not-written" if isinstance(error, OutputError) else "not-archived"
            report.note(source.path, Finding(code, "error", str(error)))
        except (CtxtrimError, BrokenPipeError):
            raise
        except Exception as error:  # noqa: BLE001 - an unexpected error must not stop the other inputs
            report.note(source.path, not_handled(error, None, request.job.shows_tracebacks))
    recordings.close()


def _in_place(
    source: Input, request: Request, recordings: Recordings, report: Report, watch: terminal.Watch
) -> None:
    """Replace one file. If it changed in the meantime, read it again."""
    for attempt in range(1, ATTEMPTS + 1):
        # created before the file is read, so that it detects every later change
        sink = request.targets.sink(source)
        try:
            with reading(source, request.max_size) as lines:
                content = open_reading(watch(lines), request.formats, request.max_size)
                _process(source, content, request, recordings, report, True, sink)
            return
        except ChangedError:
            if attempt == ATTEMPTS:
                raise
        finally:
            sink.discard()


def _process(
    source: Input,
    content: Reading,
    request: Request,
    recordings: Recordings,
    report: Report,
    ends_line: bool,
    sink: Sink | None = None,
) -> bool:
    """Process one input and write it to its target.

    Returns whether the output so far ends with a line break.
    """
    targets = request.targets
    if content.format is None and request.messages_path is not None:
        raise UsageError(
            f"--messages-path {request.messages_path}: no message list at this path in "
            f"{source.name}"
        )
    sink = sink or targets.sink(source)
    recording = recordings.of(source)
    sink = recordings.sink(recording, sink)
    rows: Spool[Row] = Spool(lambda row: row.size)  # reported after the file is replaced
    findings: Spool[Finding] = Spool(lambda finding: _FINDING)
    start = b""
    has_rows, has_written, is_changed, is_lossy = False, False, False, False
    try:
        for done in stream(source.path, content, request.job, recording or recordings.spills):
            start = start or done.read[:_START].strip()
            added = b"" if ends_line or not done.data else b"\n"
            if recording is not None:
                recording.chunk(done.read, done.data, added)
            if done.data:
                sink.write(added + done.data)
                ends_line = done.data.endswith(b"\n") or not targets.shares_stdout
            has_rows |= bool(done.rows)
            is_changed |= done.is_changed
            is_lossy |= done.is_lossy
            has_written |= any(row.is_written for row in done.rows)
            findings.extend(done.findings)
            if targets.holds_back:
                rows.extend(done.rows)
            else:
                report.add(done.rows)
        stays = is_lossy and (targets.in_place or not has_written)
        if not (stays and targets.holds_back):
            recordings.finish(recording)
        if stays or (targets.in_place and not is_changed):
            sink.discard()
        else:
            sink.commit()
        report.add((replace(row, is_written=False) for row in rows) if stays else rows)
        for finding in _format_findings(content, request):
            report.note(source.path, finding)
        if not has_rows and not is_lossy:
            report.note(
                source.path, _no_transcript(content, start, request, next(iter(findings), None))
            )
            return ends_line
        for finding in findings:
            report.note(source.path, finding)
    except BaseException:
        sink.discard()
        raise
    finally:
        if recording is not None:
            recordings.discard(recording)
        rows.close()
        findings.close()
    return ends_line


def _no_transcript(
    content: Reading, start: bytes, request: Request, first: Finding | None
) -> Finding:
    """The finding that explains why a file has no transcript; `start` has its first bytes."""
    if not start:
        return Finding("no-transcript", "error", "no transcript found: the input is empty")
    if content.format is not None:
        return Finding(
            "no-transcript",
            "error",
            f"no messages found, though it looks like {content.format.name}",
        )
    if first is not None:
        return Finding(
            "no-transcript",
            "error",
            f"no transcript found: {first.message.split('; the line')[0]}",
            first.line,
        )
    known = ", ".join(form.name for form in request.formats)
    if len(request.formats) < len(FORMATS):
        return Finding(
            "no-transcript",
            "error",
            f"no transcript found: the format is not {known}; omit --format",
        )
    text = start.decode(errors="replace").replace("\n", " ")
    quoted = f"{text[:_QUOTED]}{'…' if len(text) > _QUOTED else ''}"
    return Finding(
        "no-transcript",
        "error",
        f"unrecognized format (starts with `{quoted}`); supported: {known}",
    )


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
