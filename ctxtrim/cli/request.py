"""The request of a run: the options as checked values, before anything is read or written."""

import os
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from ctxtrim.archive.locations import objects_of, own_archive, own_settings, spill_folder
from ctxtrim.cli.commands import StageCommand
from ctxtrim.cli.gate import Gate, gate_of
from ctxtrim.cli.output_targets import Targets, must_be_distinct, resolve_targets
from ctxtrim.cli.report_options import ReportOptions, needs_counts, report_options
from ctxtrim.cli.sources import run_inputs
from ctxtrim.cli.summary_services import has_summary_service, store_of, summarizer_of
from ctxtrim.config.from_command import command_config, unused_options
from ctxtrim.config.from_environment import DEBUG
from ctxtrim.config.option import Values
from ctxtrim.config.resolution import Config
from ctxtrim.config.run_settings import given
from ctxtrim.config.source import PathSection
from ctxtrim.errors import InputError, UsageError
from ctxtrim.findings import Finding
from ctxtrim.formats.choice import FormatChoice
from ctxtrim.formats.conversion import TARGETS, Conversion
from ctxtrim.io.inputs import Input
from ctxtrim.io.paths import mode_of
from ctxtrim.metering import USAGE, Metering
from ctxtrim.model import Transcript
from ctxtrim.pipeline import Spec, StagePipeline
from ctxtrim.reports.rows import Details
from ctxtrim.stages.reasoning import ReasoningMode
from ctxtrim.stream.files import FilePipeline, FileReader
from ctxtrim.stream.job import Job
from ctxtrim.tokenizers import LIGHT, tokenizer
from ctxtrim.tokens.models import nearest_hint

if TYPE_CHECKING:
    from ctxtrim.archive.summary_store import SummaryStore


class Request(Struct, frozen=True):
    """Inputs, targets, pipeline and reports of a run.

    - `processes`: the number of processes; None: as many as the work is worth
    - `archive`: the folder for all originals; `spills`: that for results that a stage moves to
      files, if one does
    - `shows`: the report is printed on standard output
    - `writes`: the command's output is the transcript
    - `notes`: findings about configuration files and skipped files, with their paths
    - `log`: the file with a line for each transcript; `events`: the file with a line when a
      compaction starts and ends
    - `store`: the summary store, written at the end
    - `api`: the API for which `convert` writes requests
    - `may_be_empty`: an input without a transcript is no error
    """

    sources: tuple[Input, ...]
    targets: Targets
    pipeline: FilePipeline
    processes: int | None
    explains_format: bool
    report: ReportOptions
    gate: Gate
    archive: Path | None
    spills: Path | None
    shows: bool
    writes: bool
    is_quiet: bool
    has_progress: bool
    notes: tuple[tuple[str, Finding], ...]
    log: Path | None
    events: Path | None
    store: "SummaryStore | None"
    api: str | None
    may_be_empty: bool

    @property
    def job(self) -> Job:
        """The job of the inputs without settings of their own."""
        return self.pipeline.job


def parse_request(command: StageCommand, values: Values) -> Request:
    """The request from the options of a command; `values` has all options, None if not given.

    Raises `UsageError` for invalid options.
    """
    stages, writes = command.stages, command.writes
    api = _api(values) if command.converts else None
    edits = writes and api is None
    is_automatic = stages is None and not (values["stage"] or values["preset"])
    config = configuration(values, is_automatic=is_automatic)
    if values["archive"] is not None and values["no_archive"]:
        raise UsageError("--archive and --no-archive cannot be combined; give one of them")
    values = {**values, **config.values}
    stores = edits and not values["no_archive"]
    report = report_options(command, values)
    sources, notes = run_inputs(values, report.file, writes)
    targets = _targets(sources, values, writes, is_jsonl=api is not None)
    named = {spec.name for spec in _specs(stages, values, config)}
    kept = _archive(values, not named.isdisjoint(config.preset.archives)) if stores else None
    gate = gate_of(values) if command.checks else Gate()
    written = _files_written(values, report, gate, kept if targets.writes else None, edits, targets)
    read = _files_read(values, config, gate)
    must_be_distinct(sources, targets, written, read, can_replace=edits)
    store = store_of(values) if edits else None
    jobs = _Jobs(command, sources, values, report, api, edits, store)
    pipeline = _file_pipeline(jobs, config)
    return Request(
        sources=sources,
        targets=targets,
        pipeline=pipeline,
        processes=values["jobs"],
        explains_format=bool(values["explain_format"]),
        report=report,
        gate=gate,
        archive=written["--archive"],
        spills=_spills(pipeline.job.pipeline.stages, kept) if stores else None,
        shows=_shows(values, report, targets),
        writes=writes,
        is_quiet=values["quiet"],
        has_progress=values["progress"] and not values["quiet"],
        notes=(*config.notes, *_unused_options(pipeline, config), *notes),
        log=written["--log"],
        events=written["--events"],
        store=store,
        api=api,
        may_be_empty=bool(values["allow_empty"]),
    )


