"""Whether the automatic pipeline runs, as `ctxtrim rolling-context` stores it: a file that says `on` or `off`."""

from dataclasses import dataclass
from pathlib import Path

from ctxtrim.config.source import Value
from ctxtrim.errors import InputError, reason

WORDS = {"on": True, "off": False, "enable": True, "disable": False}
"""The words that turn it on or off. Only `on` and `off` are written."""


@dataclass(frozen=True)
class Preference:
    """The preference that is kept in a file."""

    path: Path

    @property
    def value(self) -> Value | None:
        """What is stored, None where nothing is; an `InputError` where that cannot be read."""
        try:
            word = self.path.read_bytes().decode(errors="replace").strip()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise InputError(f"{self.path}: cannot be read: {reason(error)}") from error
        if word not in WORDS:
            raise InputError(f"{self.path}: expected on or off; ctxtrim rolling-context on|off writes it anew")
        return Value(WORDS[word], str(self.path))
