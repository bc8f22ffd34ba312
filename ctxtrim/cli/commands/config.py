"""`ctxtrim config`: the effective settings."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from ctxtrim.cli.messages import print_error, print_text
from ctxtrim.cli.request import configuration
from ctxtrim.cli.terminal import fitted
from ctxtrim.cli.typer_commands import add_command, group
from ctxtrim.config import SHARED, Config, Value
from ctxtrim.config.template import SCHEMA, template
from ctxtrim.errors import UsageError
from ctxtrim.io.outputs import write_to
from ctxtrim.reports.tables import Table
from ctxtrim.stages import STAGES
from ctxtrim.text.escaping import json_text
from ctxtrim.text.names import option_name


def show(
    config: Annotated[
        str | None,
        typer.Option(
            metavar="FILE", help="Read settings from this file before those of the project."
        ),
    ] = None,
    preset: Annotated[
        str | None, typer.Option(metavar="NAME", help="Apply a named preset.")
    ] = None,
    is_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> int:
    """Show every setting, its value and its origin: an environment variable, a key in a file, a
    preset or the default.

    Settings of a stage begin with its name. A "-" means that the transcript or its model decides.
    """
    configured = configuration({"config": config, "preset": preset})
    rows = list(_rows(configured))
    for path, note in configured.notes:
        print_error(f"{path}: {note.severity}: {note.message}")
    if is_json:
        settings = [{"key": key, "value": value, "origin": origin} for key, (value, origin) in rows]
        text = json_text({"version": 1, "settings": settings}, indent=2) + "\n"
    else:
        cells = tuple((key, _formatted(value), origin) for key, (value, origin) in rows)
        text = fitted(Table("", ("setting", "value", "origin"), cells))
    print_text(text)
    return 0


def _rows(config: Config) -> Iterator[tuple[str, Value]]:
    for name in SHARED:
        yield option_name(name), config.enabled if name == "enabled" else config.shared(name)
    for stage in STAGES:
        for name, value in config.settings(stage).items():
            yield f"{stage}.{option_name(name)}", value
    for section in (section for source in config.sources for section in source.sections):
        place = section.folder / section.glob.text.removeprefix("/")
        settings = [section.settings.shared, *section.settings.settings.values()]
        for name, value in ((name, value) for values in settings for name, value in values.items()):
            yield f"{option_name(name)} of {place}", value


def _formatted(value: Any) -> str:
    """A value as in a file, but with strings unquoted."""
    if value is None or value in ("", ()):
        return "-"
    if isinstance(value, tuple):
        return ", ".join(map(_formatted, value))
    return str(value).lower() if isinstance(value, bool) else str(value)


def init(
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="The file to write. [default: ctxtrim.toml]")
    ] = "ctxtrim.toml",
    force: Annotated[bool, typer.Option("--force", help="Replace a file that exists.")] = False,
) -> int:
    """Write a configuration file that explains every setting, with the address of its schema.

    Every setting is a comment with its default, so the file changes nothing until you edit it.
    """
    path = Path(file)
    if path.exists() and not force:
        raise UsageError(f"{file} exists; pass --force to replace it, or name another file")
    sink = write_to(path)
    sink.write(template().encode())
    sink.commit()
    print_error(f"ctxtrim: wrote {file}; ctxtrim config show prints the settings")
    return 0


def print_schema() -> int:
    """Print the JSON Schema of configuration files, for editors."""
    print_text(SCHEMA.read_text(encoding="utf-8"))
    return 0


_GROUP = group(help="Show every setting and its origin, or write a configuration file.")
add_command(_GROUP, "show", show)
add_command(_GROUP, "init", init)
add_command(_GROUP, "schema", print_schema)
COMMAND = typer.main.get_command(_GROUP)