def _targets(sources: Sequence[Input], values: Values, writes: bool, *, is_jsonl: bool) -> Targets:
    """The targets of the transcripts that the command writes."""
    return resolve_targets(
        sources,
        writes=writes and not values["dry_run"],
        output=values["output"],
        in_place=bool(values["in_place"]),
        is_jsonl=is_jsonl,
        checks_first=has_summary_service(values),
    )


def _files_written(
    values: Values,
    report: ReportOptions,
    gate: Gate,
    archive: Path | None,
    edits: bool,
    targets: Targets,
) -> dict[str, Path | None]:
    """The files that the run writes next to its outputs, by their names in messages."""
    return {
        "--report": report.file,
        "--log": _path(values, "log"),
        "--events": _path(values, "events") if edits and targets.writes else None,
        "--summary-store": _path(values, "summary_store") if edits else None,
        "--archive": archive,
        "--baseline": gate.file if values["update_baseline"] else None,
        "GITHUB_STEP_SUMMARY": report.step_summary,
    }


def _files_read(values: Values, config: Config, gate: Gate) -> list[tuple[str, Path]]:
    """The files that the run reads next to its inputs, with their names in messages."""
    files = [("the configuration", path) for path in config.files]
    if gate.file is not None and not values["update_baseline"]:
        files.append(("--baseline", gate.file))
    if values["tokenizer"]:
        files.append(("--tokenizer", Path(values["tokenizer"])))
    return [(f"{name} {path}", path) for name, path in files if mode_of(path)]


def _shows(values: Values, report: ReportOptions, targets: Targets) -> bool:
    """Whether the report is printed: on request, or if standard output has nothing else."""
    if report.shown is not None:
        return True
    if report.file is not None:
        return False
    return not targets.writes or (bool(values["fix"]) and targets.frees_stdout)


class _Jobs(Struct, frozen=True):
    """What the jobs of a run share: a configuration adds stages, models and budgets."""

    command: StageCommand
    sources: Sequence[Input]
    values: Values
    report: ReportOptions
    api: str | None
    edits: bool
    store: "SummaryStore | None"

    def job(self, config: Config) -> Job:
        """The job of a configuration. Reports other than text show counts and changes."""
        values, report, api = self.values, self.report, self.api
        pipeline = StagePipeline(
            _specs(self.command.stages, values, config),
            _metering(self.sources, config),
            _thinking(values) if self.edits else "keep",
        )
        return Job(
            pipeline,
            _on_overflow(values, self.edits),
            keeps_snapshots=values["keep_snapshots"],
            is_quick=pipeline.accepts_bounds and not needs_counts(values),
            details=Details(
                changes=report.has_changes or values["explain"],
                explained=values["explain"],
                by=report.view.by,
                left_out=self.command.counts,
                differences=self.edits and bool(values["dry_run"]),
                converts=api is not None,
            ),
            shows_tracebacks=values["debug"] or bool(os.environ.get(DEBUG)),
            summarizer=summarizer_of(values),
            memory=self.store,
            remembers=not values["dry_run"],
            convert=None if api is None else _converter(api, values, pipeline.metering),
        )

    def by_path(self, config: Config) -> dict[str, Job]:
        """The jobs of the inputs that `[[paths]]` sections match, by path."""
        made: dict[tuple[PathSection, ...], Job] = {}
        jobs = {}
        for source in self.sources:
            sections = config.sections_of(source.path)
            if sections and not source.is_stdin:
                if sections not in made:
                    made[sections] = self.job(config.with_sections(sections))
                jobs[source.path] = made[sections]
        return jobs


