"""The environment: `CTXTRIM_MAX_AGE=3`, the names of options in capitals."""

import json
from collections.abc import Mapping
from dataclasses import Field
from typing import Any

from ctxtrim.config.keys import meanings
from ctxtrim.config.source import Said, put
from ctxtrim.config.stage_specs import checked
from ctxtrim.errors import UsageError

PREFIX = "CTXTRIM_"
CONFIG = f"{PREFIX}CONFIG"
"""The file that `--config` names."""
DEBUG = f"{PREFIX}DEBUG"
"""Not empty: show the traceback of an unforeseen exception, as `--debug` does."""
KEY = f"{PREFIX}LLM_API_KEY"
"""The key of an endpoint, which is no setting: it stands nowhere else."""


def environment(variables: Mapping[str, str]) -> Said:
    """What some variables say; an empty one says nothing. A list is one text, or several as a JSON array."""
    said = Said("environment")
    for name, text in variables.items():
        if not name.startswith(PREFIX) or name in (CONFIG, DEBUG, KEY) or not text:
            continue
        try:
            meant, _ = meanings(name.removeprefix(PREFIX).lower(), text)
        except UsageError as error:
            raise UsageError(f"{name}: {error}") from None
        put(said, name, meant, _read)
    return said


def _read(where: str, setting: Field[Any], text: str) -> Any:
    value: Any = text
    if isinstance(setting.default, tuple) and text.startswith("["):
        try:
            value = json.loads(text)
        except ValueError:
            raise UsageError(f"{where}: expected a text or a JSON array of texts, found {text}") from None
    return checked(where, setting, value)
