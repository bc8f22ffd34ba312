"""The options of the commands, and the function that builds a command from them.

The options of a stage are made from the settings of the stage.
"""

import os
from collections.abc import Sequence
from inspect import Parameter, Signature
from typing import Annotated, Any

import typer

from ctxtrim.cli.typer_commands import COMPLETE, single_command
from ctxtrim.config.option import Option
from ctxtrim.config.output_options import REPORT_NAMES
from ctxtrim.config.run_settings import IN_STAGES, OPTIONS, SECTIONS
from ctxtrim.config.stage_specs import SETTINGS
from ctxtrim.reports import REPORTS
from ctxtrim.stage import seams_of
from ctxtrim.stages import STAGES
from ctxtrim.text.names import option_name


def command(
    name: str,
    text: str,
    stages: Sequence[str] | None,
    writes: bool,
    fixing: Sequence[str] = (),
    first: Sequence[str] = (),
    output: Sequence[str] = ("target", "output", "editing", "archive", "events"),
) -> Any:
    """A command that runs some stages. If `stages` is None, the user names them with `-s`.

    `writes`: the transcript is the output of the command. `fixing`: the stages that `--fix` runs
    first; with it, the command writes transcripts too. `first`: sections of options before
    those of the input; `output`: those of a command that writes.
    """

    def body(**values: Any) -> int:
        from ctxtrim.cli.runner import run_command

        if not values.get("fix"):
            return run_command(stages, writes, values)
        in_place = values["latest"] or values["files"] not in (None, ["-"])
        values |= {"in_place": in_place, "thinking": "keep"}
        return run_command((*fixing, *(stages or ())), True, values)

    names = tuple(STAGES) if stages is None else (*stages, *fixing)
    sections = [*first, "preset", "input", "scanning", "budget", "reporting"]
    if writes:
        sections += output
    if any("summarizer" in seams_of(STAGES[name]) for name in names):
        sections.append("summarizing")
    if fixing:
        sections += ["fixing", "archive"]
    options = [option for section in sections for option in SECTIONS[section]]
    parameters = [_files()]
    if stages is None:
        parameters += [_stages(), _parameter_of(OPTIONS["enabled"])]
    parameters += [_parameter_of(option) for option in options]
    # a setting that several stages have is one option
    settings = {name: option for stage in names for name, option in SETTINGS[stage].items()}
    panel = IN_STAGES if stages is None else ""
    parameters += [_parameter_of(option, panel) for option in settings.values()]
    body.__doc__ = text
    body.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    return single_command(name, body)


def _files() -> Parameter:
    return _parameter(
        "files",
        list[str] | None,
        typer.Argument(
            metavar="FILE",
            help="Files or folders to read; - is standard input.",
            rich_help_panel="Input",
        ),
    )


def _stages() -> Parameter:
    text = (
        "Run a stage: name, name:key=value,key=value or name:{JSON object}. Stages run in the "
        "order given."
    )
    return _parameter(
        "stage",
        list[str] | None,
        typer.Option(
            "-s",
            "--stage",
            metavar="STAGE",
            help=text,
            rich_help_panel=OPTIONS["enabled"].panel,
            autocompletion=_completion(None),
        ),
    )


def _completion(option: Option | None) -> Any:
    """The words of an option, or of `-s`, if a shell requests them."""
    if COMPLETE not in os.environ:
        return None
    from ctxtrim.cli.completion import completed, completed_stages

    return completed_stages if option is None else completed(option)


def _parameter(name: str, kind: Any, declared: Any, default: Any = None) -> Parameter:
    form: Any = Annotated  # type checkers accept no values as its arguments
    annotation = form[kind, declared]
    return Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def _parameter_of(option: Option, panel: str = "") -> Parameter:
    """The parameter of an option, in its panel of the help text or in another one.

    Values are strings, so that the configuration checks them and words the errors. The default is
    None for options that configuration can set too.
    """
    flag = f"--{option_name(option.name)}"
    text = option.help.replace(REPORT_NAMES, ", ".join(REPORTS))
    panel = panel or option.panel
    flags = [option.short, flag] if option.short else [flag]
    if isinstance(option.default, bool):
        flags[-1] += f"/--no-{option_name(option.name)}" if option.is_setting else ""
        default = None if option.is_setting else False
        declared = typer.Option(*flags, help=text, show_default=False, rich_help_panel=panel)
        return _parameter(option.name, bool | None, declared, default)
    declared = typer.Option(
        *flags,
        metavar=option.shown_metavar,
        help=text,
        rich_help_panel=panel,
        autocompletion=_completion(option),
    )
    kind = list[str] if isinstance(option.default, tuple) else str
    return _parameter(option.name, kind | None, declared)
