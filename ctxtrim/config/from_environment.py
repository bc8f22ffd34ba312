"""Settings from environment variables: option names in upper case, as in `CTXTRIM_MAX_AGE=3`."""

import json
from collections.abc import Mapping
from typing import Any

from ctxtrim.config.keys import meanings
from ctxtrim.config.option import Option
from ctxtrim.config.run_settings import OPTIONS, SHARED
from ctxtrim.config.source import SettingsSource, assign
from ctxtrim.config.stage_specs import SETTINGS
from ctxtrim.errors import UsageError, excerpt
from ctxtrim.text.names import suggestion

PREFIX = "CTXTRIM_"
CONFIG = f"{PREFIX}CONFIG"
"""The variable with the file of `--config`."""
DEBUG = f"{PREFIX}DEBUG"
"""If not empty, show the traceback of an unexpected error, as `--debug` does."""
KEY = f"{PREFIX}LLM_API_KEY"
"""The key of an LLM endpoint. It is not a setting: no other source can hold it."""


def environment(variables: Mapping[str, str]) -> SettingsSource:
    """The settings in some variables.

    Empty variables are ignored. A list is one text or a JSON array of texts.
    """
    source = SettingsSource("environment")
    for name, text in variables.items():
        if not name.startswith(PREFIX) or name in (CONFIG, DEBUG, KEY) or not text:
            continue
        key = name.removeprefix(PREFIX).lower()
        try:
            matches = meanings(key, text)
        except UsageError as error:
            reason = error if key in OPTIONS else f"unknown variable{_nearest(name)}"
            raise UsageError(f"{name}: {reason}") from None
        assign(source, name, matches, _read)
    return source


def variable(name: str) -> str:
    """The environment variable of a setting."""
    return f"{PREFIX}{name.removesuffix('_').upper()}"


def _nearest(name: str) -> str:
    names = [variable(key) for known in (SHARED, *SETTINGS.values()) for key in known]
    return suggestion(name, (*names, CONFIG, DEBUG, KEY))


def _read(setting: Option, location: str, text: str) -> Any:
    if not isinstance(setting.default, tuple) or not text.startswith("["):
        return setting.parse(location, text)
    try:
        values = json.loads(text)
    except (ValueError, RecursionError):
        array = json.dumps([text], ensure_ascii=False)
        raise UsageError(
            f"{location}: expected a string or a JSON array of strings, found {excerpt(text)}; "
            f"if it is one string that begins with [, write {excerpt(array)}"
        ) from None
    return setting.convert(location, values)
