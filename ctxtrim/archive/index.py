"""Where originals are kept, so that every edit can be undone.

::

    DIR/objects/3f/9a…      originals by their SHA-256, never changed once they are there
    DIR/index.sqlite3       traces: which result is which original; runs: how an output becomes its input again

New folders and files are the user's alone. An existing folder keeps its mode; a folder that other users can write to is
refused, and so are symbolic links in it.
"""

import json
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any

from ctxtrim.archive.blobs import Objects
from ctxtrim.archive.permissions import make_folder, must_be_file, must_be_folder
from ctxtrim.errors import ArchiveError, NoArchiveError, reason
from ctxtrim.io.clock import now
from ctxtrim.text.escaping import clean

_VERSION = 1
_SCHEMA = """
CREATE TABLE IF NOT EXISTS traces (
    id TEXT NOT NULL, sha256 TEXT NOT NULL, path TEXT NOT NULL, line INTEGER, tool TEXT, stage TEXT NOT NULL,
    time TEXT NOT NULL, UNIQUE (id, sha256, path, line, stage)
);
CREATE INDEX IF NOT EXISTS traces_by_id ON traces (id);
CREATE TABLE IF NOT EXISTS runs (
    output TEXT NOT NULL, input TEXT NOT NULL, recipe TEXT NOT NULL, path TEXT NOT NULL, pipeline TEXT NOT NULL,
    time TEXT NOT NULL, UNIQUE (output, input)
);
"""
_PATIENCE = 30.0  # seconds to wait for another process that is writing


@dataclass(frozen=True)
class Trace:
    """An original by the id of its result: where it was, what made it, and which stage replaced it when."""

    id: str
    sha256: str
    path: str
    line: int | None
    tool: str | None
    stage: str
    time: str


@dataclass(frozen=True)
class Run:
    """How an output becomes its input again; both and the recipe by their SHA-256."""

    output: str
    input: str
    recipe: str
    path: str
    pipeline: str
    time: str


class Archive:
    """An archive in a folder; an `ArchiveError` where it cannot be read, written or trusted."""

    def __init__(self, folder: Path, makes: bool = True) -> None:
        self.folder = folder
        self._objects = Objects(folder / "objects")
        with self._trouble():
            if not makes and not (folder / "index.sqlite3").exists():
                raise NoArchiveError(f"{folder}: there is no archive here; name the folder that --archive was given")
            if makes:
                make_folder(folder, is_named=True)
                self._must_be_ours()
                self._objects.make()
                (folder / "index.sqlite3").touch(mode=0o600)
            self._must_be_ours()
            self._index = sqlite3.connect(folder / "index.sqlite3", timeout=_PATIENCE, isolation_level=None)
            self._index.execute("PRAGMA trusted_schema = OFF")
            self._index.execute("PRAGMA journal_mode = WAL")
            self._index.execute("PRAGMA synchronous = FULL")
            if makes:
                self._index.executescript(f"BEGIN IMMEDIATE; {_SCHEMA} PRAGMA user_version = {_VERSION}; COMMIT;")
            version = self._index.execute("PRAGMA user_version").fetchone()[0]
        if version != _VERSION:
            raise ArchiveError(f"{folder}: the archive has version {version}, and this ctxtrim reads {_VERSION}")

    def _must_be_ours(self) -> None:
        """An `ArchiveError` where other users can change the archive, or parts of it lie elsewhere."""
        must_be_folder(self.folder, is_named=True)
        with suppress(FileNotFoundError):
            must_be_folder(self._objects.folder)
        for ending in ("", "-wal", "-shm", "-journal"):
            with suppress(FileNotFoundError):
                must_be_file(self.folder / f"index.sqlite3{ending}")

    @contextmanager
    def _trouble(self) -> Iterator[None]:
        """What the system or the index refuses, as one error."""
        try:
            yield
        except OSError as error:
            raise ArchiveError(f"{self.folder}: the archive cannot be used: {reason(error)}") from error
        except sqlite3.Error as error:
            raise ArchiveError(f"{self.folder}: the index of the archive cannot be used: {error}") from error

    def close(self) -> None:
        """Let go of the index."""
        self._index.close()

    def put(self, data: bytes) -> str:
        """Store an original and return its name once it is on the disk."""
        return self._objects.put(data)

    def get(self, name: str) -> bytes:
        """An original, checked against its name."""
        return self._objects.take(name)

    def path(self, name: str) -> Path:
        """Where an original is, or would be."""
        return self._objects.path(name).absolute()

    def trace(self, traces: Sequence[Trace]) -> None:
        """Remember which results are which originals."""
        with self._trouble(), self._index:
            self._index.execute("BEGIN IMMEDIATE")
            self._index.executemany(
                "INSERT OR IGNORE INTO traces VALUES (?, ?, ?, ?, ?, ?, ?)",
                [tuple(map(_stored, astuple(trace))) for trace in traces],
            )

    def record(self, output: str, source: str, recipe: Sequence[tuple[int, int] | str], path: str, did: str) -> None:
        """Remember how an output becomes its input again."""
        name = self.put(json.dumps(recipe, separators=(",", ":")).encode())
        with self._trouble(), self._index:
            self._index.execute("BEGIN IMMEDIATE")
            self._index.execute(
                "INSERT OR REPLACE INTO runs VALUES (?, ?, ?, ?, ?, ?)",
                (output, source, name, _stored(path), did, now()),
            )

    def runs(self, output: str) -> list[Run]:
        """The runs that gave an output, the newest last."""
        with self._trouble():
            rows = self._index.execute("SELECT * FROM runs WHERE output = ? ORDER BY time, input", (output,))
            return [Run(*map(_read, row)) for row in rows]

    def traces(self, name: str | None = None) -> list[Trace]:
        """The originals of an id, or all of them, in the order in which they were stored.

        An id with characters that cannot be typed is also found by its escaped form, as `trace list` shows it.
        """
        if name is None:
            return self._traces()
        found = self._traces("WHERE id = ?", _stored(name))
        return found or [trace for trace in self._traces() if clean(trace.id) == name]

    def _traces(self, condition: str = "", *values: Any) -> list[Trace]:
        with self._trouble():
            rows = self._index.execute(f"SELECT * FROM traces {condition} ORDER BY time, path, line, id", values)
            return [Trace(*map(_read, row)) for row in rows]

    def recipes(self) -> list[str]:
        """The names of the recipes of all runs."""
        with self._trouble():
            return [name for (name,) in self._index.execute("SELECT recipe FROM runs")]

    def names(self) -> list[str]:
        """The names of all originals."""
        return self._objects.names()


def _stored(value: Any) -> Any:
    """A value as the index holds it: a text with lone surrogates, for which SQLite has no spelling, as bytes."""
    if not isinstance(value, str):
        return value
    try:
        value.encode()
    except UnicodeEncodeError:
        return value.encode("utf-8", "surrogatepass")
    return value


def _read(value: Any) -> Any:
    """The value that `_stored` was given."""
    return value.decode("utf-8", "surrogatepass") if isinstance(value, bytes) else value
