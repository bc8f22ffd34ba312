"""The group of commands.

A command's module is imported when the command runs or its help is shown.
"""

import os
from collections.abc import Iterable
from importlib import import_module
from typing import Annotated, Any

import typer

from ctxtrim.cli.messages import print_error
from ctxtrim.cli.typer_commands import COMPLETE, PROGRAM, VERSION, HelpfulGroup, group
from ctxtrim.text.escaping import clean
from ctxtrim.text.names import suggestion

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
    "config": "Show every setting and its origin, or write a configuration file.",
    "rolling-context": "Turn the automatic pipeline of run on or off.",
    "help": "Explain a command or stage with all of its options.",
}


INSTALL, SHOW = "--install-completion", "--show-completion"


class LazyGroup(HelpfulGroup):
    """A group that loads a command when it is used."""

    def list_commands(self, ctx: Any) -> list[str]:
        """The names in the order of the help text."""
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command with a name, None for an unknown name."""
        if cmd_name not in COMMANDS:
            return None
        return import_module(f"ctxtrim.cli.commands.{cmd_name.replace('-', '_')}").COMMAND

    def descriptions(self, ctx: Any) -> Iterable[tuple[str, str]]:
        """The names of the commands and what they do, without loading them."""
        return COMMANDS.items()

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the arguments. The shell after the options for completion may be missing."""
        if args in ([INSTALL], [SHOW]):
            args = [*args, ""]
        return super().parse_args(ctx, args)


_USAGE_ERROR: Any = typer.BadParameter.__base__
"""The base class of wrong usage, which Typer does not export by name."""

app = group(cls=LazyGroup, invoke_without_command=True)


def _install(shell: str | None) -> None:
    if shell is not None:
        from ctxtrim.cli.completion import install

        typer.echo(install(shell))
        raise typer.Exit


def _show(shell: str | None) -> None:
    if shell is not None:
        from ctxtrim.cli.completion import script

        typer.echo(script(shell))
        raise typer.Exit


_INSTALLS: Any = Annotated[
    str | None,
    typer.Option(
        INSTALL,
        metavar="[SHELL]",
        help="Install completion for the shell: bash, zsh or fish.",
        callback=_install,
        is_eager=True,
    ),
]
_SHOWS: Any = Annotated[
    str | None,
    typer.Option(
        SHOW,
        metavar="[SHELL]",
        help="Print the completion script of the shell.",
        callback=_show,
        is_eager=True,
    ),
]


@app.callback()
def main(
    ctx: typer.Context,
    version: VERSION = False,
    install_completion: _INSTALLS = None,
    show_completion: _SHOWS = None,
) -> None:
    """Count, truncate, trim and check recorded LLM conversations.

    Every command is a filter: without FILE, or with -, it reads standard input.

    Exit codes: 0 success, 1 incomplete result, 2 wrong usage, 3 overflow, 4 invalid structure
    (check).
    """
    if ctx.invoked_subcommand is None:
        typer.echo(ctx.get_help())


def command_line() -> int:
    """Parse the command line, run the command and return its exit code."""
    if os.environ.get(COMPLETE):
        import_module("typer.completion").completion_init()  # only a shell needs it
    try:
        return app(prog_name=PROGRAM, standalone_mode=False) or 0
    except _USAGE_ERROR as error:
        print_error(f"ctxtrim: {_in_one_line(error)}")
        return int(error.exit_code)


def _in_one_line(error: Any) -> str:
    """The message of wrong usage, with the nearest option or the command that has help."""
    name, context = getattr(error, "option_name", None), error.ctx
    if hasattr(error, "possibilities") and name and context is not None:
        known = [
            flag
            for parameter in context.command.get_params(context)
            for flag in (*parameter.opts, *parameter.secondary_opts)
            if flag.startswith("-")
        ]
        text = f"unknown option {name}{suggestion(name, {flag: flag for flag in known})}"
    else:
        message = error.format_message().rstrip(".")
        text = message[:1].lower() + message[1:]
    return clean(text) + (f"; see {context.command_path} --help" if context else "")
