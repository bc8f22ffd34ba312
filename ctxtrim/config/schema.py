"""The JSON Schema of configuration files, made from the declarations of the options.

Other spellings of a name, and the names of other programs, refer to the name in kebab-case, which
editors complete.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Any

from ctxtrim.config.aliases import ALIASES, AMBIGUOUS, Alias
from ctxtrim.config.option import Option
from ctxtrim.config.own_models import KEYS, LIMITS
from ctxtrim.config.path_sections import section_settings
from ctxtrim.config.presets import PRESETS
from ctxtrim.config.run_settings import SHARED
from ctxtrim.config.stage_specs import SETTINGS
from ctxtrim.stages import STAGES
from ctxtrim.text.names import camel_case, option_name
from ctxtrim.text.numbers import THOUSANDS

SCHEMA = Path(__file__).with_name("ctxtrim.schema.json")
"""The JSON Schema of configuration files. `scripts/generated.py` writes it."""

_WHOLE = r"\+?([0-9]+(_[0-9]+)*|[0-9]{1,3}(,[0-9]{3})+)"
_DECIMAL = r"\+?([0-9][0-9_,]*\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?"
_PERCENT = r"\+?[0-9]*\.?[0-9]+\s*%"
_NAMES = "|".join(PRESETS)
_HELP = {
    "preset": f"Apply a named preset: {', '.join(PRESETS)}. If enabled is true and no pipeline is "
    "set, run also runs the preset's stages."
}
_CHECKS: Mapping[str, Mapping[str, Any]] = {
    "preset": {"pattern": rf"^\s*(({_NAMES})\s*(,\s*({_NAMES})\s*)*)?$"},
    "target": {"exclusiveMinimum": 0, "maximum": 1},
    "max-tool-share": {"maximum": 1},
    "pin": {"minLength": 1},
    "pointer": {"pattern": r"\S"},
    "tool": {"pattern": "^[^:]+:[^=]+=.+$"},
}
"""The rules of the checks of options, as far as a schema can have them."""


def schema() -> dict[str, Any]:
    """The JSON Schema of configuration files, draft 7."""
    settings = _all_settings()
    values = {name: _everywhere(options) for name, options in settings.items()}
    tables = {stage: _stage(stage) for stage in SETTINGS}
    properties = values | {stage: {"$ref": _definition(stage)} for stage in tables}
    for name in values.keys() & tables.keys():  # summarize = true, and [summarize]
        properties[name] = {"anyOf": [{"$ref": _definition(name)}, values[name]]}
    aliases = [row for rows in ALIASES.values() for row in rows if row.name not in AMBIGUOUS]
    blocks = {block: _block(block, rows) for block, rows in ALIASES.items()}
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "Settings of ctxtrim",
        "type": "object",
        "properties": properties | {"models": _models(), "paths": _sections()} | blocks,
        "patternProperties": _spellings(values, "#/properties", set(AMBIGUOUS))
        | {f"^{row.name}$": _target(row) for row in aliases},
        "additionalProperties": False,
        "definitions": tables,
    }


def file_help(option: Option) -> str:
    """The help of an option as a key of a file, where some options mean something else."""
    return _HELP.get(option.name, option.help)


def _all_settings() -> dict[str, dict[str, Option]]:
    """The settings at the top level of a file, each by its stages; "" is the run."""
    settings: dict[str, dict[str, Option]] = defaultdict(dict)
    for stage in STAGES:
        for name, option in SETTINGS[stage].items():
            settings[option_name(name)][stage] = option
    for name, option in SHARED.items():
        settings[option_name(name)][""] = option
    return settings


def _everywhere(options: Mapping[str, Option]) -> dict[str, Any]:
    """The schema of a value for several stages. The largest of their minimums applies."""
    strictest = max(options, key=lambda stage: options[stage].least or 0)
    value = _value(options[strictest])
    if len({option.help for option in options.values()}) > 1:
        texts = [f"{stage}: {option.help}" for stage, option in options.items()]
        value = {**value, "description": " ".join(texts)}
        value.pop("default", None)
    return value


def _stage(stage: str) -> dict[str, Any]:
    """The schema of the table of a stage."""
    settings = {option_name(name): option for name, option in SETTINGS[stage].items()}
    values = {name: _value(option) for name, option in settings.items()}
    pointer = f"{_definition(stage)}/properties"
    patterns = _spellings(values, pointer)
    for row in chain.from_iterable(ALIASES.values()):
        target, _, name = row.target.rpartition(".")
        if target in ("", stage) and name in settings:
            is_own = camel_case(name) == row.name
            patterns |= {} if is_own else {f"^{row.name}$": _target(row, pointer)}
    return {
        "type": "object",
        "description": f"Settings of the stage {stage}.",
        "properties": values,
        "patternProperties": patterns,
        "additionalProperties": False,
    }


def _block(block: str, rows: Iterable[Alias]) -> dict[str, Any]:
    """The schema of a table with the name of another program's block."""
    return {
        "type": "object",
        "description": f"Settings with the names of other programs, as {block} in their files.",
        "properties": {row.name: _target(row) for row in rows},
    }


