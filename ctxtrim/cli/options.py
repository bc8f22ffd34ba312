"""The options of all commands, declared once, and the command made of them.

Options that belong to a stage are not declared here: they are the stage's settings.
"""

from collections.abc import Sequence
from inspect import Parameter, Signature
from typing import Annotated, Any, Literal

import typer

from ctxtrim.formats import FORMATS
from ctxtrim.reports import REPORTS
from ctxtrim.specs import spelled
from ctxtrim.stage import settings_of
from ctxtrim.stages import STAGES

Option = tuple[str, Any, Any, str]  # name, type, default, help

COMMON: tuple[Option, ...] = (
    ("format", str, None, f"Dialect of the input: auto, {', '.join(FORMATS)}. [default: auto]"),
    ("model", str, None, "Which window, limits and tokenizer. [default: the last one the transcript records]"),
    ("context_window", int, None, "What the model can hold, in tokens. [default: the model's, else 128000]"),
    ("reserve", int, None, "Tokens kept free for the answer. [default: 4096]"),
    ("budget", int, None, "Tokens the prompt may fill. [default: window - reserve, at most the model's max input]"),
    ("tokenizer", str, None, "A tokenizer by name. [default: by model, else o200k_base as an estimate]"),
    ("safety", float, 1.0, "Factor on estimated counts, at least 1."),
    ("report", str, None, "Write the token report to this path; - is standard output."),
    ("report_format", str, None, f"{', '.join(REPORTS)}. [default: by the path's ending, else text]"),
    ("json", bool, False, "The JSON report on standard output."),
    ("explain", bool, False, "One row a message: role, step, age, tokens, decision, reason."),
    ("quiet", bool, False, "Say nothing on standard error but errors."),
    ("progress", bool, True, "A progress bar on standard error, where that is a terminal."),
    ("color", Literal["auto", "always", "never"], "auto", "Colours; NO_COLOR is honoured."),
)

WRITING: tuple[Option, ...] = (
    ("output", str, None, "Write to this file, or into this folder where there are several inputs."),
    ("in_place", bool, False, "Write each file back where it came from, if it changed."),
    ("on_overflow", Literal["fail", "keep"], "fail", "What to do with a transcript that cannot be made to fit."),
    ("dry_run", bool, False, "Report only, write nothing."),
)

_FLAGS = {"output": ("-o", "--output"), "progress": ("--progress/--no-progress",)}
_SWITCHES = ("json", "explain", "quiet", "in_place", "dry_run")


def command(name: str, text: str, stages: Sequence[str], writes: bool) -> Any:
    """A command that runs some stages; without any, `-s` names them. `writes`: the transcript is its output."""

    def body(**values: Any) -> None:
        from ctxtrim.cli.work import work

        raise typer.Exit(work(tuple(stages) or None, writes, values))

    parameters = [_files()]
    if not stages:
        parameters.append(_stages())
    parameters += [_option(*option) for option in COMMON]
    parameters += [_option(*option) for option in WRITING if writes]
    parameters += _settings(stages or tuple(STAGES))
    body.__doc__ = text
    body.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    single = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
    single.command(name)(body)
    return typer.main.get_command(single)


def _files() -> Parameter:
    argument = typer.Argument(metavar="[FILE]...", help="Files or folders; - is standard input.")
    return _parameter("files", list[str] | None, argument)


def _stages() -> Parameter:
    text = "A stage: name, name:key=value,key=value or name:{JSON object}. Stages run in the order given."
    return _parameter("stage", list[str] | None, typer.Option("-s", "--stage", metavar="STAGE", help=text))


def _parameter(name: str, kind: Any, declared: Any, default: Any = None) -> Parameter:
    # Annotated is made by a call: its arguments are values here, which a type checker cannot follow
    annotation = Annotated.__class_getitem__((kind, declared))  # type: ignore[attr-defined]
    return Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def _option(name: str, kind: Any, default: Any, text: str) -> Parameter:
    flags = _FLAGS.get(name) or (f"--{spelled(name)}",)
    option = typer.Option(*flags, help=text, show_default=default is not None and name not in _SWITCHES)
    return _parameter(name, kind if default is not None else kind | None, option, default)


def _settings(stages: Sequence[str]) -> list[Parameter]:
    """The settings of some stages as options; those that two stages share are one option."""
    found: dict[str, Parameter] = {}
    for stage in stages:
        for field in settings_of(STAGES[stage]):
            flag = f"--{spelled(field.name)}"
            default = str(field.default).lower() if isinstance(field.default, bool) else str(field.default)
            option = typer.Option(
                f"{flag}/--no-{spelled(field.name)}" if isinstance(field.default, bool) else flag,
                help=f"{field.metadata['help']} [default: {default}]",
            )
            found[field.name] = _parameter(field.name, type(field.default) | None, option)
    return list(found.values())
