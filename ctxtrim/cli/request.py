"""What the user asked for, as values: checked before anything is read or written."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from ctxtrim.archive.locations import own_archive, own_settings, spill_folder
from ctxtrim.archive.summary_store import Store
from ctxtrim.cli.output_targets import Targets, must_be_distinct, targets
from ctxtrim.cli.summarizing import store_of, summarizer_of
from ctxtrim.config import Config, configured
from ctxtrim.config.from_environment import DEBUG
from ctxtrim.errors import UsageError
from ctxtrim.formats import FORMATS
from ctxtrim.formats.base import Format
from ctxtrim.io.inputs import Input, inputs
from ctxtrim.metering import USAGE, Binding
from ctxtrim.pipeline import Spec
from ctxtrim.presets import Preset
from ctxtrim.reports import REPORTS
from ctxtrim.stage import Finding
from ctxtrim.stages.reasoning import Thinking
from ctxtrim.stream import Job
from ctxtrim.tokenizers import LIGHT, tokenizer

Values = Mapping[str, Any]


@dataclass(frozen=True)
class Request:
    """A run: inputs, targets, what to do, and how to tell of it.

    `formats` are those that an input may have; `max_size` are the bytes that a line or a document may have; `report` is
    the file of the report, None where there is none; `form` the form asked for; `archive` keeps all originals, else
    `spills` those of spilled results; `shows`: the report goes to standard output; `writes`: it is a command whose
    output is the transcript; `notes` are findings about configuration files and files that are not read, with their
    paths; `log` gets a line for each transcript, `events` one for the start and the end of each compaction; `store`
    keeps summaries and is written at the end.
    """

    sources: tuple[Input, ...]
    aims: Targets
    job: Job
    formats: tuple[Format, ...]
    messages_path: str | None
    max_size: int
    explains_format: bool
    form: str | None
    report: Path | None
    archive: Path | None
    spills: Path | None
    shows: bool
    writes: bool
    is_quiet: bool
    has_progress: bool
    color: str
    notes: tuple[tuple[str, Finding], ...]
    log: Path | None
    events: Path | None
    store: Store | None


def request(stages: Sequence[str] | None, writes: bool, values: Values) -> Request:
    """The request that some options make; a `UsageError` where they make none."""
    output = values.get("output")
    is_fixing = bool(values.get("fix"))
    config = configuration(values, is_automatic=stages is None and not (values["stage"] or values["preset"]))
    specs = _specs(stages, values, config)
    if values.get("archive") is not None and not writes:
        raise UsageError("--archive keeps what an edit removes; check edits nothing without --fix")
    values = {**values, **config.values}
    form, path = _report(values, writes)
    skip = [Path(values[name]) for name in ("output", "archive") if values.get(name)]
    found = inputs(values["files"] or (), skip)
    sources = found.inputs
    aims = targets(
        sources,
        writes=writes and not values.get("dry_run"),
        output=output,
        in_place=bool(values.get("in_place")),
    )
    report = Path(path) if path not in (None, "-") else None
    archive = _archive(values, writes, aims, config.preset)
    others = {
        "--report": report,
        "--log": _path(values, "log"),
        "--events": _path(values, "events") if writes else None,
        "--summary-store": _path(values, "summary_store") if writes else None,
        "--archive": archive,
    }
    must_be_distinct(sources, aims, others)
    store = store_of(values) if writes else None
    job = Job(
        specs,
        _binding(sources, config),
        _on_overflow(values, writes),
        _thinking(values) if writes else "keep",
        keeps_snapshots=values["keep_snapshots"],
        is_quick=[spec.name for spec in specs] == ["check"]
        and form is None
        and not (values["explain"] or values["calibrate"] or values["tokenizer"] == USAGE),
        keeps_changes=form not in (None, "text") or values["explain"],
        explains=values["explain"],
        shows_tracebacks=values["debug"] or bool(os.environ.get(DEBUG)),
        summarizer=summarizer_of(values),
        memory=store,
        remembers=not values.get("dry_run"),
    )
    return Request(
        sources,
        aims,
        job,
        _formats(values),
        values["messages_path"],
        values["max_size"],
        bool(values["explain_format"]),
        form,
        report,
        archive,
        _spills(specs) if aims.writes else None,
        shows=path == "-" or (path is None and (not aims.writes or (is_fixing and aims.frees_stdout))),
        writes=writes,
        is_quiet=values["quiet"],
        has_progress=values["progress"] and not values["quiet"],
        color=values["color"],
        notes=(*config.notes, *((path, Finding("skipped", "info", why)) for path, why in found.skipped)),
        log=others["--log"],
        store=store,
        events=others["--events"],
    )


def _path(values: Values, name: str) -> Path | None:
    return Path(values[name]) if values.get(name) else None


def _report(values: Values, writes: bool) -> tuple[str | None, str | None]:
    """The form of the report asked for and its path, None where none was."""
    path, form = values["report"], values["report_format"]
    if form is not None and form not in REPORTS:
        raise UsageError(f"--report-format {form}: no such format; there are {', '.join(REPORTS)}")
    if values["json"]:
        if path is not None or form not in (None, "json"):
            raise UsageError("--json is the JSON report on standard output; leave out --report and --report-format")
        path, form = "-", "json"
    if form is None and path is not None:
        ending = path.rsplit(".", 1)[-1]
        form = ending if ending in REPORTS else "text"
    if path is None and form is not None:
        path = "-"
    frees = values.get("output") or values.get("in_place") or values.get("dry_run")
    if path == "-" and writes and not frees:
        raise UsageError("standard output carries the transcript; give --report a path, or the transcript with -o")
    return form, path


def configuration(values: Values, *, is_automatic: bool = False) -> Config:
    """What some options and all other sources say."""
    return configured(values, os.environ, own_settings(), is_automatic=is_automatic)


def _specs(stages: Sequence[str] | None, values: Values, config: Config) -> tuple[Spec, ...]:
    """The stages that the command or the options name; else those of the automatic pipeline, where that is on."""
    if config.is_automatic:
        return config.pipeline() if config.enabled.value else ()
    named = stages if stages is not None else values["stage"] or config.stages
    return tuple(config.spec(text) for text in named)


def _binding(sources: Sequence[Input], config: Config) -> Binding:
    sizes = [source.size for source in sources]
    is_light = None not in sizes and sum(size or 0 for size in sizes) < LIGHT
    return config.binding(partial(tokenizer, is_light=is_light), config.model_of)


def _archive(values: Values, writes: bool, aims: Targets, preset: Preset) -> Path | None:
    """The folder in which originals are kept, None where nothing is written."""
    folder = values["archive"] or (own_archive() if preset.archives else None)
    return Path(folder) if folder is not None and writes and aims.writes else None


def _spills(specs: Sequence[Spec]) -> Path | None:
    """The folder of spilled results where there is no archive, None where nothing is spilled."""
    return spill_folder() if any(spec.settings.get("spill_above") for spec in specs) else None


def _on_overflow(values: Values, writes: bool) -> Any:
    """What to do with what does not fit; where the point is to repair, it is repaired and written all the same."""
    if values.get("fix"):
        return "write"
    return values["on_overflow"] if writes else "fail"


def _thinking(values: Values) -> Thinking | None:
    mode: Any = values["thinking"]
    return None if mode == "auto" else mode


def _formats(values: Values) -> tuple[Format, ...]:
    """The formats to try: all of them or the one asked for, where they are known to be or at the path asked for."""
    name, path = values["format"], values["messages_path"]
    known = tuple(FORMATS.values()) if name == "auto" else (FORMATS[name],)
    if path is None:
        return known
    placed = tuple(one.placed(path) for one in known if one.placed is not None)
    if not placed:
        raise UsageError(f"--messages-path {path}: {name} has an event on each line, not message lists in documents")
    return placed
