"""Commands for Typer, from functions that return an exit code."""

import os
import sys
from collections.abc import Callable, Iterable
from functools import partial
from inspect import Parameter, Signature, signature
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from ctxtrim.cli.exit_codes import exit_code_of
from ctxtrim.config.run_settings import OPTIONS
from ctxtrim.errors import UsageError
from ctxtrim.text.escaping import clean
from ctxtrim.text.names import suggestion
from ctxtrim.version import __version__

CONTEXT = {"max_content_width": 120, "help_option_names": ["-h", "--help"]}
"""The settings of commands: the most columns of a help text, and the names of the help option."""
PROGRAM, COMPLETE = "ctxtrim", "_CTXTRIM_COMPLETE"
"""The name of the program, and the variable with which the script of a shell requests words."""


class AsGiven:
    """A command whose values are texts and flags, passed on as given.

    The configuration checks them. Typer would load pydantic for that, which takes longer than the
    check of a small file.
    """

    def get_params(self, ctx: Any) -> list[Any]:
        """The parameters, including `--help`."""
        parameters: list[Any] = super().get_params(ctx)  # type: ignore[misc]
        for parameter in parameters:
            if not parameter.required:  # Typer reports a value that is missing
                parameter.process_value = partial(_as_given, parameter)
        return parameters


def _as_given(parameter: Any, ctx: Any, value: Any) -> Any:
    """The value of a parameter; an empty tuple for a list without values."""
    if value is None and (parameter.multiple or parameter.nargs == -1):
        value = ()
    return value if parameter.callback is None else parameter.callback(ctx, parameter, value)


class HelpfulCommand(AsGiven, TyperCommand):
    """A command with a short help page, which reads files or a pipe, but no terminal."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the short page of the command."""
        write_help(self, ctx, formatter)

    def invoke(self, ctx: Any) -> Any:
        """Run the command. Without FILE, and with a terminal as input, show the help instead."""
        is_unnamed = ctx.params.get("files", True) in (None, [], ())
        if is_unnamed and not ctx.params.get("latest") and _is_terminal(sys.stdin):
            typer.echo(ctx.get_help(), err=True)
            raise UsageError(
                f"{ctx.info_name} needs FILE or a pipe: standard input is a terminal; "
                "name a file, or - to read the terminal"
            )
        return super().invoke(ctx)


class HelpfulGroup(AsGiven, TyperGroup):
    """A group of commands with a short help page, and suggestions for unknown commands."""

    def descriptions(self, ctx: Any) -> Iterable[tuple[str, str]]:
        """The names of the commands and what they do."""
        for name in self.list_commands(ctx):
            command = self.get_command(ctx, name)
            text = " ".join((command.help or "").partition("\n\n")[0].split()) if command else ""
            yield name, text

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the short page of the group."""
        write_help(self, ctx, formatter)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command that the arguments name.

        Raises `UsageError` with the nearest name for an unknown command.
        """
        if not ctx.resilient_parsing and self.get_command(ctx, args[0]) is None:
            names = self.list_commands(ctx)
            near = suggestion(args[0], {name: name for name in names})
            raise UsageError(
                f"unknown command {clean(args[0])}{near}; expected one of {', '.join(names)}"
            )
        return super().resolve_command(ctx, args)


def write_help(command: Any, ctx: Any, formatter: Any) -> None:
    """Write the short page of a command."""
    from ctxtrim.cli.help_pages import command_page, short_text  # only help needs it

    page = command_page(command, ctx)
    formatter.write(short_text(page, formatter.width, is_bold=has_bold()))


def has_bold() -> bool:
    """Whether headings on standard output are bold."""
    is_plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    return _is_terminal(sys.stdout) and not is_plain


def _is_terminal(stream: Any) -> bool:
    return stream is not None and not stream.closed and stream.isatty()


def group(**settings: Any) -> typer.Typer:
    """A group of commands, with some settings of Typer."""
    return typer.Typer(
        add_completion=False,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings=CONTEXT,
        **{"cls": HelpfulGroup} | settings,
    )


def single_command(name: str, function: Callable[..., int]) -> Any:
    """The command that runs a function; see `add_command`."""
    commands = group()
    add_command(commands, name, function)
    return typer.main.get_command(commands)


def add_command(commands: typer.Typer, name: str, function: Callable[..., int]) -> None:
    """Add the command that runs a function to a group, with the options `--debug` and `--version`.

    The parameters of the function are the options, its docstring is the help text.
    """
    parameters = [*signature(function, eval_str=True).parameters.values()]
    has_debug = any(parameter.name == _DEBUG.name for parameter in parameters)

    def body(**values: Any) -> None:
        values.pop(_VERSION.name)
        is_debug = values[_DEBUG.name] if has_debug else values.pop(_DEBUG.name)
        raise typer.Exit(exit_code_of(lambda: function(**values), shows_traceback=is_debug))

    body.__doc__ = function.__doc__
    all_parameters = [*parameters, *([] if has_debug else [_DEBUG]), _VERSION]
    body.__signature__ = Signature(all_parameters)  # type: ignore[attr-defined]
    commands.command(name, cls=HelpfulCommand, context_settings=CONTEXT)(body)


def show_version(wanted: bool) -> None:
    """Print the version and exit, if it is wanted."""
    if wanted:
        typer.echo(f"ctxtrim {__version__}")
        raise typer.Exit


_DEBUG = Parameter(
    "debug",
    Parameter.KEYWORD_ONLY,
    default=False,
    annotation=Annotated[
        bool, typer.Option("--debug", help=OPTIONS["debug"].help, rich_help_panel="Report")
    ],
)
VERSION: Any = Annotated[
    bool,
    typer.Option(
        "-V",
        "--version",
        help="Show the version and exit.",
        callback=show_version,
        is_eager=True,
    ),
]
"""The option `--version`."""
_VERSION = Parameter("version", Parameter.KEYWORD_ONLY, default=False, annotation=VERSION)
