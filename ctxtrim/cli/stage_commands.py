"""The commands that run stages, each built from its options.

The options of a stage are made from the settings of the stage.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import click
from msgspec.structs import replace

from ctxtrim.cli.command_types import HelpfulArgument, HelpfulCommand, HelpfulOption, file_names
from ctxtrim.cli.commands import COMMANDS, STAGE_COMMANDS
from ctxtrim.config.option import Option, Values
from ctxtrim.config.output_options import REPORT_NAMES
from ctxtrim.config.run_settings import IN_STAGES, OPTIONS, SECTIONS
from ctxtrim.config.stage_specs import SETTINGS
from ctxtrim.errors import STDOUT, UsageError
from ctxtrim.reports import REPORTS
from ctxtrim.stages import STAGES
from ctxtrim.text.names import option_name

_FILES = ("FILE", "DIR", "PATH")  # metavars of values that name files
_EVERYWHERE = ("preset", "input", "scanning", "budget", "reporting")  # sections of all commands


def stage_command(name: str) -> HelpfulCommand:
    """A command that runs stages, with its options."""
    row = STAGE_COMMANDS[name]
    names = tuple(STAGES) if row.stages is None else (*row.stages, *row.fixing)
    sections = [*row.first, *_EVERYWHERE, *(row.output if row.writes else ())]
    if any("summarizer" in STAGES[name].run_fields() for name in names):
        sections.append("summarizing")
    if row.fixing:
        sections += ["fixing", "archive"]
    options = [option for section in sections for option in SECTIONS[section]]
    parameters: list[click.Parameter] = [_files()]
    if row.stages is None:
        parameters += [_stages(), _parameter_of(OPTIONS["enabled"])]
    parameters += [_parameter_of(option) for option in options]
    panel = IN_STAGES if row.stages is None else ""
    parameters += [_parameter_of(option, panel) for option in _settings(names, row.fixing)]

    def body(**values: Any) -> int:
        from ctxtrim.cli.runner import run_command

        _refuse_paths(options, values)
        values = dict.fromkeys(OPTIONS) | values
        if not values["fix"]:
            _refuse_without_fix(row.fixing, values)
            return run_command(row, values)
        in_place = values["latest"] or values["files"] not in ((), ("-",))
        return run_command(row.with_fix, values | {"in_place": in_place, "thinking": "keep"})

    return HelpfulCommand(name, body, parameters, row.text or COMMANDS[name])


def _settings(names: Sequence[str], fixing: Sequence[str]) -> Iterable[Option]:
    """The options of stages. A setting that several stages have is one option."""
    settings = {name: option for stage in names for name, option in SETTINGS[stage].items()}
    for stage in fixing:
        settings |= {name: _with_fix(option) for name, option in SETTINGS[stage].items()}
    return settings.values()


def _with_fix(option: Option) -> Option:
    """The option of a stage that only `--fix` runs, next to `--fix` in the help text."""
    text = f"With --fix, {option.help[:1].lower()}{option.help[1:]}"
    return replace(option, help=text, panel=OPTIONS["fix"].panel)


def _refuse_paths(options: Sequence[Option], values: Values) -> None:
    """Raise `UsageError` for an empty path, as a shell gives for a variable that is not set, and
    for `-` where it would be the name of a file.
    """
    if "" in values["files"]:
        raise UsageError("FILE is empty; name a file, a folder, or - for standard input")
    for option in options:
        if option.metavar in _FILES and values[option.name] == "":
            name = f"--{option_name(option.name)}"
            raise UsageError(f"{name} is empty; name a path, or leave out {name}")
        if option.metavar in ("FILE", "DIR") and values[option.name] == STDOUT:
            raise UsageError(
                f"--{option_name(option.name)} -: expected a path; only FILE, -o and --report may "
                "be standard input or output"
            )


def _refuse_without_fix(fixing: Sequence[str], values: Values) -> None:
    """Raise `UsageError` for an option of `--fix`, which runs the stages `fixing`."""
    settings = [name for stage in fixing for name in SETTINGS[stage]]
    names = ["archive", "no_archive", *settings] if fixing else []
    for name in names:
        if values[name] not in (None, False, ()):
            raise UsageError(f"--{option_name(name)} needs --fix; check edits nothing without it")


def _files() -> HelpfulArgument:
    return HelpfulArgument(
        "files",
        "FILE",
        "Files or folders to read; - is standard input.",
        panel="Input",
        nargs=-1,
        shell_complete=file_names,
    )


def _stages() -> HelpfulOption:
    def complete(ctx: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
        from ctxtrim.cli.completion import completed_stages  # only a shell requests words

        return completed_stages(incomplete)

    text = (
        "Run a stage: name, name:key=value,key=value or name:{JSON object}. Stages run in the "
        "order given."
    )
    return HelpfulOption(
        ["-s", "--stage"],
        metavar="STAGE",
        help=text,
        panel=OPTIONS["enabled"].panel,
        multiple=True,
        shell_complete=complete,
    )


def _parameter_of(option: Option, panel: str = "") -> HelpfulOption:
    """The parameter of an option, in its panel of the help text or in another one.

    Values are texts, so that the configuration checks them and words the errors. The default is
    None for options that configuration can set too.
    """
    flag = f"--{option_name(option.name)}"
    text = option.help.replace(REPORT_NAMES, ", ".join(REPORTS))
    panel = panel or option.panel
    names = [option.name, *([option.short] if option.short else []), flag]
    if isinstance(option.default, bool):
        names[-1] += f"/--no-{option_name(option.name)}" if option.is_setting else ""
        default = None if option.is_setting else False
        return HelpfulOption(names, help=text, panel=panel, is_flag=True, default=default)
    return HelpfulOption(
        names,
        metavar=option.shown_metavar,
        help=text,
        panel=panel,
        multiple=isinstance(option.default, tuple),
        shell_complete=_completion(option),
    )


def _completion(option: Option) -> Any:
    """The function for the words of an option, if a shell requests them."""
    if option.shown_metavar in _FILES:
        return file_names

    def complete(ctx: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
        from ctxtrim.cli.completion import completed  # only a shell requests words

        return completed(option, incomplete)

    return complete
