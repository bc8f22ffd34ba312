"""The group of commands.

A command's module is imported when the command runs or its help is shown.
"""

from collections.abc import Iterable
from importlib import import_module
from typing import Any

import click

from ctxtrim.cli.command_types import COMPLETE, PROGRAM, VERSION, HelpfulGroup, HelpfulOption
from ctxtrim.cli.commands import COMMANDS, STAGE_COMMANDS
from ctxtrim.cli.messages import print_error
from ctxtrim.errors import OutputError, reason
from ctxtrim.loading import lazy_function
from ctxtrim.text.escaping import clean
from ctxtrim.text.names import snake_case, suggestion


class LazyGroup(HelpfulGroup):
    """A group that loads a command when it is used."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names in the order of the help text."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> Any:
        """The command with a name, None for an unknown name."""
        if cmd_name not in COMMANDS:
            return None
        if cmd_name in STAGE_COMMANDS:
            from ctxtrim.cli.stage_commands import stage_command  # loads all settings

            return stage_command(cmd_name)
        return import_module(f"ctxtrim.cli.commands.{cmd_name.replace('-', '_')}").COMMAND

    def descriptions(self, ctx: click.Context) -> Iterable[tuple[str, str]]:
        """The names of the commands and what they do, without loading them."""
        return COMMANDS.items()


@click.pass_context
def _show_help(ctx: click.Context) -> None:
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


def _completion_option(name: str, text: str, function: str) -> click.Option:
    """An option with the name of a shell, empty for the shell of the user.

    It prints the result of a function of `ctxtrim.cli.completion`.
    """
    answer = lazy_function(f"ctxtrim.cli.completion:{function}")

    def callback(ctx: click.Context, parameter: click.Parameter, shell: str | None) -> None:
        if shell is not None and not ctx.resilient_parsing:
            click.echo(answer(ctx.command, shell))
            ctx.exit()

    return HelpfulOption(
        [name],
        metavar="[SHELL]",
        help=text,
        callback=callback,
        is_eager=True,
        expose_value=False,
        is_flag=False,
        flag_value="",
    )


app = LazyGroup(
    """Count, truncate, trim and check recorded LLM conversations.

    Commands that read transcripts are filters: without FILE, or with -, they read standard input.

    Exit codes: 0 success, 1 incomplete result, 2 wrong usage, 3 overflow, 4 invalid structure
    (check).
    """,
    context_settings={"max_content_width": 120, "help_option_names": ["-h", "--help"]},
    invoke_without_command=True,
    callback=_show_help,
    params=[
        VERSION,
        _completion_option(
            "--install-completion",
            "Install completion for the shell: bash, zsh or fish.",
            "install",
        ),
        _completion_option(
            "--show-completion", "Print the completion script of the shell.", "script"
        ),
    ],
)


def command_line() -> int:
    """Parse the command line, run the command and return its exit code."""
    try:
        return app(prog_name=PROGRAM, complete_var=COMPLETE, standalone_mode=False) or 0
    except click.UsageError as error:
        print_error(f"ctxtrim: {_in_one_line(error)}")
        return error.exit_code
    except click.Abort:  # an interrupt before the command runs
        return 130
    except BrokenPipeError:
        raise
    except OSError as error:  # of a page that is printed instead of a command
        if error.filename is not None:
            raise
        raise OutputError(f"standard output cannot be written: {reason(error)}") from error


def _in_one_line(error: click.UsageError) -> str:
    """The message of wrong usage, with the nearest option or the command that has help."""
    context = error.ctx
    if isinstance(error, click.NoSuchOption) and context is not None:
        text = f"unknown option {error.option_name}{_near(error.option_name, context)}"
    else:
        message = error.format_message().rstrip(".")
        text = message[:1].lower() + message[1:]
    return clean(text) + (f"; see {context.command_path} --help" if context else "")


def _near(option: str, context: click.Context) -> str:
    """The stages that have an option that the command has not, else the nearest of its options."""
    from ctxtrim.config.stage_specs import SETTINGS  # only errors need it

    name = option.lstrip("-")
    setting = snake_case(name.removeprefix("no-"))
    stages = [stage for stage, settings in SETTINGS.items() if setting in settings]
    if stages:
        return f": it is a setting of {' and '.join(stages)}"
    flags = {
        flag.lstrip("-"): flag
        for parameter in context.command.get_params(context)
        for flag in (*parameter.opts, *parameter.secondary_opts)
        if flag.startswith("-")
    }
    return suggestion(name, flags, flags.__getitem__)
