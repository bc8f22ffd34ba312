"""The options of a run, in the order of `ctxtrim config show`.

Each option is one row. The command-line option, the configuration key, the environment variable and
the API keyword are made from it. Stages declare the other settings.
"""

from collections.abc import Mapping
from typing import Any

from ctxtrim.config import input_options, output_options
from ctxtrim.config.option import Option, Values
from ctxtrim.text.names import option_name

PANELS = {
    "preset": "Input",
    "automatic": "Stages",
    "converting": "Output",
    "editing": "Output",
    "target": "Output",
    "fixing": "Output",
    "archive": "Output",
    "summarizing": "Summaries",
    "events": "Report",
    "reporting": "Report",
    "scanning": "Input",
    "counting": "Report",
    "checking": "Report",
    "gate": "Rules",
}
"""The panels of sections in help texts, if they differ from the name of the section."""

IN_STAGES = "Settings of stages"
"""The panel of options that the help of a command leaves out: the pages of stages explain them."""

SECTIONS: Mapping[str, tuple[Option, ...]] = {
    section: tuple(option.in_panel(PANELS.get(section, section.capitalize())) for option in options)
    for section, options in {**input_options.ROWS, **output_options.ROWS}.items()
}
"""The options by section. Commands choose the sections that they have."""

OPTIONS = {option.name: option for section in SECTIONS.values() for option in section}
"""All options of a run by name."""
SHARED = {name: option for name, option in OPTIONS.items() if option.is_setting}
"""The options that configuration can set. An empty string or None leaves the choice to the
transcript, its model or the preset.
"""


def given(values: Values, name: str) -> Any:
    """The checked value of an option that only the command line sets, else its default."""
    option = OPTIONS[name]
    return option.parse(f"--{option_name(name)}", values[name] or option.default)
