"""The index of archives of version 1. It is only read.

::

    DIR/objects/3f/9a…      originals, and the recipes of runs, by their SHA-256
    DIR/index.sqlite3       traces: which result is which original;
                            runs: which recipe makes an input from an output
"""

import json
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from ctxtrim.errors import ArchiveError, os_errors_as

_VERSION = 1
_PATIENCE = 30.0  # seconds to wait for another process that is writing


class OldIndex:
    """An index in a file; without the file it is empty.

    Methods raise `ArchiveError` if it cannot be read.
    """

    def __init__(self, path: Path) -> None:
        self._folder = path.parent
        self._path = path if path.exists() else None
        versions = self._rows("PRAGMA user_version")
        if versions and versions[0][0] != _VERSION:
            raise ArchiveError(
                f"{self._folder}: the index has version {versions[0][0]}, and "
                f"this ctxtrim reads {_VERSION}"
            )

    @property
    def exists(self) -> bool:
        """Whether there is a file."""
        return self._path is not None

    def runs(self, output: str) -> list[tuple[str, ...]]:
        """(input, recipe, path, pipeline, time) of the runs with an output, the newest last."""
        return self._rows(
            "SELECT input, recipe, path, pipeline, time FROM runs WHERE output = ? ORDER "
            "BY time, input",
            output,
        )

    def all_runs(self) -> list[tuple[str, ...]]:
        """(output, input, recipe, path, pipeline, time) of all runs."""
        return self._rows("SELECT output, input, recipe, path, pipeline, time FROM runs")

    def outputs(self) -> list[str]:
        """The outputs of all runs."""
        return [output for (output,) in self._rows("SELECT DISTINCT output FROM runs")]

    def inputs(self) -> list[str]:
        """The inputs of all runs."""
        return [source for (source,) in self._rows("SELECT DISTINCT input FROM runs")]

    def traces(self) -> list[tuple[Any, ...]]:
        """(id, sha256, path, line, tool, stage, time) of all originals, the oldest first."""
        return self._rows(
            "SELECT id, sha256, path, line, tool, stage, time FROM traces ORDER BY time, "
            "path, line, id"
        )

    def recipes(self) -> list[str]:
        """The names of the recipes of all runs."""
        return [name for (name,) in self._rows("SELECT recipe FROM runs")]

    def restored(
        self, name: str, output: bytes, original: Callable[[str], bytes]
    ) -> Iterator[bytes]:
        """The input that a recipe makes from an output."""
        try:
            parts = json.loads(original(name))
            recipe = [
                part if isinstance(part, str) else (int(part[0]), int(part[1])) for part in parts
            ]
        except (ValueError, TypeError, LookupError, RecursionError):
            raise ArchiveError(
                f"{self._folder}: {name} is not a recipe of ctxtrim: the index was changed"
            ) from None
        for part in recipe:
            if isinstance(part, str):
                yield original(part)
            else:
                start, length = part
                yield output[start : start + length]

    def _rows(self, query: str, *values: str) -> list[tuple[Any, ...]]:
        """The rows of a query. The file is open only for it."""
        if self._path is None:
            return []
        with self._errors(), closing(sqlite3.connect(self._path, timeout=_PATIENCE)) as index:
            index.execute("PRAGMA trusted_schema = OFF")
            return [tuple(map(_read, row)) for row in index.execute(query, values)]

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            with os_errors_as(ArchiveError, f"{self._folder}: the archive cannot be used"):
                yield
        except (sqlite3.Error, ValueError) as error:
            raise ArchiveError(
                f"{self._folder}: the index of the archive cannot be used: {error}"
            ) from error


def _read(value: Any) -> Any:
    """A value of the index; a `ValueError` for bytes that ctxtrim did not store.

    Texts with lone surrogates, which SQLite cannot store, are stored as bytes.
    """
    return value.decode("utf-8", "surrogatepass") if isinstance(value, bytes) else value
