"""The jobs of a run: the stages, the model and the budget for each of its inputs."""

import os
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from ctxtrim.cli.commands import StageCommand
from ctxtrim.cli.report_options import ReportOptions, needs_counts
from ctxtrim.config.from_environment import DEBUG
from ctxtrim.config.option import Values
from ctxtrim.config.resolution import Config
from ctxtrim.config.run_settings import given
from ctxtrim.config.source import PathSection
from ctxtrim.errors import UsageError
from ctxtrim.formats.choice import FormatChoice
from ctxtrim.formats.conversion import Conversion
from ctxtrim.io.inputs import Input
from ctxtrim.metering import USAGE, Metering
from ctxtrim.model import Transcript
from ctxtrim.pipeline import Spec, StagePipeline
from ctxtrim.reports.rows import Details
from ctxtrim.stream.files import FilePipeline, FileReader
from ctxtrim.stream.job import Job
from ctxtrim.tokenizers import LIGHT, tokenizer
from ctxtrim.tokens.models import nearest_hint

if TYPE_CHECKING:
    from ctxtrim.archive.summary_store import SummaryStore
    from ctxtrim.summaries.summarizer import Summarizer


class Jobs(Struct, frozen=True):
    """What the jobs of a run share: a configuration adds stages, models and budgets.

    `api`: the API for which `convert` writes requests. `store`: the summary store.
    """

    command: StageCommand
    sources: Sequence[Input]
    values: Values
    report: ReportOptions
    api: str | None
    store: "SummaryStore | None"

    def pipeline(self, config: Config) -> FilePipeline:
        """The reader of the inputs, and their jobs."""
        values, job = self.values, self._job(config)
        path, origin = values["messages_path"], config.shared("messages_path").origin
        choice = FormatChoice(values["format"], path, bool(values["each_request"]), origin)
        return FilePipeline(FileReader(choice, values["max_size"]), job, self._by_path(config))

    def _job(self, config: Config) -> Job:
        """The job of a configuration. Reports other than text show counts and changes."""
        command, values, report = self.command, self.values, self.report
        pipeline = StagePipeline(
            specs_of(command, values, config),
            _metering(self.sources, config),
            config.thinking if command.edits else "keep",
        )
        return Job(
            pipeline,
            _on_overflow(values, command.edits),
            keeps_snapshots=values["keep_snapshots"],
            is_quick=pipeline.accepts_bounds and not needs_counts(values),
            details=Details(
                changes=report.has_changes or values["explain"],
                explained=values["explain"],
                by=report.view.by,
                left_out=command.counts,
                differences=command.edits and bool(values["dry_run"]),
                converts=command.converts,
            ),
            shows_tracebacks=values["debug"] or bool(os.environ.get(DEBUG)),
            summarizer=_summarizer(values),
            memory=self.store,
            remembers=not values["dry_run"],
            convert=self._converter(pipeline.metering),
        )

    def _by_path(self, config: Config) -> dict[str, Job]:
        """The jobs of the inputs that `[[paths]]` sections match, by path."""
        job_of: dict[tuple[PathSection, ...], Job] = {}
        jobs = {}
        for source in self.sources:
            sections = config.sections_of(source.path)
            if sections and not source.is_stdin:
                if sections not in job_of:
                    job_of[sections] = self._job(config.with_sections(sections))
                jobs[source.path] = job_of[sections]
        return jobs

    def _converter(self, metering: Metering) -> Callable[[Transcript], Conversion] | None:
        """The function from a transcript to its request; None if the command writes none.

        Raises `UsageError` if recorded usage counts the transcripts.
        """
        if self.api is None:
            return None
        if metering.tokenizer == USAGE:
            raise UsageError(
                f"--tokenizer {USAGE}: recorded usage cannot be used for convert, because the "
                "request has none; use it with count and check"
            )
        from ctxtrim.formats.conversion.request import convert  # for the command `convert` only

        model, keeps = self.values["model"] or None, given(self.values, "reasoning") == "keep"
        return partial(convert, to=self.api, model=model, keeps_reasoning=keeps)


def specs_of(command: StageCommand, values: Values, config: Config) -> tuple[Spec, ...]:
    """The stages that the command or the options name, else those of the automatic pipeline if it
    is on.
    """
    if config.is_automatic:
        return config.pipeline() if config.enabled.value else ()
    stages = command.stages
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


def _summarizer(values: Values) -> "Summarizer | None":
    """The model or command that writes summaries, None for summaries by rules."""
    model, command, url = values["llm_model"], values["llm_command"], values["llm_base_url"]
    if model and command:
        raise UsageError("--llm-model and --llm-command cannot be combined; give one of them")
    if url and not model:
        raise UsageError("--llm-base-url needs --llm-model; give both")
    if model:
        from ctxtrim.summarizers.endpoint import Endpoint

        return Endpoint(model, url or None, values["llm_timeout"])
    if command:
        from ctxtrim.summarizers.command import Command

        return Command(command, values["llm_timeout"])
    return None


def _on_overflow(values: Values, edits: bool) -> Any:
    """What to do with transcripts that do not fit. `--fix` repairs and writes them."""
    if values["fix"]:
        return "write"
    return values["on_overflow"] if edits else "fail"
