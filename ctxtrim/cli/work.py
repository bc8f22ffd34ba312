"""One run of a command: options to values, values to the stream, the stream to files, report and exit code."""

import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from ctxtrim.binding import Binding
from ctxtrim.cli import terminal
from ctxtrim.cli.targets import Targets, targets
from ctxtrim.errors import CtxtrimError, InputError, OutputError, UsageError
from ctxtrim.files import Atomic, Input, inputs, reading
from ctxtrim.formats import FORMATS
from ctxtrim.formats.chunks import Reading, open_reading
from ctxtrim.report import Report, Row
from ctxtrim.reports import REPORTS
from ctxtrim.specs import parse
from ctxtrim.stage import Finding
from ctxtrim.stream import Job, stream
from ctxtrim.tokenizers import LIGHT, tokenizer

Values = Mapping[str, Any]


def work(stages: Sequence[str] | None, writes: bool, values: Values) -> int:
    """Do it and return the exit code. Every trouble a user can have ends here as one line on standard error."""
    try:
        return _work(stages, writes, values)
    except CtxtrimError as error:
        terminal.say(f"ctxtrim: {error}")
        return 2 if isinstance(error, UsageError) else 1
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:  # whoever read our output has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


def _work(stages: Sequence[str] | None, writes: bool, values: Values) -> int:
    specs = tuple(parse(text, values) for text in (values.get("stage") or () if stages is None else stages))
    form, report_path = _report_options(values, writes)
    sources = inputs(values["files"] or (), skip=_folder(values.get("output")))
    aims = targets(sources, writes=writes and not values.get("dry_run"), output=values.get("output"),
                   in_place=bool(values.get("in_place")))  # fmt: skip
    job = Job(
        specs,
        _binding(values, sources),
        values.get("on_overflow", "fail"),
        is_quick=[spec.name for spec in specs] == ["check"] and form is None and not values["explain"],
        keeps_changes=form not in (None, "text") or values["explain"],
        explains=values["explain"],
    )
    shows = report_path == "-" or (report_path is None and not aims.writes)
    report = Report(specs, keeps_rows=shows or form is not None or values["explain"])
    with ExitStack() as stack:
        sink = None
        if report_path not in (None, "-"):  # known to be writable before anything is edited
            sink = Atomic(Path(report_path))
            stack.callback(sink.discard)
        if aims.shares_stdout:
            _must_be_lines(sources, values.get("format"))
        _each(sources, aims, job, report, values)
        if sink is not None:
            sink.write(REPORTS[form or "text"](report).encode(errors="backslashreplace"))
            sink.commit()
    terminal.tell(report, values, is_shown=shows and form in (None, "text"))
    if shows:
        terminal.show(report, form or "text", values["color"])
    if writes and not values["quiet"]:
        terminal.summary(report, specs)
    return report.exit_code


def _report_options(values: Values, writes: bool) -> tuple[str | None, str | None]:
    """The form of the report asked for, None where none was, and its path."""
    path, form = values["report"], values["report_format"]
    if form is not None and form not in REPORTS:
        raise UsageError(f"--report-format {form}: no such format; there are {', '.join(REPORTS)}")
    if values["json"]:
        if path is not None or form not in (None, "json"):
            raise UsageError("--json is the JSON report on standard output; leave out --report and --report-format")
        path, form = "-", "json"
    if form is None and path is not None:
        form = path.rsplit(".", 1)[-1] if path.rsplit(".", 1)[-1] in REPORTS else "text"
    if path is None and form is not None:
        path = "-"
    frees = values.get("output") or values.get("in_place") or values.get("dry_run")
    if path == "-" and writes and not frees:
        raise UsageError("standard output carries the transcript; give --report a path, or the transcript with -o")
    return form, path


