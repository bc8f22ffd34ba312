"""The configuration file that `ctxtrim config init` writes, and the JSON Schema of such files.

Both are made from the declarations of the options.
"""

import json
import textwrap
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from ctxtrim.config.aliases import WORDS
from ctxtrim.config.option import Option
from ctxtrim.config.run_settings import SECTIONS
from ctxtrim.config.stage_specs import SETTINGS
from ctxtrim.text.names import option_name

SCHEMA = Path(__file__).with_name("ctxtrim.schema.json")
"""The JSON Schema of configuration files. `scripts/generated.py` writes it."""

_WIDTH = 96
_SAMPLES = {"context_window": "128_000", "reserve": "4096", "budget": '"80%"'}
"""Values for settings without a default."""
_NUMBER = r"^\s*[0-9][0-9_,]*(\.[0-9]+)?\s*([kKM]|[KMG]i?B)?\s*$"
_SHARE = r"|^\s*[0-9.]+\s*%$"
_MODEL = {
    "context_window": "64_000",
    "max_input": "60_000",
    "max_output": "4_000",
    "tokenizer": '"o200k_base"',
}
_START = """\
#:schema {schema}
# Settings of ctxtrim. A line that begins with # has no effect: remove the # to set the value.
# The command line and environment variables (CTXTRIM_MAX_AGE=3) override this file.
# `ctxtrim config show` prints every setting and its origin.
"""


def template(schema: str = "") -> str:
    """The text of a configuration file with every setting as a comment.

    `schema` is the address of its JSON Schema.
    """
    lines = [_START.format(schema=schema or SCHEMA.as_uri())]
    for section in SECTIONS.values():
        for option in section:
            if option.is_setting:
                lines += _commented(option)
    for stage, settings in SETTINGS.items():
        lines += [f"[{stage}]", *(line for each in settings.values() for line in _commented(each))]
    lines += ["# A model that ctxtrim does not know, or other limits of a model, in tokens."]
    lines += ["# [models.our-model]", *(f"# {key} = {value}" for key, value in _MODEL.items())]
    return "\n".join(lines) + "\n"


def _commented(option: Option) -> Iterator[str]:
    """The help of an option and its default, as comments."""
    text = option.help
    if option.restricts("x"):
        text += " Only the user's own file and a file named by --config can set it."
    yield from textwrap.wrap(
        text, _WIDTH, initial_indent="# ", subsequent_indent="# ", break_on_hyphens=False
    )
    yield f"# {option_name(option.name)} = {_sample(option)}"
    yield ""


def _sample(option: Option) -> str:
    if option.default is None:
        return _SAMPLES.get(option.name, str(option.least or 0))
    return json.dumps(option.default, ensure_ascii=False)


def schema() -> dict[str, Any]:
    """The JSON Schema of configuration files, draft 7."""
    shared = [option for section in SECTIONS.values() for option in section if option.is_setting]
    in_stages = {
        option_name(name): _value(option)
        for settings in SETTINGS.values()
        for name, option in settings.items()
    }
    stages = {stage: _table(stage, settings.values()) for stage, settings in SETTINGS.items()}
    models = {"type": "object", "additionalProperties": {"type": "object"}}
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "Settings of ctxtrim",
        "type": "object",
        "properties": in_stages
        | {option_name(option.name): _value(option) for option in shared}
        | stages
        | {"models": models | {"description": "Models by name, with limits in tokens."}},
        "patternProperties": _OTHER_NAMES,
        "additionalProperties": False,
    }


_OTHER_NAMES = {"^[a-z]+([A-Z_][A-Za-z]*)+$": True}
"""Names in snake_case and camelCase are valid, too."""


def _table(stage: str, settings: Iterable[Option]) -> dict[str, Any]:
    return {
        "type": "object",
        "description": f"Settings of the stage {stage}.",
        "properties": {option_name(each.name): _value(each, stage) for each in settings},
        "patternProperties": _OTHER_NAMES,
        "additionalProperties": False,
    }


def _value(option: Option, stage: str = "") -> dict[str, Any]:
    """The schema of a value."""
    described: dict[str, Any] = {"description": option.help}
    if option.default is not None:
        is_list = isinstance(option.default, tuple)
        described["default"] = list(option.default) if is_list else option.default
    if isinstance(option.default, bool):
        return {"type": "boolean"} | described
    if option.is_number:
        kind = "number" if isinstance(option.default, float) else "integer"
        least = {} if option.least is None else {"minimum": option.least}
        pattern = _NUMBER + (_SHARE if option.is_share else "")
        return {
            "anyOf": [{"type": kind, **least}, {"type": "string", "pattern": pattern}]
        } | described
    if isinstance(option.default, tuple):
        texts = {"type": "array", "items": {"type": "string"}}
        return {"anyOf": [{"type": "string"}, texts]} | described
    if option.choices is None:
        return {"type": "string"} | described
    words = WORDS.get(f"{stage}.{option_name(option.name)}", {})
    return {"enum": [*option.choices, *words]} | described
