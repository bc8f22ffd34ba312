"""One run of a command: options to values, values to the stream, the stream to files, report and exit code."""

import gc
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import replace
from typing import Any

from ctxtrim.archive.index import Archive
from ctxtrim.archive.recorder import Recording, Spills
from ctxtrim.cli import terminal
from ctxtrim.cli.exit_codes import concluded
from ctxtrim.cli.request import Request, request
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

_FINDING = 8  # values in a finding about a file


def work(stages: Sequence[str] | None, writes: bool, values: Mapping[str, Any]) -> int:
    """Do it and return the exit code. Every trouble a user can have ends here as one line on standard error."""
    calm_collector()
    return concluded(lambda: _work(request(stages, writes, values)), shows_traceback=values["debug"])


def calm_collector() -> None:
    """Look for reference cycles rarely: decoded JSON has none, and looking through it takes a third of the time."""
    gc.set_threshold(200_000, 20, 100)


def _work(asked: Request) -> int:
    with ExitStack() as stack:
        keeps_rows = asked.shows or asked.form is not None or asked.job.explains
        rows: Spool[Row] = stack.enter_context(closing(Spool(lambda row: row.size)))
        findings: Spool[tuple[str, Finding]] = stack.enter_context(closing(Spool(lambda item: _FINDING)))
        troubled = terminal.Troubled(asked.is_quiet)
        report = Report(asked.job.specs, keeps_rows, rows, findings, [troubled.take])
        for path, finding in asked.notes:
            report.note(path, finding)
        sink = None
        if asked.report is not None:  # known to be writable before anything is edited
            sink = write_to(asked.report)
            stack.callback(sink.discard)
        if asked.log is not None:
            log = Appended(asked.log)
            stack.callback(log.close)
            report.listeners.append(lambda row: log.add([entry(row, now())]))
        if asked.events is not None:
            asked = _watched(asked, Appended(asked.events), stack)
        held = _hold(asked, stack) if asked.aims.shares_stdout else {}
        archive = Archive(asked.archive) if asked.archive is not None else None
        if archive is not None:
            stack.callback(archive.close)
        with terminal.progress(asked.sources, enabled=asked.has_progress) as watch:
            recordings = Recordings(archive, asked)
            stack.callback(recordings.discard)
            _each(asked, held, recordings, report, watch)
        if asked.store is not None:
            asked.store.commit()
        if sink is not None:
            for block in blocks(REPORTS[asked.form or "text"](report)):
                sink.write(block.encode(errors="backslashreplace"))
            sink.commit()
        is_shown = asked.shows and asked.form in (None, "text")
        terminal.tell(report, asked, None if is_shown else troubled)
        if asked.shows:
            terminal.show(report, asked.form or "text", asked.color)
        if asked.writes and not asked.is_quiet:
            terminal.summary(report)
        return report.exit_code


def _watched(asked: Request, events: Appended, stack: ExitStack) -> Request:
    """The request, whose compactions are told as they happen."""
    stack.callback(events.close)

    def tell(path: str, line: int, event: Event) -> None:
        events.add([{"time": now(), "path": path, "line": line} | event.spelled])

    return replace(asked, job=replace(asked.job, on_event=tell))


def _hold(asked: Request, stack: ExitStack) -> dict[str, Reading]:
    """Look at all inputs that are to share standard output before any of them is written.

    Only files with a conversation on each line can. What can be read only once is held open.
    """
    held: dict[str, Reading] = {}
    for source in asked.sources:
        with ExitStack() as own:
            try:
                found = open_reading(own.enter_context(reading(source, asked.max_size)), asked.formats, asked.max_size)
            except InputError:
                continue  # it is told when its turn comes
            if not found.is_lines:
                raise UsageError(
                    f"{source.name} is not one conversation a line, so it cannot share standard output with "
                    "other inputs; write into a folder with -o"
                )
            if not source.is_regular:
                held[source.path] = found
                stack.push(own.pop_all())
    return held


class Recordings:
    """What is recorded of each output: standard output that several inputs share is one."""

    def __init__(self, archive: Archive | None, asked: Request) -> None:
        self._archive, self._asked = archive, asked
        self.spills = Spills(asked.spills) if archive is None and asked.spills is not None else None
        self._shared = (
            self._new(", ".join(source.path for source in asked.sources)) if asked.aims.shares_stdout else None
        )

    def of(self, source: Input) -> Recording | None:
        """The recording that an input belongs to."""
        return self._shared or self._new(source.path)

    def finish(self, recording: Recording | None) -> None:
        """Remember the run of an output that is its own."""
        if recording is not None and recording is not self._shared:
            recording.finish()

    def close(self) -> None:
        """Remember the run of the output that was shared."""
        if self._shared is not None:
            self._shared.finish()

    def sink(self, recording: Recording | None, sink: Sink) -> Sink:
        """The sink of an output. Standard output gets nothing before its originals are on the disk."""
        if recording is None or self._asked.aims.holds_back:
            return sink
        return Delayed(sink, recording.sync)

    def discard(self, recording: Recording | None = None) -> None:
        """Remove what was recorded of an output of its own (None: of the shared one) and is not finished."""
        if recording is None and self._shared is not None:
            self._shared.discard()
        elif recording is not None and recording is not self._shared:
            recording.discard()

    def _new(self, path: str) -> Recording | None:
        did = ", ".join(spec.name for spec in self._asked.job.specs)
        return Recording(self._archive, path, did) if self._archive is not None else None


