"""Settings from command-line options."""

from ctxtrim.config.keys import Meaning
from ctxtrim.config.option import Option, Values
from ctxtrim.config.run_settings import OPTIONS, SHARED
from ctxtrim.config.source import SettingsSource, assign
from ctxtrim.config.stage_specs import SETTINGS
from ctxtrim.text.names import option_name

ARGUMENTS = ("files", "stage")
"""What a command is given that is no setting: the inputs, and the stages of `run`."""


def command_line(values: Values) -> SettingsSource:
    """The settings in some options, by option name.

    None and an empty list mean that the option is not given.
    """
    source = SettingsSource("command line")
    for name, value in values.items():
        if value in (None, (), []):
            continue
        if name in SHARED:
            matches = [Meaning(None, SHARED[name], value)]
        elif name in OPTIONS or name in ARGUMENTS:
            continue
        else:
            matches = [
                Meaning(stage, known[name], value)
                for stage, known in SETTINGS.items()
                if name in known
            ]
        assign(source, f"--{option_name(name)}", matches, Option.parse)
    return source
