"""Databases of agents (SQLite): read without changing their data, blocking or locking them.

A database in use has a write-ahead log (`-wal`) and its index (`-shm`): it is read with them, which
blocks no writer. SQLite then updates the index, which has no data. A log without its index belongs
to a program that ended early: database and log are copied to a temporary folder, where the index
can be made. A database without a log is opened as immutable if it has the mode of such logs,
because SQLite would make both files. Sessions are read one at a time, so a database without this
mode is locked only for a moment.
"""

import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import msgspec

from ctxtrim.errors import InputError, too_large
from ctxtrim.io.containers.programs import PROGRAMS, Program
from ctxtrim.text.records import one_line

_WAL_MODE = b"\x02\x02"  # the file format versions for writing and reading, bytes 18 and 19
_PATIENCE = 5  # seconds to wait for a writer that locks the database
_COLUMNS = """
    SELECT tables.name, columns.name
    FROM sqlite_master AS tables JOIN pragma_table_info(tables.name) AS columns
    WHERE tables.type = 'table'
"""


def lines(path: Path, max_size: int) -> Iterator[bytes]:
    """The sessions of a database, in the order in which they were created, as JSON lines."""
    try:
        with _opened(path) as database:
            program = _program(database)
            database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, max_size)
            names = [row[0] for row in database.execute(program.sessions)]
            if not names:
                raise InputError(f"no transcript found: the {program.name} database is empty")
            for number, name in enumerate(names, 1):
                tables = _tables(database, program, name, max_size, number)
                if tables[0]:  # its program may have deleted it
                    yield _line(program, tables, number)
    except sqlite3.DataError as error:
        raise InputError(too_large("a row of the database", max_size)) from error
    except sqlite3.Error as error:
        raise InputError(_reason(error)) from error


@contextmanager
def _opened(path: Path) -> Iterator[sqlite3.Connection]:
    """A connection that can only read."""
    path = path.resolve()  # a link has its logs next to its target
    log, index = Path(f"{path}-wal"), Path(f"{path}-shm")
    with path.open("rb") as file:
        has_logs = file.read(20)[18:] == _WAL_MODE
    with tempfile.TemporaryDirectory() as folder:
        if has_logs and log.exists() and not index.exists():
            still = Path(folder, "copy").resolve()
            shutil.copy(path, still)
            shutil.copy(log, f"{still}-wal")
            path = still
        is_still = has_logs and not Path(f"{path}-wal").exists()
        uri = f"{path.as_uri()}?mode=ro{'&immutable=1' if is_still else ''}"
        opened = sqlite3.connect(uri, timeout=_PATIENCE, uri=True, isolation_level=None)
        with closing(opened) as database:
            database.execute("PRAGMA trusted_schema = OFF")
            yield database


def _program(database: sqlite3.Connection) -> Program:
    """The program that wrote a database; an `InputError` if it is unknown."""
    columns = set(database.execute(_COLUMNS))
    for program in PROGRAMS:
        if program.columns <= columns:
            return program
    known = ", ".join(dict.fromkeys(program.name for program in PROGRAMS))
    raise InputError(f"no transcript found: a SQLite database, but not one of {known}")


def _tables(
    database: sqlite3.Connection, program: Program, name: str, max_size: int, number: int
) -> list[list[dict[str, Any]]]:
    """The rows of a session in each table, as of one moment; an `InputError` if it is too large."""
    size = 0
    tables = []
    database.execute("BEGIN")
    for query in program.queries:
        cursor = database.execute(query, (name,))
        keys = [column[0] for column in cursor.description]
        rows = []
        for row in cursor:
            size += sum(len(value) for value in row if isinstance(value, (str, bytes)))
            if size > max_size:
                raise InputError(too_large("the session", max_size), number)
            rows.append(dict(zip(keys, row, strict=True)))
        tables.append(rows)
    database.execute("COMMIT")
    return tables


def _line(program: Program, tables: list[list[dict[str, Any]]], number: int) -> bytes:
    """A session as a line; an `InputError` if a column is not JSON."""
    try:
        return one_line(msgspec.json.encode(program.session(*tables))) + b"\n"
    except msgspec.DecodeError as error:
        name = tables[0][0]["id"]
        raise InputError(
            f"session {name} has a value that is not JSON ({error})", number
        ) from error


def _reason(error: sqlite3.Error) -> str:
    text = str(error)
    if "locked" in text:
        return "the database is locked by another program; close it and try again"
    return f"the database cannot be read ({text}); copy it again while its program is closed"
