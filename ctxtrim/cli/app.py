"""The group of commands.

A command's module is imported when the command runs or its help is shown.
"""

from contextlib import suppress
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from ctxtrim import __version__
from ctxtrim.cli.typer_commands import AsGiven, group
from ctxtrim.text.escaping import clean

COMMANDS = {
    "count": "Count tokens and show where they are.",
    "truncate": "Shorten tool results that are too old or too long.",
    "trim": "Drop the least important messages until the transcript fits the budget.",
    "summarize": "Replace old messages by one summary.",
    "convert": "Convert transcripts to requests for another provider.",
    "check": "Check that transcripts fit the budget and that every call has its result.",
    "run": "Run several stages in one pass.",
    "trace": "Get, list or verify original tool results in an archive.",
    "restore": "Restore the input of a run, byte for byte, from its output.",
    "sessions": "List the sessions of agent programs on this machine.",
    "archive": "List or remove the runs that can be undone.",
    "models": "Show the window, limits and tokenizer of a model.",
    "config": "Show every setting and its origin.",
    "rolling-context": "Turn the automatic pipeline of run on or off.",
}


class LazyGroup(AsGiven, TyperGroup):
    """A group that loads a command when it is used."""

    def list_commands(self, ctx: Any) -> list[str]:
        """The names in the order of the help text."""
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command with a name, None for an unknown name."""
        if cmd_name not in COMMANDS:
            return None
        return import_module(f"ctxtrim.cli.commands.{cmd_name.replace('-', '_')}").COMMAND

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the list of commands without loading them."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


_USAGE_ERROR: Any = typer.BadParameter.__base__
"""The base class of wrong usage, which Typer does not export by name."""

app = group(cls=LazyGroup)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"ctxtrim {__version__}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool,
        typer.Option(
            "--version", help="Show the version and exit.", callback=_version, is_eager=True
        ),
    ] = False,
) -> None:
    """Count, truncate, trim and check recorded LLM conversations.

    Every command is a filter: without FILE, or with -, it reads standard input.

    Exit codes: 0 success, 1 incomplete result, 2 wrong usage, 3 overflow, 4 invalid structure
    (check).
    """


def command_line() -> int:
    """Parse the command line, run the command and return its exit code."""
    try:
        return app(prog_name="ctxtrim", standalone_mode=False) or 0
    except _USAGE_ERROR as error:
        error.message = clean(error.message)  # it quotes user input
        with suppress(OSError):  # standard error may be closed
            error.show()
        return int(error.exit_code)
