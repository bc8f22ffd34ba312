"""What people say beside the command line, from where, and what of it is in force.

::

    command line        --max-age 3                                       the strongest
    environment         CTXTRIM_MAX_AGE=3
    --config FILE       max-age = 3
    ./ctxtrim.toml      the same, and [truncate] max-age = 3, pipeline = ["truncate", "trim"], [models.our-model]
    ./pyproject.toml    the same in [tool.ctxtrim]
    ./agents.config.json    {"contextManagement": {"maxAge": 3}}, and the blocks compactor and toolOutput
    the user's folder   config.toml, as ctxtrim.toml
    the preset
    the default of the setting                                            the weakest
"""

from ctxtrim.config.config import DEFAULT, Config, configured
from ctxtrim.config.meanings import SETTINGS
from ctxtrim.config.models import ModelOf
from ctxtrim.config.preference import WORDS, Preference
from ctxtrim.config.program import program
from ctxtrim.config.said import Said, Value
from ctxtrim.config.shared import SHARED

__all__ = [
    "DEFAULT",
    "SETTINGS",
    "SHARED",
    "WORDS",
    "Config",
    "ModelOf",
    "Preference",
    "Said",
    "Value",
    "configured",
    "program",
]
