"""The command line: the options that were given."""

from collections.abc import Mapping
from typing import Any

from ctxtrim.config.keys import SETTINGS, Meaning
from ctxtrim.config.run_settings import SHARED
from ctxtrim.config.source import Said, put
from ctxtrim.config.stage_specs import checked, spelled


def command_line(values: Mapping[str, Any]) -> Said:
    """What some options say, by their names; None and an empty list say nothing."""
    said = Said("command line")
    for name, value in values.items():
        if value in (None, []):
            continue
        meant = [Meaning(None, SHARED[name], value)] if name in SHARED else []
        meant += [Meaning(stage, known[name], value) for stage, known in SETTINGS.items() if name in known]
        put(said, f"--{spelled(name)}", meant, checked)
    return said