def _each(
    asked: Request, held: Mapping[str, Reading], recordings: Recordings, report: Report, watch: terminal.Watch
) -> None:
    ends_line = True
    for source in asked.sources:
        try:
            if source.path in held:
                ends_line = _one(source, held[source.path], asked, recordings, report, ends_line)
            elif asked.aims.writes and asked.aims.in_place:
                _in_place(source, asked, recordings, report, watch)
            else:
                with reading(source, asked.max_size) as lines:
                    found = open_reading(watch(lines), asked.formats, asked.max_size)
                    ends_line = _one(source, found, asked, recordings, report, ends_line)
        except InputError as error:
            report.note(source.path, Finding("unreadable", "error", str(error), error.line))
        except (OutputError, ArchiveError) as error:
            if not asked.aims.holds_back:
                raise
            code = "not-written" if isinstance(error, OutputError) else "not-archived"
            report.note(source.path, Finding(code, "error", str(error)))
        except (CtxtrimError, BrokenPipeError):
            raise
        except Exception as error:  # noqa: BLE001 - whatever it is, the other inputs can still be handled
            report.note(source.path, not_handled(error, None, asked.job.shows_tracebacks))
    recordings.close()


def _in_place(source: Input, asked: Request, recordings: Recordings, report: Report, watch: terminal.Watch) -> None:
    """Replace one file; read it again if it changed meanwhile."""
    for attempt in range(1, ATTEMPTS + 1):
        sink = asked.aims.sink(source)  # before the file is read, so that it shows every later change
        try:
            with reading(source, asked.max_size) as lines:
                found = open_reading(watch(lines), asked.formats, asked.max_size)
                _one(source, found, asked, recordings, report, True, sink)
            return
        except ChangedError:
            if attempt == ATTEMPTS:
                raise
        finally:
            sink.discard()


def _one(
    source: Input,
    found: Reading,
    asked: Request,
    recordings: Recordings,
    report: Report,
    ends_line: bool,
    sink: Sink | None = None,
) -> bool:
    """One input from its first line to its target; returns whether what was written ends with a line break."""
    aims = asked.aims
    if found.format is None and asked.messages_path is not None:
        raise UsageError(f"--messages-path {asked.messages_path} leads to no message list in {source.name}")
    sink = sink or aims.sink(source)
    recording = recordings.of(source)
    sink = recordings.sink(recording, sink)
    rows: Spool[Row] = Spool(lambda row: row.size)  # of a file that is held back
    findings: Spool[Finding] = Spool(lambda finding: _FINDING)
    is_empty, has_rows, has_written, is_changed, is_lossy = True, False, False, False, False
    try:
        for done in stream(source.path, found, asked.job, recording or recordings.spills):
            is_empty = False
            added = b"" if ends_line or not done.data else b"\n"
            if recording is not None:
                recording.chunk(done.read, done.data, added)
            if done.data:
                sink.write(added + done.data)
                ends_line = done.data.endswith(b"\n") or not aims.shares_stdout
            has_rows |= bool(done.rows)
            is_changed |= done.is_changed
            is_lossy |= done.is_lossy
            has_written |= any(row.is_written for row in done.rows)
            findings.extend(done.findings)
            if aims.holds_back:
                rows.extend(done.rows)
            else:
                report.add(done.rows)
        stays = is_lossy and (aims.in_place or not has_written)
        if not (stays and aims.holds_back):
            recordings.finish(recording)
        if stays or (aims.in_place and not is_changed):
            sink.discard()
        else:
            sink.commit()
        report.add((replace(row, is_written=False) for row in rows) if stays else rows)
        for finding in _taken_for(found, asked):
            report.note(source.path, finding)
        if not has_rows and not is_lossy:
            report.note(source.path, _nothing(found, is_empty, asked, next(iter(findings), None)))
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


def _nothing(found: Reading, is_empty: bool, asked: Request, first: Finding | None) -> Finding:
    """Why a file has no transcript in it."""
    if is_empty:
        return Finding("no-transcript", "error", "no transcript found: the input is empty")
    if found.format is not None:
        return Finding("no-transcript", "error", f"no messages found, though it looks like {found.format.name}")
    if first is not None:
        return Finding(
            "no-transcript", "error", f"no transcript found: {first.message.split('; the line')[0]}", first.line
        )
    known = ", ".join(one.name for one in asked.formats)
    if len(asked.formats) < len(FORMATS):
        return Finding("no-transcript", "error", f"no transcript found: it is not {known}; leave out --format")
    return Finding("no-transcript", "error", f"no transcript found; the formats understood are {known}")


def _taken_for(found: Reading, asked: Request) -> Iterator[Finding]:
    """What a file was taken for, where that was asked or is not sure."""
    if found.is_mixed:
        yield Finding("mixed-formats", "warning", f"{found.taken_for}; what is not understood is kept as it is")
    elif asked.explains_format:
        yield Finding("format", "info", found.taken_for)