def _unused_options(pipeline: FilePipeline, config: Config) -> Iterator[tuple[str, Finding]]:
    """A warning for each option that has no effect on the stages of the run, if it has any."""
    jobs = (pipeline.job, *pipeline.jobs.values())
    specs = [spec for job in jobs for spec in job.pipeline.stages]
    return unused_options(config, specs) if specs else iter(())


def _file_pipeline(jobs: _Jobs, config: Config) -> FilePipeline:
    """The reader of the inputs, and their jobs."""
    values, job = jobs.values, jobs.job(config)
    path, origin = values["messages_path"], config.shared("messages_path").origin
    choice = FormatChoice(values["format"], path, bool(values["each_request"]), origin)
    return FilePipeline(FileReader(choice, values["max_size"]), job, jobs.by_path(config))


def _api(values: Values) -> str:
    """The API of the requests that `convert` writes."""
    api: str = given(values, "to")
    if not api:
        raise UsageError(f"--to is missing; expected one of {', '.join(TARGETS)}")
    return api


def _converter(api: str, values: Values, metering: Metering) -> Callable[[Transcript], Conversion]:
    """The function from a transcript to its request.

    Raises `UsageError` if recorded usage counts the transcripts.
    """
    if metering.tokenizer == USAGE:
        raise UsageError(
            f"--tokenizer {USAGE}: recorded usage cannot be used for convert, because the request "
            "has none; use it with count and check"
        )
    from ctxtrim.formats.conversion.request import convert  # for the command `convert` only

    keeps = given(values, "reasoning") == "keep"
    return partial(convert, to=api, model=values["model"] or None, keeps_reasoning=keeps)


def _path(values: Values, name: str) -> Path | None:
    return Path(values[name]) if values[name] else None


def configuration(values: Values, *, is_automatic: bool = False) -> Config:
    """The configuration from options and all other sources."""
    return command_config(values, os.environ, own_settings(), is_automatic=is_automatic)


def _specs(stages: Sequence[str] | None, values: Values, config: Config) -> tuple[Spec, ...]:
    """The stages that the command or the options name, else those of the automatic pipeline if it
    is on.
    """
    if config.is_automatic:
        return config.pipeline() if config.enabled.value else ()
    named = stages if stages is not None else values["stage"] or config.stages
    return tuple(config.spec(text) for text in named)


def _metering(sources: Sequence[Input], config: Config) -> Metering:
    _check_model(config)
    sizes = [source.size for source in sources]
    is_light = None not in sizes and sum(size or 0 for size in sizes) < LIGHT
    return config.metering(partial(tokenizer, is_light=is_light), config.model_of)


def _check_model(config: Config) -> None:
    """Raise `UsageError` if the settings name an unknown model and no budget."""
    name, origin = config.shared("model")
    if not name or config.values["context_window"] or config.values["budget"]:
        return
    if config.model_of(name).is_assumed:
        raise UsageError(
            f"{origin} {name}: unknown model{nearest_hint(name)}; name another model, or set "
            "--context-window or --budget"
        )


def _archive(values: Values, is_default: bool) -> Path | None:
    """The folder for originals, if there is one.

    `is_default`: the preset stores the originals of a stage that runs.
    """
    if values["archive"]:
        return Path(values["archive"])
    if not (values["in_place"] or is_default):
        return None
    folder = own_archive()
    if folder is None:
        raise InputError(
            "there is no home folder for the archive; set HOME, name a folder with --archive, or "
            "use --no-archive"
        )
    return folder


def _spills(specs: Sequence[Spec], archive: Path | None) -> Path | None:
    """The folder for results that stages move to files, in the archive if there is one; None if no
    stage moves results.
    """
    if not any(spec.stage.moves_results(spec.settings) for spec in specs):
        return None
    return spill_folder() if archive is None else objects_of(archive)


def _on_overflow(values: Values, writes: bool) -> Any:
    """What to do with transcripts that do not fit. `--fix` repairs and writes them."""
    if values["fix"]:
        return "write"
    return values["on_overflow"] if writes else "fail"


def _thinking(values: Values) -> ReasoningMode | None:
    mode: Any = values["thinking"]
    return None if mode == "auto" else mode
