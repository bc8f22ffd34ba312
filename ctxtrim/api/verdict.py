"""Whether a transcript fits, as a value for assertions: it says where the tokens are."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Unpack

from msgspec.structs import replace

from ctxtrim.api.configs import PipelineConfig
from ctxtrim.api.files import path_text
from ctxtrim.api.messages import PlainMessages, RequestFields, System, Tools
from ctxtrim.api.options import parse_options
from ctxtrim.api.pipelines import Pipeline
from ctxtrim.errors import InputError, UsageError, place_of
from ctxtrim.findings import Finding
from ctxtrim.io.inputs import inputs
from ctxtrim.reports.model import Row
from ctxtrim.tokens.tokenizer import MARKS

_LARGEST = 3  # messages that are listed
_SHARES = 4  # roles and tools that are listed
_SHORT = 230  # characters: pytest cuts longer representations


@dataclass(frozen=True)
class BudgetVerdict:
    """The verdict of `fits`: true if every transcript is within its budget.

    `repr` is one line for assertions, `str` has a block of lines for each transcript that does not
    fit. `rows` are those of the report. `problems` are errors in files, each with its path: with
    one, the verdict is false.
    """

    rows: tuple[Row, ...]
    problems: tuple[tuple[str, Finding], ...] = ()

    def __bool__(self) -> bool:
        return not self.problems and not self.exceeding

    @property
    def exceeding(self) -> tuple[Row, ...]:
        """The rows of the transcripts that do not fit."""
        return tuple(row for row in self.rows if not row.fits)

    def __repr__(self) -> str:
        text = f"{len(self.rows):,} transcripts fit" if len(self.rows) > 1 else "fits"
        if self.problems:
            text = _problem(*self.problems[0])
        elif self.exceeding:
            row = self.exceeding[0]
            others = f" (and {len(self.exceeding) - 1} more)" if len(self.exceeding) > 1 else ""
            text = f"{_verdict(row)}{others}; {'; '.join(_places(row))}"
        return f"<{text if len(text) < _SHORT else f'{text[: _SHORT - 1]}…'}>"

    def __str__(self) -> str:
        if self:
            return repr(self)
        lines = [_problem(path, finding) for path, finding in self.problems]
        for row in self.exceeding:
            lines += [_verdict(row), *(f"    {line}" for line in _places(row))]
        return "\n".join(lines)


def fits(
    source: str | Path | PlainMessages,
    *,
    system: System = None,
    tools: Tools = None,
    request: RequestFields = None,
    **options: Unpack[PipelineConfig],
) -> BudgetVerdict:
    """Whether transcripts are within their budget. The value is for `assert` and `if`.

    ::

        assert ctxtrim.fits("fixtures/a.jsonl", model="gpt-4o")
        assert ctxtrim.fits(messages, budget=20_000)

    Args:
        source: a file, a folder of transcripts, or a message list.
        system: Anthropic's system prompt of a message list; requests in files have their own.
        tools: the tool schemas of a message list.
        request: further fields of its request, such as `response_format` and `thinking`.
        **options: `model`, and `context_window` and `reserve`, or `budget`, in tokens. By default
            the model in the transcript and its window. No stage of a `preset` runs, and the stages
            of a `pipeline` may only report, as `check` does.

    Returns:
        A value that is true if everything fits. Its `repr` and `str` say where the tokens are.

    Raises:
        InputError: a file or a message cannot be read, or there is no transcript.
        UsageError: an option is unknown or invalid, a stage edits transcripts, or a file is given
            with fields of a request.
    """
    pipeline = Pipeline(**(options | {"explain": True, "enabled": _has_stages(options)}))
    if not isinstance(source, str | Path):
        row = pipeline.run(source, system=system, tools=tools, request=request).row
        return BudgetVerdict((row,), tuple(_problems(row.path, row.findings)))
    for name, value in (("system", system), ("tools", tools), ("request", request)):
        if value:
            raise UsageError(
                f"fits: {name}: would not count for a file, whose requests have their own; pass "
                "the messages as a list"
            )
    return _verdict_on_files(pipeline, path_text(source, "fits: source"))


def _verdict_on_files(pipeline: Pipeline, path: str) -> BudgetVerdict:
    """The verdict on a file or the files of a folder."""
    rows: list[Row] = []
    problems: list[tuple[str, Finding]] = []
    for file in inputs([path]).inputs:
        if file.problem is not None:
            raise InputError(f"{file.path}: {file.problem}")
        for done in pipeline.stream_file(file.path):
            rows += (
                row if not row.fits else replace(row, explained=(), lines={}) for row in done.rows
            )
            problems += _problems(file.path, done.findings)
            for row in done.rows:
                problems += _problems(file.path, row.findings)
    return BudgetVerdict(tuple(rows), tuple(problems))


def _has_stages(options: PipelineConfig) -> bool:
    """Whether the options name stages to run. Raises `UsageError` for a stage that edits: the
    verdict is about the given transcript.
    """
    settings = parse_options("fits", options, preset="")
    if not settings.config.shared("pipeline").value:
        return False  # a preset then sets only options such as the window
    for spec in settings.stages:
        if not spec.stage.is_verdict:
            raise UsageError(
                f"fits: pipeline: {spec.name} edits transcripts; expected stages that only "
                "report, such as check. Run a Pipeline first, and pass its messages"
            )
    return settings.is_on


def _problems(path: str, findings: Iterable[Finding]) -> Iterator[tuple[str, Finding]]:
    """The errors among findings, with their path. The row itself says that it overflows."""
    for finding in findings:
        if finding.severity == "error" and finding.code != "overflow":
            yield path, finding


def _problem(path: str, finding: Finding) -> str:
    return f"{place_of(path, finding.line)}: {finding.message}"


def _verdict(row: Row) -> str:
    """The tokens of a transcript and its budget."""
    mark, tokens, budget = _mark(row), row.count.tokens, row.budget.available
    place = row.path if row.line <= 1 else f"{row.path}:{row.line}"
    model = f", {row.model}" if row.model is not None else ""
    excess = f"{mark}{tokens - budget:,} too many"
    return f"{place}: {mark}{tokens:,} of {budget:,} tokens ({excess}{model})"


def _places(row: Row) -> Iterator[str]:
    """Where the tokens are: by role, by tool, and the largest messages."""
    count, mark = row.count, _mark(row)
    others = {"framing": count.framing, "tool schemas": count.tools_schema}
    yield f"by role: {_shares(count.by_role | others, count.tokens, mark)}"
    if any(count.by_tool.values()):
        yield f"by tool: {_shares(count.by_tool, count.tokens, mark)}"
    largest = sorted(row.explained, key=lambda message: -message.tokens)[:_LARGEST]
    names = [
        f"{message.message} ({message.role}{_line(message.line, row)}) {mark}{message.tokens:,}"
        for message in largest
    ]
    if names:
        yield f"largest messages: {', '.join(names)}"


def _mark(row: Row) -> str:
    """The mark of the numbers of a transcript; parts have that of the total."""
    return MARKS[row.count.exactness]


def _line(line: int | None, row: Row) -> str:
    """The line of a message, unless the whole transcript is on one line."""
    return "" if line is None or line == row.line else f", line {line}"


def _shares(tokens: Mapping[str, int], total: int, mark: str) -> str:
    """The tokens of names with their marks and shares, the largest first."""
    largest: Sequence[tuple[str, int]] = sorted(tokens.items(), key=lambda item: -item[1])
    return ", ".join(
        f"{name} {mark}{number:,} ({number / max(total, 1):.0%})"
        for name, number in largest[:_SHARES]
        if number
    )
