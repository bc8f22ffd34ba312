"""`ctxtrim config`: the effective settings."""

from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from ctxtrim.cli.command_types import (
    JSON,
    HelpfulArgument,
    HelpfulCommand,
    HelpfulGroup,
    HelpfulOption,
    file_names,
)
from ctxtrim.cli.commands import COMMANDS
from ctxtrim.cli.configuration import configuration
from ctxtrim.cli.messages import print_data, print_error, print_text
from ctxtrim.cli.terminal import fitted
from ctxtrim.config.resolution import Config
from ctxtrim.config.run_settings import SHARED
from ctxtrim.config.schema import SCHEMA
from ctxtrim.config.source import Value
from ctxtrim.config.template import template
from ctxtrim.errors import InputError, UsageError
from ctxtrim.io.outputs import write_file
from ctxtrim.reports.tables import Table
from ctxtrim.stages import STAGES
from ctxtrim.text.escaping import json_text
from ctxtrim.text.names import field_name, option_name


def show(config: str | None, preset: str | None, is_json: bool) -> int:
    """Show every setting, its value and its origin: an environment variable, a key in a file, a
    preset or the default.

    Settings of a stage begin with its name. A "-" means that the transcript or its model decides.
    If the automatic pipeline is on, the values are those of run without -s and --preset.
    """
    configured = configuration({"config": config, "preset": preset})
    code, enabled = 0, configured.shared("enabled")
    try:
        enabled = configured.enabled
    except InputError as error:
        code = 1
        print_error(f"ctxtrim: {error}")
    if enabled.value and preset is None:
        configured = replace(configured, is_automatic=True)
    rows = list(_rows(configured, enabled))
    for path, note in configured.notes:
        print_error(f"{path}: {note.severity}: {note.message}")
    if is_json:
        settings = [{"key": key, "value": value, "origin": origin} for key, (value, origin) in rows]
        print_data(json_text({"version": 1, "settings": settings}, indent=2) + "\n")
    else:
        cells = tuple((key, _formatted(key, value), origin) for key, (value, origin) in rows)
        print_text(fitted(Table("", ("setting", "value", "origin"), cells)))
    return code


def _rows(config: Config, enabled: Value) -> Iterator[tuple[str, Value]]:
    for name in SHARED:
        yield option_name(name), enabled if name == "enabled" else config.effective(name)
    for stage in STAGES:
        for name, value in config.settings(stage).items():
            yield f"{stage}.{option_name(name)}", value
    for position, entry in enumerate(config.entries):
        for name in entry.named:
            key = f"pipeline[{position}].{entry.stage}.{option_name(name)}"
            yield key, entry.settings[name]
    yield from _of_models(config).items()
    for section in chain.from_iterable(source.sections for source in config.sources):
        place = section.folder / section.glob.text.removeprefix("/")
        for values in (section.settings.shared, *section.settings.settings.values()):
            for name, value in values.items():
                yield f"{option_name(name)} of {place}", value


def _of_models(config: Config) -> dict[str, Value]:
    """The values of the user's own models. Sources are in order of precedence."""
    values: dict[str, Value] = {}
    for source in config.sources:
        for name, model in source.models.items():
            for key, value in model.items():
                values.setdefault(f"models.{name}.{key}", Value(value, source.path))
    return values


def _formatted(key: str, value: Any) -> str:
    """A value as in a file, but with strings unquoted."""
    if value is None or value in ("", ()):
        return "-"
    if isinstance(value, tuple):
        return ", ".join(value)
    if isinstance(value, bool):
        return str(value).lower()
    option = SHARED.get(field_name(key, SHARED) or "")
    return str(value) if option is None else option.written(value)


def init(file: str, force: bool) -> int:
    """Write a configuration file that explains every setting, with the address of its schema.

    Every setting is a comment with its default, or with an example if it has none. The file changes
    nothing until you edit it.
    """
    path = Path(file)
    if path.is_symlink():
        target = path.readlink()
        raise UsageError(f"{file} is a link to {target}; name that file, or remove the link")
    if path.exists() and not force:
        raise UsageError(f"{file} exists; pass --force to replace it, or name another file")
    write_file(path, template().encode())
    print_error(f"ctxtrim: wrote {file}; ctxtrim config show prints the settings")
    return 0


def print_schema() -> int:
    """Print the JSON Schema of configuration files, for editors."""
    print_data(SCHEMA.read_text(encoding="utf-8"))
    return 0


_SHOW = HelpfulCommand(
    "show",
    show,
    [
        HelpfulOption(
            ["--config"],
            metavar="FILE",
            help="Read settings from this file before those of the project.",
            shell_complete=file_names,
        ),
        HelpfulOption(["--preset"], metavar="NAME", help="Apply a named preset."),
        JSON,
    ],
)
_INIT = HelpfulCommand(
    "init",
    init,
    [
        HelpfulArgument(
            "file",
            "FILE",
            "The file to write. [default: ctxtrim.toml]",
            default="ctxtrim.toml",
            shell_complete=file_names,
        ),
        HelpfulOption(["--force"], is_flag=True, help="Replace a file that exists."),
    ],
)
COMMAND = HelpfulGroup(
    COMMANDS["config"],
    [_SHOW, _INIT, HelpfulCommand("schema", print_schema)],
)
