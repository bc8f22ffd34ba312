"""Archives in the layout of version 1: a file for each original, and an index in SQLite."""

import json
import sqlite3
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path

SCHEMA = """
CREATE TABLE traces (
    id TEXT NOT NULL, sha256 TEXT NOT NULL, path TEXT NOT NULL, line INTEGER, tool TEXT,
    stage TEXT NOT NULL, time TEXT NOT NULL, UNIQUE (id, sha256, path, line, stage)
);
CREATE TABLE runs (
    output TEXT NOT NULL, input TEXT NOT NULL, recipe TEXT NOT NULL, path TEXT NOT NULL,
    pipeline TEXT NOT NULL, time TEXT NOT NULL, UNIQUE (output, input)
);
PRAGMA journal_mode = WAL;
PRAGMA user_version = 1;
"""
TIME = "2025-01-31T12:00:00.000Z"


def old_archive(folder: Path, data: bytes, out: bytes, originals: Mapping[str, str]) -> None:
    """Make an archive in which `out` was made from `data` and results were replaced: `originals`
    are texts by id.
    """
    (folder / "objects").mkdir(parents=True, mode=0o700)
    folder.chmod(0o700)
    same = next(
        position
        for position in range(len(data))
        if data[position : position + 1] != out[position : position + 1]
    )
    recipe = store(folder, json.dumps([[0, same], store(folder, data[same:])]).encode())
    index = sqlite3.connect(folder / "index.sqlite3")
    with index:
        index.executescript(SCHEMA)
        for name, text in originals.items():
            row = (name, store(folder, text.encode()), "t.jsonl", 1, "look", "truncate", TIME)
            index.execute("INSERT INTO traces VALUES (?, ?, ?, ?, ?, ?, ?)", row)
        row = (
            sha256(out).hexdigest(),
            sha256(data).hexdigest(),
            recipe,
            "t.jsonl",
            "truncate",
            TIME,
        )
        index.execute("INSERT INTO runs VALUES (?, ?, ?, ?, ?, ?)", row)
    index.close()
    (folder / "index.sqlite3").chmod(0o600)


def store(folder: Path, data: bytes) -> str:
    """Store some bytes by their SHA-256."""
    name = sha256(data).hexdigest()
    path = folder / "objects" / name[:2] / name[2:]
    path.parent.mkdir(exist_ok=True, mode=0o700)
    path.write_bytes(data)
    path.chmod(0o600)
    return name
