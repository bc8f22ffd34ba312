"""`ctxtrim help`."""

from collections.abc import Sequence
from typing import Any

import click

from ctxtrim.cli.app import app
from ctxtrim.cli.command_types import (
    PROGRAM,
    HelpfulArgument,
    HelpfulCommand,
    has_bold,
)
from ctxtrim.cli.help_pages import command_page, full_text, stage_page
from ctxtrim.cli.messages import print_text
from ctxtrim.errors import UsageError
from ctxtrim.stages import STAGES
from ctxtrim.text.escaping import clean
from ctxtrim.text.names import suggestion


def explain(names: Sequence[str]) -> int:
    """Explain a command with all of its options, or a stage with all of its settings."""
    context = app.make_context(PROGRAM, [], resilient_parsing=True)
    page = None
    command: Any = app
    for position, word in enumerate(names):
        child = command.get_command(context, word) if isinstance(command, click.Group) else None
        if child is None:
            if word not in STAGES or position:
                raise UsageError(_unknown(word, command, context, position))
            page = stage_page(word)
            break
        command = child
        context = click.Context(child, info_name=word, parent=context)
    page = page or command_page(command, context)
    is_bold = has_bold()
    text = full_text(page, _width(context), is_bold=is_bold)
    if is_bold:
        click.echo(text, nl=False)
    else:
        print_text(text)
    return 0


def _width(context: Any) -> int:
    return int(context.make_formatter().width)


def _unknown(word: str, command: Any, context: Any, position: int) -> str:
    names = command.list_commands(context) if isinstance(command, click.Group) else []
    known = [*names, *([] if position else STAGES)]
    near = suggestion(word, known)
    expected = f"; expected one of {', '.join(dict.fromkeys(known))}" if known else ""
    return f"help {clean(word)}: unknown command or stage{near}{expected}"


COMMAND = HelpfulCommand(
    "help",
    explain,
    [
        HelpfulArgument(
            "names", "COMMAND|STAGE", "A command, as in trace get, or a stage.", nargs=-1
        )
    ],
)
