"""A pipeline as a value: for message lists, requests, lines of bytes and files."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, Unpack

from ctxtrim.api.configs import PipelineConfig
from ctxtrim.api.files import file_reader, no_transcript, opened, path_text
from ctxtrim.api.fit import must_fit, run_stages
from ctxtrim.api.messages import (
    M,
    PlainConversation,
    RequestFields,
    System,
    Tools,
    conversation,
)
from ctxtrim.api.options import parse_options
from ctxtrim.api.requests import PlainRequest, request_conversation
from ctxtrim.errors import STDIN, UsageError, excerpt, must_be_summarizer, must_be_text, source_name
from ctxtrim.findings import Finding
from ctxtrim.formats.lines import blocks
from ctxtrim.io.inputs import Input
from ctxtrim.io.outputs import write_to
from ctxtrim.io.paths import file_identity
from ctxtrim.model import Transcript
from ctxtrim.pipeline import PipelineRun, Services
from ctxtrim.reports.model import Row
from ctxtrim.reports.rows import Details, Origin, row
from ctxtrim.stream.files import FilePipeline
from ctxtrim.stream.job import Done, Job
from ctxtrim.summaries.summarizer import Summarizer

MESSAGES, REQUEST = "messages", "request"
"""The paths of a message list and of a request in rows."""


@dataclass(frozen=True)
class MessagesOutcome(Generic[M]):
    """A new message list, and its row of the report: tokens, budget, changes and findings."""

    messages: list[M]
    row: Row

    @property
    def fits(self) -> bool:
        """Whether the tokens are within the budget."""
        return self.row.fits


@dataclass(frozen=True)
class RequestOutcome:
    """A new request, and its row of the report: tokens, budget, changes and findings."""

    request: dict[str, Any]
    row: Row

    @property
    def fits(self) -> bool:
        """Whether the tokens are within the budget."""
        return self.row.fits


@dataclass(frozen=True)
class FileOutcome:
    """The edited bytes of a file, a row for each transcript, and findings about the file.

    `data` is None if the bytes were written to a file. Transcripts that do not fit are left out of
    the bytes, unless `on_overflow` is `keep`; their rows are not `is_written`.
    """

    data: bytes | None
    rows: tuple[Row, ...]
    findings: tuple[Finding, ...]

    @property
    def fits(self) -> bool:
        """Whether the whole file is read, and every transcript is within its budget."""
        is_read = all(finding.severity != "error" for finding in self.findings)
        return is_read and all(row.fits and row.is_handled for row in self.rows)


@dataclass(frozen=True, init=False, repr=False)
class Pipeline:
    """Stages with their settings, a model and a budget. A value: it can be compared, hashed and
    pickled.

    It stores no originals: `spill_above` has no effect, and the program keeps the results that the
    pointers of the preset `retention` name.

    ::

        pipeline = Pipeline("truncate:max-age=5", "trim", model="gpt-4o")
        pipeline.run(messages).messages
        pipeline.run_request(request).request
        pipeline.run_file("session.jsonl", "trimmed.jsonl").rows
        for done in pipeline.run_lines(lines):
            done.data, done.rows
    """

    files: FilePipeline
    arguments: str = field(compare=False)

    def __init__(
        self, *stages: str, summarizer: Summarizer | None = None, **options: Unpack[PipelineConfig]
    ) -> None:
        """Make a pipeline.

        Args:
            *stages: stages in order, as `-s` takes them: `trim`, `truncate:max-age=5`. Without
                stages, those of the option `preset` run; without both, or with `enabled` false,
                transcripts are counted.
            summarizer: writes summaries. Without it, or if it fails, rules write them.
            **options: `model`, `context_window`, `reserve` or `budget` in tokens, settings of the
                stages, and the options of `read`.

        Raises:
            UsageError: a stage or an option is unknown or invalid.
        """
        for stage in stages:
            must_be_text(stage, "Pipeline: stages, one argument each")
        named = {"pipeline": list(stages)} if stages else None
        settings = parse_options("Pipeline", options, named, preset="")
        must_be_summarizer(summarizer, "Pipeline: summarizer")
        values = settings.config.values
        job = Job(
            settings.pipeline(*(settings.stages if settings.is_on else ())),
            values["on_overflow"],
            keeps_snapshots=values["keep_snapshots"],
            details=Details(explained=values["explain"]),
            summarizer=summarizer,
        )
        object.__setattr__(self, "files", FilePipeline(file_reader(settings), job))
        arguments = [*map(repr, stages), *(f"{name}={value!r}" for name, value in options.items())]
        if summarizer is not None:  # without its values, which may be a key
            arguments.append(f"summarizer=<{type(summarizer).__name__}>")
        object.__setattr__(self, "arguments", ", ".join(arguments))

    def __repr__(self) -> str:
        return f"Pipeline({self.arguments})"

    def __hash__(self) -> int:
        """A hash of the names of the stages; equal pipelines have equal ones."""
        return hash(tuple(spec.name for spec in self.files.job.pipeline.stages))

    def run(
        self,
        messages: Sequence[M],
        *,
        system: System = None,
        tools: Tools = None,
        request: RequestFields = None,
    ) -> MessagesOutcome[M]:
        """Run the stages over a message list.

        Args:
            messages: dicts or SDK objects in the shape of Chat Completions or Anthropic.
            system: Anthropic's system prompt, which is counted and never dropped.
            tools: the tool schemas of the request, which are counted.
            request: further fields of the request, such as `response_format` and `thinking`.

        Returns:
            A new list of dicts, and its row.

        Raises:
            ContextOverflowError: a stage should make the list fit, and cannot. With `on_overflow`
                `keep` the messages are returned unchanged instead.
            InputError: a message cannot be read; the text has its position, from 0.
            UsageError: `request` has messages, or a field that is also given separately.
        """
        read = conversation(messages, system, tools, request)
        result = run_stages(read, self.files.job.pipeline, self._services)
        transcript, report_row = self._fitted(read, result, MESSAGES)
        return MessagesOutcome(read.with_messages(transcript), report_row)

    def run_request(self, request: PlainRequest) -> RequestOutcome:
        """Run the stages over a whole request.

        Args:
            request: the arguments of a call, in the shape of any API that files may have: Chat
                Completions, Anthropic, OpenAI Responses, Gemini or Amazon Bedrock. Objects of SDKs
                may be in it. Its model counts unless the pipeline names one.

        Returns:
            A new request of dicts, and its row.

        Raises:
            ContextOverflowError: a stage should make the request fit, and cannot. With
                `on_overflow` `keep` it is returned unchanged instead.
            InputError: a value is not JSON, or there is no conversation.
            UsageError: the request is not an object.
        """
        read = request_conversation(request, self.files.reader)
        result = self.files.job.pipeline.run(read.transcript, self._services)
        transcript, report_row = self._fitted(read, result, REQUEST)
        return RequestOutcome(read.request(transcript), report_row)

    @property
    def _services(self) -> Services:
        return Services(summarizer=self.files.job.summarizer)

    def _fitted(
        self, read: PlainConversation, result: PipelineRun, path: str
    ) -> tuple[Transcript, Row]:
        """The transcript to write and its row.

        Raises `ContextOverflowError` if a stage should make it fit and cannot.
        """
        job = self.files.job
        is_kept = result.overflows and job.on_overflow == "keep"
        if job.pipeline.fits_budget and not is_kept:
            must_fit(result)
        format_name = read.chunk.format.name if read.chunk.format is not None else ""
        report_row = row(
            Origin(path, format_name, 0),
            read.transcript,
            result,
            is_written=True,
            details=job.details,
        )
        return read.transcript if is_kept else result.transcript, report_row

    def run_lines(self, lines: Iterable[bytes], path: str = "-") -> Iterator[Done]:
        """Run the stages over the lines of a file.

        Args:
            lines: bytes that end with a line break, in any supported format.
            path: the path in rows, as reports show it.

        Returns:
            The results of conversations, one at a time, or of a whole session at once: the bytes
            to write (None if all is left out), rows and findings.

        Raises:
            InputError: a line or document has more than `max_size` bytes.
            UsageError: a line is not bytes.
        """
        if isinstance(lines, str | bytes) or not isinstance(lines, Iterable):
            raise _no_line(lines)
        lines = map(_line, lines)
        return self.files.run_chunks(path, self.files.reader.read(lines).chunks)

    def stream_file(self, path: str | Path) -> Iterator[Done]:
        """Run the stages over a file, with bounded memory.

        Args:
            path: a file of any supported format, which may be compressed; `-` is standard input.

        Returns:
            An iterator over results, as from `run_lines`.

        Raises:
            InputError: the file cannot be read, or has no transcript.
        """
        return self._streamed(path_text(path, "stream_file: path"))

    def _streamed(self, path: str) -> Iterator[Done]:
        has_rows = False
        first: Finding | None = None
        source = Input(path, Path(path).name)
        with opened(source, self.files.reader) as content:
            for done in self.files.run(source, content):
                has_rows = has_rows or bool(done.rows)
                first = first or next(iter(done.findings), None)
                yield done
            if not has_rows:
                raise no_transcript(content, first)

    def run_file(self, path: str | Path, output: str | Path | None = None) -> FileOutcome:
        """Run the stages over a file.

        Args:
            path: a file of any supported format, which may be compressed; `-` is standard input.
            output: the file for the edited bytes, written as a whole or not at all. Without it the
                outcome has the bytes.

        Returns:
            The outcome, with a row for each transcript.

        Raises:
            InputError: the file cannot be read, or has no transcript.
            OutputError: the output cannot be written.
            UsageError: the output is the input.
        """
        pieces: list[bytes] = []
        rows: list[Row] = []
        findings: list[Finding] = []
        source = path_text(path, "run_file: path")
        target = None if output is None else Path(path_text(output, "run_file: output"))
        if target is not None:
            _must_be_distinct(source, target)
        sink = None if target is None else write_to(target)
        write = pieces.append if sink is None else sink.write
        try:
            for done in self._streamed(source):
                for block in blocks(done.output or b""):
                    write(block)
                rows += done.rows
                findings += done.findings
            if sink is not None and any(row.is_written for row in rows):
                sink.commit()
        finally:
            if sink is not None:
                sink.discard()
        return FileOutcome(b"".join(pieces) if sink is None else None, tuple(rows), tuple(findings))


def _must_be_distinct(source: str, target: Path) -> None:
    """Raise `UsageError` if the output would overwrite the input, which nothing could restore."""
    identity = file_identity(Path("/dev/stdin" if source == STDIN else source))
    if identity is not None and identity == file_identity(target):
        raise UsageError(
            f"run_file: the output {target} and the input {source_name(source)} are the same file; "
            "give another path"
        )


def _line(line: bytes) -> bytes:
    """A line. Raises `UsageError` for another value, such as a message."""
    if not isinstance(line, bytes):
        raise _no_line(line)
    return line


def _no_line(value: object) -> UsageError:
    text = excerpt(repr(value))
    return UsageError(f"run_lines: expected lines as bytes, found {text}; pass messages to run")
