"""`ctxtrim config`: the settings in force."""

from collections.abc import Iterator
from typing import Annotated, Any

import typer

from ctxtrim.cli.exit_codes import Debug, concluded
from ctxtrim.cli.request import configuration
from ctxtrim.cli.terminal import print_text, say
from ctxtrim.config import SHARED, Config, Value
from ctxtrim.config.stage_specs import spelled
from ctxtrim.reports.text import Table, plain
from ctxtrim.stages import STAGES
from ctxtrim.text.escaping import json_text

_APP = typer.Typer(
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    help="The settings in force, and where each came from.",
)


@_APP.callback()
def main() -> None:
    """Settings in force."""


@_APP.command(context_settings={"max_content_width": 120})
def show(
    config: Annotated[
        str | None, typer.Option(metavar="FILE", help="Settings from this file, before those of the project.")
    ] = None,
    preset: Annotated[str | None, typer.Option(metavar="NAME", help="Settings by name.")] = None,
    is_json: Annotated[bool, typer.Option("--json", help="The settings as JSON.")] = False,
    debug: Debug = False,
) -> None:
    """Each setting, its value, and where that came from: a variable, a file and the key in it, a preset, or nowhere.

    A setting of a stage stands behind the name of the stage. What is empty or none is left to the transcript and its
    model.
    """
    raise typer.Exit(concluded(lambda: _show({"config": config, "preset": preset}, is_json), shows_traceback=debug))


def _show(values: dict[str, Any], is_json: bool) -> int:
    config = configuration(values)
    rows = list(_rows(config))
    for path, note in config.notes:
        say(f"{path}: {note.severity}: {note.message}")
    if is_json:
        shown = [{"key": key, "value": value, "origin": origin} for key, (value, origin) in rows]
        text = json_text({"version": 1, "settings": shown}, indent=2) + "\n"
    else:
        cells = tuple((key, _shown(value), origin) for key, (value, origin) in rows)
        text = plain(Table("", ("setting", "value", "origin"), cells))
    print_text(text)
    return 0


def _rows(config: Config) -> Iterator[tuple[str, Value]]:
    for name in SHARED:
        yield spelled(name), config.enabled if name == "enabled" else config.shared(name)
    for stage in STAGES:
        for name, value in config.settings(stage).items():
            yield f"{stage}.{spelled(name)}", value


def _shown(value: Any) -> str:
    """A value as it would stand in a file, but for texts, which stand bare."""
    if value is None or value in ("", ()):
        return "-"
    if isinstance(value, tuple):
        return ", ".join(map(_shown, value))
    return str(value).lower() if isinstance(value, bool) else str(value)


COMMAND = typer.main.get_command(_APP)
