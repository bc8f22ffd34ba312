"""The types of commands, groups, options and arguments: click's, with the help pages of ctxtrim.

Values are texts and flags, passed on as given; the configuration checks them.
"""

import os
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import click

from ctxtrim.cli.exit_codes import exit_code_of
from ctxtrim.cli.messages import is_terminal
from ctxtrim.config.run_settings import OPTIONS
from ctxtrim.errors import UsageError
from ctxtrim.text.escaping import clean
from ctxtrim.text.names import suggestion
from ctxtrim.version import __version__

PROGRAM, COMPLETE = "ctxtrim", "_CTXTRIM_COMPLETE"
"""The name of the program, and the variable with which the script of a shell requests words."""


def _given_once(
    ctx: click.Context, parameter: click.Parameter, values: Sequence[str]
) -> str | None:
    """The value of an option, None without one. Raises `UsageError` for several values."""
    if len(values) > 1 and not ctx.resilient_parsing:
        raise UsageError(f"{parameter.opts[-1]} is given twice; give it once, or run twice")
    return values[-1] if values else None


class HelpfulOption(click.Option):
    """An option with the heading of its panel in help texts.

    An option for a path (`PATH`) is given once: click would ignore all paths but the last.
    """

    def __init__(self, names: Sequence[str], *, panel: str = "", **settings: Any) -> None:
        if settings.get("metavar") == "PATH":
            settings |= {"multiple": True, "callback": _given_once}
        super().__init__(names, **settings)
        self.panel = panel


class HelpfulArgument(click.Argument):
    """An argument with a help text and the heading of its panel."""

    def __init__(
        self, name: str, metavar: str, text: str, *, panel: str = "", **settings: Any
    ) -> None:
        super().__init__([name], metavar=metavar, **settings)
        self.panel = panel
        self.help = text

    def get_usage_pieces(self, ctx: click.Context) -> list[str]:
        """The argument in the usage line: `{ID}`, or `[FILE]...` if it may be missing."""
        name = f"{{{self.metavar}}}" if self.required else f"[{self.metavar}]"
        return [name if self.nargs == 1 else f"{name}..."]


class HelpfulCommand(click.Command):
    """A command with a short help page, `--debug` and `--version`.

    Its function takes the values of the parameters and returns the exit code; its docstring is the
    help text if there is no other.
    """

    def __init__(
        self,
        name: str,
        function: Callable[..., int],
        parameters: Sequence[click.Parameter] = (),
        text: str | None = None,
    ) -> None:
        takes_debug = any(parameter.name == _DEBUG.name for parameter in parameters)

        def callback(debug: bool, **values: Any) -> int:
            if takes_debug:
                values["debug"] = debug
            return exit_code_of(lambda: function(**values), shows_traceback=debug)

        super().__init__(
            name,
            callback=callback,
            params=[*parameters, *([] if takes_debug else [_DEBUG]), VERSION],
            help=text or function.__doc__,
        )

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the short page of the command."""
        write_help(self, ctx, formatter)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command. Without FILE, and with a terminal as input, show the help instead."""
        is_unnamed = not ctx.params.get("files", True)
        if is_unnamed and not ctx.params.get("latest") and is_terminal(sys.stdin):
            click.echo(ctx.get_help(), err=True)
            raise UsageError(
                f"{ctx.info_name} needs FILE or a pipe: standard input is a terminal; "
                "name a file, or - to read the terminal"
            )
        return super().invoke(ctx)


class HelpfulGroup(click.Group):
    """A group of commands with a short help page, and suggestions for unknown commands."""

    def __init__(self, text: str, commands: Sequence[click.Command] = (), **settings: Any) -> None:
        super().__init__(
            commands=commands,
            help=text,
            no_args_is_help=False,
            subcommand_metavar="COMMAND [ARGS]...",
            **settings,
        )

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names in the order of declaration."""
        return list(self.commands)

    def descriptions(self, ctx: click.Context) -> Iterable[tuple[str, str]]:
        """The names of the commands and what they do."""
        for name, command in self.commands.items():
            yield name, " ".join((command.help or "").partition("\n\n")[0].split())

    def format_help(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the short page of the group."""
        write_help(self, ctx, formatter)

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        """The command that the arguments name.

        Raises `UsageError` with the nearest name for an unknown command.
        """
        if not ctx.resilient_parsing and self.get_command(ctx, args[0]) is None:
            names = self.list_commands(ctx)
            if ctx.parent is None and Path(args[0]).exists():
                raise UsageError(
                    f"{clean(args[0])} is not a command; name one before the file, as in "
                    f"`{ctx.command_path} {names[0]} {clean(args[0])}`"
                )
            options = [flag for option in self.get_params(ctx) for flag in option.opts]
            flags = {flag[2:]: flag for flag in options if flag.startswith("--")}
            near = suggestion(args[0], (*flags, *names), lambda name: flags.get(name, name))
            raise UsageError(
                f"unknown command {clean(args[0])}{near}; expected one of {', '.join(names)}"
            )
        return super().resolve_command(ctx, args)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> Any:
        """The commands and options that begin with a text, without loading the commands."""
        from click.shell_completion import CompletionItem

        options = click.Command.shell_complete(self, ctx, incomplete)
        commands = [
            CompletionItem(name, help=text)
            for name, text in self.descriptions(ctx)
            if name.startswith(incomplete)
        ]
        return [*commands, *options]


def write_help(command: Any, ctx: click.Context, formatter: click.HelpFormatter) -> None:
    """Write the short page of a command."""
    from ctxtrim.cli.help_pages import command_page, short_text  # only help needs it

    page = command_page(command, ctx)
    formatter.write(short_text(page, formatter.width, is_bold=has_bold()))


def has_bold() -> bool:
    """Whether headings on standard output are bold."""
    is_plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    return is_terminal(sys.stdout) and not is_plain


def file_names(ctx: click.Context, parameter: click.Parameter, incomplete: str) -> Any:
    """The completion of a value that names a file: the shell lists the files."""
    from click.shell_completion import CompletionItem  # only a shell requests words

    return [CompletionItem(incomplete, type="file")]


def _show_version(ctx: click.Context, parameter: click.Parameter, is_wanted: bool) -> None:
    if is_wanted and not ctx.resilient_parsing:
        click.echo(f"ctxtrim {__version__}")
        ctx.exit()


_DEBUG = HelpfulOption(
    ["--debug"], is_flag=True, help=OPTIONS["debug"].help, panel=OPTIONS["debug"].panel
)
VERSION = HelpfulOption(
    ["-V", "--version"],
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_show_version,
    help="Show the version and exit.",
)
"""The option `--version`."""
JSON = HelpfulOption(["is_json", "--json"], is_flag=True, help="Print JSON.")
"""The option of a command that prints a table, or the same as JSON."""
