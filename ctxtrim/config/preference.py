"""The preference that `ctxtrim rolling-context` stores: a file with the word `on` or `off`."""

from pathlib import Path

from msgspec import Struct

from ctxtrim.config.source import Value
from ctxtrim.errors import InputError, reason
from ctxtrim.io.paths import MISSING, contents_of, is_reachable

_MAX_SIZE = 1 << 10  # bytes
WORDS = {"on": True, "off": False, "enable": True, "disable": False}
"""The words that turn the automatic pipeline on or off. Only `on` and `off` are written."""


class Preference(Struct, frozen=True):
    """The preference in a file; none for a user without a home folder."""

    path: Path | None

    @property
    def value(self) -> Value | None:
        """The stored preference, None without a file or in a folder that cannot be searched.

        Raises `InputError` if the file cannot be read.
        """
        if self.path is None or not is_reachable(self.path):
            return None
        try:
            word = contents_of(self.path, _MAX_SIZE).decode(errors="replace").strip()
        except MISSING:
            return None
        except OSError as error:
            raise InputError(f"{self.path}: cannot be read: {reason(error)}") from error
        if word not in WORDS:
            raise InputError(
                f"{self.path}: expected on or off; run ctxtrim rolling-context on|off to rewrite it"
            )
        return Value(WORDS[word], str(self.path))
