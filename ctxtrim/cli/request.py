"""The request of a run: the options as checked values, before anything is read or written."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from ctxtrim.archive.locations import objects_of, own_archive, spill_folder
from ctxtrim.cli.commands import StageCommand
from ctxtrim.cli.configuration import configuration
from ctxtrim.cli.gate import Gate, gate_of
from ctxtrim.cli.jobs import Jobs, specs_of
from ctxtrim.cli.output_targets import Targets, must_be_distinct, resolve_targets
from ctxtrim.cli.report_options import ReportOptions, report_options
from ctxtrim.cli.sources import run_inputs
from ctxtrim.config.from_command import unused_options
from ctxtrim.config.option import Values
from ctxtrim.config.resolution import Config
from ctxtrim.config.run_settings import given
from ctxtrim.errors import InputError, UsageError
from ctxtrim.findings import Finding
from ctxtrim.formats.conversion import TARGETS
from ctxtrim.io.inputs import Input
from ctxtrim.io.paths import mode_of
from ctxtrim.pipeline import Spec
from ctxtrim.stream.files import FilePipeline
from ctxtrim.stream.job import Job

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
    api = _api(values) if command.converts else None
    is_automatic = command.stages is None and not (values["stage"] or values["preset"])
    config = configuration(values, is_automatic=is_automatic)
    if values["archive"] is not None and values["no_archive"]:
        raise UsageError("--archive and --no-archive cannot be combined; give one of them")
    values = {**values, **config.values}
    stores = command.edits and not values["no_archive"]
    report = report_options(command, values)
    sources, notes = run_inputs(values, report.file, command.writes)
    targets = _targets(sources, values, command)
    named = {spec.name for spec in specs_of(command, values, config)}
    kept = _archive(values, not named.isdisjoint(config.preset.archives)) if stores else None
    gate = gate_of(values) if command.checks else Gate()
    archive = kept if targets.writes else None
    written = _files_written(command, values, report, gate, targets)
    read = _files_read(values, config, gate)
    must_be_distinct(sources, targets, written, read, archive, can_replace=command.edits)
    store = _store(values) if command.edits else None
    pipeline = Jobs(command, sources, values, report, api, store).pipeline(config)
    return Request(
        sources=sources,
        targets=targets,
        pipeline=pipeline,
        processes=values["jobs"],
        explains_format=bool(values["explain_format"]),
        report=report,
        gate=gate,
        archive=archive,
        spills=_spills(pipeline.job.pipeline.stages, kept) if stores else None,
        shows=_shows(values, report, targets),
        writes=command.writes,
        is_quiet=values["quiet"],
        has_progress=values["progress"] and not values["quiet"],
        notes=(*config.notes, *_unused_options(pipeline, config), *notes),
        log=written["--log"],
        events=written["--events"],
        store=store,
        api=api,
        may_be_empty=bool(values["allow_empty"]),
    )


def _targets(sources: Sequence[Input], values: Values, command: StageCommand) -> Targets:
    """The targets of the transcripts that the command writes.

    No summary is paid for and no summary store is changed for a file that cannot be replaced.
    """
    services = ("llm_model", "llm_command", "summary_store")
    return resolve_targets(
        sources,
        writes=command.writes and not values["dry_run"],
        output=values["output"],
        in_place=bool(values["in_place"]),
        is_jsonl=command.converts,
        checks_first=any(values[name] for name in services),
    )


def _files_written(
    command: StageCommand,
    values: Values,
    report: ReportOptions,
    gate: Gate,
    targets: Targets,
) -> dict[str, Path | None]:
    """The files that the run writes next to its outputs, by their names in messages."""
    return {
        "--report": report.file,
        "--log": _path(values, "log"),
        "--events": _path(values, "events") if command.edits and targets.writes else None,
        "--summary-store": _path(values, "summary_store") if command.edits else None,
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


def _unused_options(pipeline: FilePipeline, config: Config) -> Iterator[tuple[str, Finding]]:
    """A warning for each option that has no effect on the stages of the run, if it has any."""
    jobs = (pipeline.job, *pipeline.jobs.values())
    specs = [spec for job in jobs for spec in job.pipeline.stages]
    return unused_options(config, specs) if specs else iter(())


def _api(values: Values) -> str:
    """The API of the requests that `convert` writes."""
    api: str = given(values, "to")
    if not api:
        raise UsageError(f"--to is missing; expected one of {', '.join(TARGETS)}")
    return api


def _path(values: Values, name: str) -> Path | None:
    return Path(values[name]) if values[name] else None


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


def _store(values: Values) -> "SummaryStore | None":
    """The summary store, None without one.

    Raises `CtxtrimError` if the store cannot be read or written.
    """
    if not values["summary_store"]:
        return None
    from ctxtrim.archive.summary_store import SummaryStore

    store = SummaryStore(Path(values["summary_store"]))
    store.check()
    return store
