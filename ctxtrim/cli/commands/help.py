"""`ctxtrim help`."""

from typing import Annotated, Any

import typer

from ctxtrim.cli.app import app
from ctxtrim.cli.help_pages import command_page, full_text, stage_page
from ctxtrim.cli.messages import print_text
from ctxtrim.cli.typer_commands import CONTEXT, has_bold, single_command
from ctxtrim.errors import UsageError
from ctxtrim.stages import STAGES
from ctxtrim.text.escaping import clean
from ctxtrim.text.names import suggestion


def explain(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="COMMAND|STAGE", help="A command, as in trace get, or a stage."),
    ] = None,
) -> int:
    """Explain a command with all of its options, or a stage with all of its settings."""
    words = names or []
    root: Any = typer.main.get_command(app)
    context = root.make_context("ctxtrim", [], resilient_parsing=True, **CONTEXT)
    page = None
    command: Any = root
    for position, word in enumerate(words):
        child = command.get_command(context, word) if hasattr(command, "list_commands") else None
        if child is None:
            if word not in STAGES or position:
                raise UsageError(_unknown(word, command, context, position))
            page = stage_page(word)
            break
        command = child
        context = type(context)(child, info_name=word, parent=context, **CONTEXT)
    page = page or command_page(command, context)
    is_bold = has_bold()
    text = full_text(page, _width(context), is_bold=is_bold)
    if is_bold:
        typer.echo(text, nl=False)
    else:
        print_text(text)
    return 0


def _width(context: Any) -> int:
    return int(context.make_formatter().width)


def _unknown(word: str, command: Any, context: Any, position: int) -> str:
    names = list(command.list_commands(context)) if hasattr(command, "list_commands") else []
    known = [*names, *([] if position else STAGES)]
    near = suggestion(word, {name: name for name in known})
    expected = f"; expected one of {', '.join(dict.fromkeys(known))}" if known else ""
    return f"help {clean(word)}: unknown command or stage{near}{expected}"


COMMAND = single_command("help", explain)