def _binding(values: Values, sources: Sequence[Input]) -> Binding:
    for name in ("context_window", "budget"):
        if values[name] is not None and values[name] < 1:
            raise UsageError(f"--{name.replace('_', '-')} {values[name]}: expected at least 1 token")
    if values["reserve"] is not None and values["reserve"] < 0:
        raise UsageError(f"--reserve {values['reserve']}: expected 0 tokens or more")
    if not values["safety"] >= 1:
        raise UsageError(
            f"--safety {values['safety']}: a factor below 1 would count too few tokens; expected at least 1"
        )
    if values["format"] not in (None, "auto", *FORMATS):
        raise UsageError(f"--format {values['format']}: no such format; there are auto, {', '.join(FORMATS)}")
    sizes = [source.size for source in sources]
    is_light = None not in sizes and sum(size or 0 for size in sizes) < LIGHT
    return Binding(
        partial(tokenizer, is_light=is_light),
        values["model"],
        values["tokenizer"],
        values["context_window"],
        values["reserve"],
        values["budget"],
        values["safety"],
    )


def _folder(output: str | None) -> Path | None:
    return Path(output) if output else None


def _format(values: Values) -> str | None:
    return None if values["format"] in (None, "auto") else values["format"]


def _must_be_lines(sources: Sequence[Input], name: str | None) -> None:
    """Several inputs on one standard output make sense only where each line is a conversation of its own."""
    for source in sources:
        if source.is_stdin:
            continue
        with reading(source) as file:
            if open_reading(file, name if name != "auto" else None).layout != "conversation":
                raise UsageError(
                    f"{source.path} is not one conversation a line, so it cannot share standard output with other "
                    "inputs; write into a folder with -o"
                )


def _each(sources: Sequence[Input], aims: Targets, job: Job, report: Report, values: Values) -> None:
    with terminal.progress(sources, enabled=values["progress"] and not values["quiet"]) as advance:
        ends_line = True
        for source in sources:
            try:
                with reading(source) as file:
                    ends_line = _one(source, open_reading(advance(file), _format(values)), aims, job, report, ends_line)
            except (InputError, OutputError) as error:
                code = "unreadable" if isinstance(error, InputError) else "not-written"
                report.note(source.path, Finding(code, "error", str(error).removeprefix(f"{source.path}: ")))
                if aims.shares_stdout and isinstance(error, OutputError):
                    return


def _one(source: Input, found: Reading, aims: Targets, job: Job, report: Report, ends_line: bool) -> bool:
    """One input from its first line to its target; returns whether what was written ends with a line break."""
    sink = aims.sink(source)
    rows: list[Row] = []
    transcripts = 0
    is_changed = is_lossy = is_broken = False
    problem: Finding | None = None
    try:
        for done in stream(source.path, found, job):
            if done.data:
                sink.write(done.data if ends_line else b"\n" + done.data)
                ends_line = done.data.endswith(b"\n") or not aims.shares_stdout
            transcripts += len(done.rows)
            is_changed |= done.is_changed
            is_lossy |= done.is_lossy
            for finding in done.findings:
                is_broken |= finding.code == "self-check"
                if found.format is None:
                    problem = problem or finding
                else:
                    report.note(source.path, finding)
            if aims.holds_back:
                rows += done.rows
            else:
                _add(done.rows, report)
        if not transcripts:
            report.note(source.path, _nothing(found, problem))
        is_kept = is_broken or (is_lossy and (aims.in_place or not any(row.is_written for row in rows)))
        if is_kept or (aims.in_place and not is_changed):
            sink.discard()
        else:
            sink.commit()
        if is_kept:
            rows = [replace(row, is_written=False) for row in rows]
        _add(rows, report)
    except BaseException:
        sink.discard()
        raise
    return ends_line


def _add(rows: Sequence[Row], report: Report) -> None:
    for row in rows:
        report.add(row)


def _nothing(found: Reading, problem: Finding | None) -> Finding:
    known = ", ".join(FORMATS)
    if problem is not None:
        return Finding("no-transcript", "error", f"no transcript found: {problem.message.split(';')[0]}", problem.line)
    if found.format is not None:
        return Finding("no-transcript", "error", f"no messages found, though it looks like {found.format}")
    return Finding("no-transcript", "error", f"no transcript found; the formats understood are {known}")
