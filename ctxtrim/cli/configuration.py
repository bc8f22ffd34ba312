"""The configuration of a command, from the environment and the files of the user who runs it."""

import os

from ctxtrim.archive.locations import own_settings
from ctxtrim.config.from_command import command_config
from ctxtrim.config.option import Values
from ctxtrim.config.resolution import Config


def configuration(
    values: Values, *, is_automatic: bool = False, reads_project: bool = True
) -> Config:
    """The configuration from options and all other sources; arguments as in `command_config`."""
    return command_config(
        values,
        os.environ,
        own_settings(),
        is_automatic=is_automatic,
        reads_project=reads_project,
    )
