"""Settings for some files.

::

    [[paths]]
    match = "fixtures/**"           relative to the folder of the configuration file; the rules of
    model = "gpt-4o"                .gitignore apply
    budget = 30_000
    max-tokens-per-result = 2_000

If several sections match a file, the last one that has a setting decides.
"""

from functools import cache
from pathlib import Path
from typing import Any

from ctxtrim.config.keys import Meaning
from ctxtrim.config.option import Option, must_be
from ctxtrim.config.run_settings import SHARED
from ctxtrim.config.source import PathSection, SettingsSource, assign
from ctxtrim.config.stage_specs import SETTINGS
from ctxtrim.errors import UsageError
from ctxtrim.io.paths import resolved
from ctxtrim.stages import STAGES
from ctxtrim.text.escaping import clean
from ctxtrim.text.globs import path_glob
from ctxtrim.text.names import field_name, option_name, snake_case, suggestion

_LIMITS = ("profile", "max_messages", "max_tokens_per_result", "max_tool_share")


@cache
def section_settings() -> dict[str, tuple[str | None, Option]]:
    """The settings that a section can have, each with its stage; None for a setting of the run."""
    settings: dict[str, tuple[str | None, Option]] = {}
    for name in ("model", "budget"):
        settings[name] = None, SHARED[name]
    for stage in STAGES:
        if not STAGES[stage].is_verdict:
            continue
        for name in _LIMITS:
            if name in SETTINGS[stage]:
                settings[name] = stage, SETTINGS[stage][name]
    return settings


def read_sections(source: SettingsSource, path: Path, place: str, tables: object) -> None:
    """Add the `[[paths]]` sections of the file at `path` to its source.

    `place` is their key in messages. Raises `UsageError` with the key that is invalid.
    """
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        raise UsageError(f'{path}: {place}: expected sections, as in [[{place}]] match = "runs/**"')
    for number, table in enumerate(tables):
        location = f"{place}[{number}]"
        if "match" not in table:
            raise UsageError(f'{path}: {location}: match is missing; add match = "runs/**"')
        must_be(f"{path}: {location}.match", table["match"], str, "a pattern of paths")
        settings = SettingsSource(source.path, source.is_trusted)
        for key, value in table.items():
            if key != "match":
                _set(settings, f"{path}: {location}.{clean(key)}", key, value)
        try:
            section = _section(resolved(path.parent), table["match"], settings)
        except ValueError as error:
            raise UsageError(f"{path}: {location}.match {table['match']}: {error}") from None
        source.sections.append(section)


def _set(settings: SettingsSource, location: str, key: str, value: Any) -> None:
    name = field_name(key, section_settings())
    if name is None:
        known = ("match", *section_settings())
        near = suggestion(snake_case(key), known, option_name)
        names = ", ".join(map(option_name, known))
        raise UsageError(f"{location}: unknown key{near}; known keys: {names}")
    stage, option = section_settings()[name]
    taken = settings.shared if stage is None else settings.settings.get(stage, {})
    if name in taken:
        raise UsageError(f"{location}: {option_name(name)} is given twice; keep one of them")
    assign(settings, location, [Meaning(stage, option, value)], Option.convert)


def _section(folder: Path, match: str, settings: SettingsSource) -> PathSection:
    """The section for a pattern. `../` at its start is the folder above that of the file.

    Raises `ValueError` for an invalid pattern.
    """
    while match.startswith("../"):
        folder, match = folder.parent, match.removeprefix("../")
        match = match if match.startswith("../") else f"/{match}"
    return PathSection(folder, path_glob(match), settings)
