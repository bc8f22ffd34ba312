"""The request of a run: the options as checked values, before anything is read or written."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from ctxtrim.archive.locations import own_archive, own_settings, spill_folder
from ctxtrim.archive.summary_store import SummaryStore
from ctxtrim.cli.output_targets import Targets, must_be_distinct, resolve_targets
from ctxtrim.cli.summary_services import store_of, summarizer_of
from ctxtrim.config import Config, configured
from ctxtrim.config.from_environment import DEBUG
from ctxtrim.config.run_settings import OPTIONS
from ctxtrim.conversion import TARGETS, Conversion, convert
from ctxtrim.errors import UsageError
from ctxtrim.formats.base import Format
from ctxtrim.formats.choice import FormatChoice
from ctxtrim.io.inputs import Input, inputs
from ctxtrim.metering import USAGE, Metering
from ctxtrim.model import Transcript
from ctxtrim.pipeline import Pipeline, Spec
from ctxtrim.presets import Preset
from ctxtrim.reports import REPORTS
from ctxtrim.stage import Finding
from ctxtrim.stages.reasoning import Thinking
from ctxtrim.stream import Job
from ctxtrim.tokenizers import LIGHT, tokenizer

Values = Mapping[str, Any]


@dataclass(frozen=True)
class Request:
    """Inputs, targets, job and reports of a run.

    `choice`: the options about the format, `formats`: the formats to detect. `jobs`: the number of
    processes, None: as many as the work is worth. `max_size`: the most bytes of a line or document.
    `report`: the file of the report, `form` its format, `shows`: the report is printed on standard
    output. `archive`: the folder for all originals; without one, `spills` is the folder for spilled
    results. `moves_results`: a stage moves results to files. `writes`: the command's output is the
    transcript. `notes`: findings about configuration files and skipped files, with their paths.
    `log`: the file with a line for each transcript. `events`: the file with a line when a
    compaction starts and ends. `store`: the summary store, written at the end. `target`: the API
    for which `convert` writes requests.
    """

    sources: tuple[Input, ...]
    targets: Targets
    job: Job
    choice: FormatChoice
    formats: tuple[Format, ...]
    jobs: int | None
    max_size: int
    explains_format: bool
    form: str | None
    report: Path | None
    archive: Path | None
    spills: Path | None
    shows: bool
    moves_results: bool
    writes: bool
    is_quiet: bool
    has_progress: bool
    color: str
    notes: tuple[tuple[str, Finding], ...]
    log: Path | None
    events: Path | None
    store: SummaryStore | None
    target: str | None = None


def parse_request(stages: Sequence[str] | None, writes: bool, values: Values) -> Request:
    """The request from the options of a command. Raises `UsageError` for invalid options."""
    output, target = values.get("output"), _target(values)
    edits = writes and target is None
    is_fixing = bool(values.get("fix"))
    config = configuration(
        values, is_automatic=stages is None and not (values["stage"] or values["preset"])
    )
    specs = _specs(stages, values, config)
    if values.get("archive") is not None and not writes:
        raise UsageError("--archive needs --fix; check edits nothing without it")
    values = {**values, **config.values}
    form, path = _report(values, writes)
    skip = [Path(values[name]) for name in ("output", "archive") if values.get(name)]
    in_place = bool(values.get("in_place"))
    listing = inputs(values["files"] or (), skip, in_place=in_place)
    sources = listing.inputs
    targets = resolve_targets(
        sources,
        writes=writes and not values.get("dry_run"),
        output=output,
        in_place=in_place,
        is_jsonl=target is not None,
    )
    report = Path(path) if path not in (None, "-") else None
    archive = _archive(values, edits, targets, config.preset)
    others = {
        "--report": report,
        "--log": _path(values, "log"),
        "--events": _path(values, "events") if edits else None,
        "--summary-store": _path(values, "summary_store") if edits else None,
        "--archive": archive,
    }
    must_be_distinct(sources, targets, others)
    store = store_of(values) if edits else None
    choice = FormatChoice(values["format"], values["messages_path"], bool(values["each_request"]))
    job = Job(
        Pipeline(specs, _metering(sources, config), _thinking(values) if edits else "keep"),
        _on_overflow(values, edits),
        keeps_snapshots=values["keep_snapshots"],
        is_quick=[spec.declares("accepts_bounds") for spec in specs] == [True]
        and form is None
        and not (values["explain"] or values["calibrate"] or values["tokenizer"] == USAGE),
        keeps_changes=form not in (None, "text") or values["explain"],
        explains=values["explain"],
        shows_tracebacks=values["debug"] or bool(os.environ.get(DEBUG)),
        summarizer=summarizer_of(values),
        memory=store,
        remembers=not values.get("dry_run"),
        convert=None if target is None else _converter(target, values),
    )
    return Request(
        sources=sources,
        targets=targets,
        job=job,
        choice=choice,
        formats=choice.formats,
        jobs=values["jobs"],
        max_size=values["max_size"],
        explains_format=bool(values["explain_format"]),
        form=form,
        report=report,
        archive=archive,
        spills=_spills(specs) if targets.writes else None,
        shows=path == "-"
        or (path is None and (not targets.writes or (is_fixing and targets.frees_stdout))),
        moves_results=_spills(specs) is not None,
        writes=writes,
        is_quiet=values["quiet"],
        has_progress=values["progress"] and not values["quiet"],
        color=values["color"],
        notes=(
            *config.notes,
            *((path, Finding("skipped", "info", why)) for path, why in listing.skipped),
        ),
        log=others["--log"],
        store=store,
        events=others["--events"],
        target=target,
    )


def _target(values: Values) -> str | None:
    """The API of the requests that `convert` writes; None for other commands."""
    if "to" not in values:
        return None
    target = OPTIONS["to"].parse("--to", values["to"] or "")
    if not target:
        raise UsageError(f"--to is missing; expected one of {', '.join(TARGETS)}")
    return str(target)


def _converter(target: str, values: Values) -> Callable[[Transcript], Conversion]:
    """The function from a transcript to its request."""
    keeps = OPTIONS["reasoning"].parse("--reasoning", values["reasoning"] or "keep") == "keep"
    return partial(convert, to=target, model=values["model"] or None, keeps_reasoning=keeps)


def _path(values: Values, name: str) -> Path | None:
    return Path(values[name]) if values.get(name) else None


def _report(values: Values, writes: bool) -> tuple[str | None, str | None]:
    """The format and the path of the report, None for each that is not given."""
    path, form = values["report"], values["report_format"]
    if form is not None and form not in REPORTS:
        raise UsageError(
            f"--report-format {form}: unknown format; expected one of {', '.join(REPORTS)}"
        )
    if values["json"]:
        if path is not None or form not in (None, "json"):
            raise UsageError(
                "--json is the JSON report on standard output; leave out --report and "
                "--report-format"
            )
        path, form = "-", "json"
    if form is None and path is not None:
        ending = path.rsplit(".", 1)[-1]
        form = ending if ending in REPORTS else "text"
    if path is None and form is not None:
        path = "-"
    frees = values.get("output") or values.get("in_place") or values.get("dry_run")
    if path == "-" and writes and not frees:
        raise UsageError(
            "standard output is used for the transcript; write the report with --report "
            "FILE or the transcript with -o"
        )
    return form, path


def configuration(values: Values, *, is_automatic: bool = False) -> Config:
    """The configuration from options and all other sources."""
    return configured(values, os.environ, own_settings(), is_automatic=is_automatic)


def _specs(stages: Sequence[str] | None, values: Values, config: Config) -> tuple[Spec, ...]:
    """The stages that the command or the options name, else those of the automatic pipeline if it
    is on.
    """
    if config.is_automatic:
        return config.pipeline() if config.enabled.value else ()
    named = stages if stages is not None else values["stage"] or config.stages
    return tuple(config.spec(text) for text in named)


def _metering(sources: Sequence[Input], config: Config) -> Metering:
    sizes = [source.size for source in sources]
    is_light = None not in sizes and sum(size or 0 for size in sizes) < LIGHT
    return config.metering(partial(tokenizer, is_light=is_light), config.model_of)


def _archive(values: Values, writes: bool, targets: Targets, preset: Preset) -> Path | None:
    """The folder for originals, None if nothing is written."""
    folder = values["archive"] or (own_archive() if preset.archives else None)
    return Path(folder) if folder is not None and writes and targets.writes else None


def _spills(specs: Sequence[Spec]) -> Path | None:
    """The folder for spilled results of a run without an archive, None if no stage spills."""
    return spill_folder() if any(spec.settings.get("spill_above") for spec in specs) else None


def _on_overflow(values: Values, writes: bool) -> Any:
    """What to do with transcripts that do not fit. `--fix` repairs and writes them."""
    if values.get("fix"):
        return "write"
    return values["on_overflow"] if writes else "fail"


def _thinking(values: Values) -> Thinking | None:
    mode: Any = values["thinking"]
    return None if mode == "auto" else mode
