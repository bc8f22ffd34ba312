"""The configuration file that `ctxtrim config init` writes, made from the declarations of the
options.
"""

import json
import textwrap
from collections.abc import Iterator

from ctxtrim.config.option import Option
from ctxtrim.config.run_settings import SECTIONS
from ctxtrim.config.schema import SCHEMA, file_help
from ctxtrim.config.stage_specs import SETTINGS
from ctxtrim.text.names import option_name

_WIDTH = 96
_SAMPLES = {"context_window": "128_000", "reserve": "4096", "budget": '"80%"'}
"""Values for settings without a default."""
_MODEL = {
    "context_window": "64_000",
    "max_input": "60_000",
    "max_output": "4_000",
    "tokenizer": '"o200k_base"',
}
_SECTION = {
    "match": '"tests/recordings/**"',
    "model": '"gpt-4o"',
    "budget": "30_000",
    "max-tokens-per-result": "2_000",
}
_START = """\
#:schema {schema}
# Settings of ctxtrim. A line that begins with # has no effect: remove the # to set the value.
# The command line and environment variables (CTXTRIM_MAX_AGE=3) override this file.
# Values are the defaults, or examples where there is none.
# `ctxtrim config show` prints every setting and its origin.
"""


def template() -> str:
    """The text of a configuration file with the address of its JSON Schema and every setting as a
    comment.
    """
    lines = [_START.format(schema=SCHEMA.as_uri())]
    for section in SECTIONS.values():
        for option in section:
            if option.is_setting:
                lines += _commented(option)
    for stage, settings in SETTINGS.items():
        lines.append(f"[{stage}]")
        for option in settings.values():
            lines += _commented(option)
    lines += ["# A model that ctxtrim does not know, or other limits of a model, in tokens."]
    lines += ["# [models.our-model]", *(f"# {key} = {value}" for key, value in _MODEL.items())]
    lines += ["", "# Settings for some files. Paths are relative to the folder of this file."]
    lines += ["# [[paths]]", *(f"# {key} = {value}" for key, value in _SECTION.items())]
    return "\n".join(lines) + "\n"


def _commented(option: Option) -> Iterator[str]:
    """The help of an option and its default, or an example if it has none, as comments."""
    text = file_help(option)
    if option.restricts("x"):
        text += " Only the user's own file and a file named by --config can set it."
    yield from textwrap.wrap(
        text, _WIDTH, initial_indent="# ", subsequent_indent="# ", break_on_hyphens=False
    )
    mark = "  # an example" if option.default is None else ""
    yield f"# {option_name(option.name)} = {_sample(option)}{mark}"
    yield ""


def _sample(option: Option) -> str:
    if option.default is None:
        return _SAMPLES.get(option.name, str(option.least or 0))
    return json.dumps(option.default, ensure_ascii=False)
