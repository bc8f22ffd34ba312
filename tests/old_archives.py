"""Archives of older versions: in the layout of version 1, a file for each original and an index in
SQLite; and packs with fewer values.
"""

import gzip
import json
import sqlite3
from collections.abc import Iterable, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

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


def records(pack: Path) -> list[tuple[dict[str, Any], bytes]]:
    """The heads and the bytes of the records in a pack."""
    data, position, found = gzip.decompress(pack.read_bytes()), 0, []
    while position < len(data):
        end = data.index(b"\n", position) + 1
        head = json.loads(data[position:end])
        found.append((head, data[end : end + head["size"]]))
        position = end + head["size"] + sha256().digest_size
    return found


def write_records(pack: Path, records: Iterable[tuple[Mapping[str, Any], bytes]]) -> None:
    """Write a pack with valid digests."""
    parts = []
    for head, data in records:
        line = json.dumps(head).encode() + b"\n"
        parts.append(line + data + sha256(line + data).digest())
    pack.write_bytes(gzip.compress(b"".join(parts)))


def make_older(pack: Path) -> None:
    """Make a pack one of the first version of packs, which had fewer values."""
    older = []
    for head, data in records(pack):
        for key in ("target", "objects"):
            head.pop(key, None)
        if "starts" not in head:
            older.append((head, data))
    write_records(pack, older)


def store(folder: Path, data: bytes) -> str:
    """Store some bytes by their SHA-256."""
    name = sha256(data).hexdigest()
    path = folder / "objects" / name[:2] / name[2:]
    path.parent.mkdir(exist_ok=True, mode=0o700)
    path.write_bytes(data)
    path.chmod(0o600)
    return name