def _models() -> dict[str, Any]:
    """The schema of the tables of models."""
    limit = {"anyOf": [{"type": "integer", "minimum": 1}, {"type": "string", "pattern": _whole()}]}
    values = {key: limit if key in LIMITS else {"type": "string"} for key in KEYS}
    model = {
        "type": "object",
        "properties": values,
        "patternProperties": {f"^{option_name(key)}$": value for key, value in values.items()},
        "additionalProperties": False,
    }
    return {
        "type": "object",
        "description": "Models by name, with limits in tokens.",
        "additionalProperties": model,
    }


def _sections() -> dict[str, Any]:
    """The schema of `[[paths]]`."""
    match = {"type": "string", "description": "A pattern of paths, with the rules of .gitignore."}
    values = {option_name(name): _value(option) for name, (_, option) in section_settings().items()}
    section = {
        "type": "object",
        "required": ["match"],
        "properties": {"match": match} | values,
        "patternProperties": _spellings(values, "#/properties/paths/items/properties"),
        "additionalProperties": False,
    }
    return {
        "type": "array",
        "description": "Settings for some files. The last section that matches decides.",
        "items": section,
    }


def _spellings(names: Iterable[str], pointer: str, without: Iterable[str] = ()) -> dict[str, Any]:
    """The names in snake_case and camelCase. They refer to the values at `pointer`."""
    patterns = {}
    for name in names:
        if "-" in name:
            camel = camel_case(name)
            other = "" if camel in without else f"|{camel}"
            pattern = f"^({name.replace('-', '[-_]')}{other})$"
            patterns[pattern] = {"$ref": f"{pointer}/{name}"}
    return patterns


def _definition(stage: str) -> str:
    return f"#/definitions/{stage}"


def _target(row: Alias, pointer: str = "") -> dict[str, Any]:
    """The schema of an alias: that of its target, in a table at `pointer` or anywhere."""
    stage, _, name = row.target.rpartition(".")
    if row.word:
        return {"type": "boolean"}
    if not pointer:
        pointer = f"{_definition(stage)}/properties" if stage else "#/properties"
    return {"$ref": f"{pointer}/{name}"}


def _value(option: Option) -> dict[str, Any]:
    """The schema of a value."""
    name = option_name(option.name)
    described: dict[str, Any] = {"description": file_help(option)}
    if option.default is not None:
        is_list = isinstance(option.default, tuple)
        described["default"] = list(option.default) if is_list else option.default
    checks = _CHECKS.get(name, {})
    if isinstance(option.default, bool):
        return {"type": "boolean"} | described
    if option.is_number:
        kind = "number" if isinstance(option.default, float) else "integer"
        least = {} if option.least is None else {"minimum": option.least}
        text = {"type": "string", "pattern": _number(option)}
        return {"anyOf": [{"type": kind, **least, **checks}, text]} | described
    if isinstance(option.default, tuple):
        text = {"type": "string", **checks}
        return {"anyOf": [text, {"type": "array", "items": text}]} | described
    if option.choices is None:
        return {"type": "string", **checks} | described
    return {"enum": [*option.choices, *option.aliases]} | described


def _number(option: Option) -> str:
    """The pattern of a number as people write it."""
    if isinstance(option.default, float):
        units = "|".join(_any_case((*THOUSANDS, *option.units)))
        return rf"^\s*{_DECIMAL}\s*({units})?\s*$"
    percent = rf"|^\s*{_PERCENT}\s*$" if option.is_share else ""
    return _whole(option.units) + percent


def _whole(units: Iterable[str] = ()) -> str:
    """The pattern of a whole number. Only a number with a unit may have decimals."""
    names = "|".join(_any_case((*THOUSANDS, *units)))
    return rf"^\s*{_WHOLE}\s*((\.[0-9]+)?\s*({names}))?\s*$"


def _any_case(units: Iterable[str]) -> Iterator[str]:
    """The patterns of units in any case. A JSON Schema cannot ignore case."""
    for unit in units:
        letters = (f"[{x.lower()}{x.upper()}]" if x.isalpha() else x for x in unit)
        yield "".join(letters)
