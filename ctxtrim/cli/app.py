"""The group of commands. A command's module is imported when the command is run or its help is asked for."""

from contextlib import suppress
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from ctxtrim import __version__
from ctxtrim.text.escaping import clean

COMMANDS = {
    "count": "How many tokens, and where they sit.",
    "truncate": "Shorten tool results that are too old or too long.",
    "trim": "Let go of the least important until the budget is met.",
    "summarize": "Put one summary in the place of all that is old.",
    "check": "Does it fit, and does every call have its result?",
    "run": "Several stages in one pass.",
    "trace": "Originals of tool results from an archive: get, list, verify.",
    "restore": "The input of a run back, byte for byte, from its output and an archive.",
    "models": "What is known of a model: window, limits, tokenizer.",
    "config": "The settings in force, and where each came from: show.",
    "rolling-context": "Turn the automatic pipeline of run on or off.",
}


class Lazy(TyperGroup):
    """Knows its commands by name and loads them when they are wanted."""

    def list_commands(self, ctx: Any) -> list[str]:
        """The names, in the order in which they are told."""
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command of a name, None where there is none."""
        if cmd_name not in COMMANDS:
            return None
        return import_module(f"ctxtrim.cli.commands.{cmd_name.replace('-', '_')}").COMMAND

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """The list in the help text, without loading any of them."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


_USAGE_ERROR: Any = typer.BadParameter.__base__
"""The base class of wrong usage, which Typer does not export by name."""

app = typer.Typer(
    cls=Lazy,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"max_content_width": 120},
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"ctxtrim {__version__}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool, typer.Option("--version", help="Show the version and exit.", callback=_version, is_eager=True)
    ] = False,
) -> None:
    """Count, truncate, trim and check recorded LLM conversations.

    Every command is a filter: without FILE, or with -, it reads standard input.

    Exit codes: 0 done, 1 no complete answer, 2 wrong usage, 3 overflow, 4 structure broken (check).
    """


def command_line() -> int:
    """Parse the command line, run the command and return its exit code."""
    try:
        return app(prog_name="ctxtrim", standalone_mode=False) or 0
    except _USAGE_ERROR as error:
        error.message = clean(error.message)  # quotes what the user typed
        with suppress(OSError):  # standard error cannot be written
            error.show()
        return int(error.exit_code)
