"""Databases of agents: read session by session, and never changed, blocked or left with files."""

import json
import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from conftest import Run
from memory import measured
from strategies import CONVERSATIONS

from ctxtrim.errors import InputError
from ctxtrim.io.containers import databases

TALK: list[dict[str, Any]] = [
    {"role": "user", "texts": ["Which buoys are out?"]},
    {
        "role": "assistant",
        "texts": ["I look."],
        "calls": [{"id": "c1", "name": "bash", "input": {"x": "buoys"}}],
    },
    {"role": "tool", "id": "c1", "texts": ["north\nsouth\n" * 90], "image": False, "error": None},
    {"role": "assistant", "texts": ["North and south."], "calls": []},
    {"role": "user", "texts": ["Repair them."]},
]
SCHEMAS = {
    "opencode": """
        CREATE TABLE session (id TEXT PRIMARY KEY, project_id TEXT, parent_id TEXT, slug TEXT,
            directory TEXT, title TEXT, version TEXT, revert TEXT, permission TEXT,
            time_created INTEGER, time_updated INTEGER, time_archived INTEGER);
        CREATE TABLE message (id TEXT PRIMARY KEY, session_id TEXT, time_created INTEGER,
            time_updated INTEGER, data TEXT NOT NULL);
        CREATE TABLE part (id TEXT PRIMARY KEY, message_id TEXT, session_id TEXT,
            time_created INTEGER, time_updated INTEGER, data TEXT NOT NULL);
    """,
    "opencode, 2": """
        CREATE TABLE session (id TEXT PRIMARY KEY, project_id TEXT, parent_id TEXT, slug TEXT,
            directory TEXT, path TEXT, title TEXT, version TEXT, cost REAL, tokens_input INTEGER,
            tokens_output INTEGER, tokens_reasoning INTEGER, tokens_cache_read INTEGER,
            tokens_cache_write INTEGER, revert TEXT, permission TEXT, agent TEXT, model TEXT,
            time_created INTEGER, time_updated INTEGER, time_archived INTEGER);
        CREATE TABLE session_message (id TEXT PRIMARY KEY, session_id TEXT, type TEXT, seq INTEGER,
            time_created INTEGER, time_updated INTEGER, data TEXT NOT NULL);
    """,
    "goose": """
        CREATE TABLE sessions (id TEXT PRIMARY KEY, name TEXT, description TEXT, working_dir TEXT,
            created_at TIMESTAMP, updated_at TIMESTAMP, extension_data TEXT, total_tokens INTEGER,
            recipe_json TEXT, user_recipe_values_json TEXT, model_config_json TEXT);
        CREATE TABLE messages (id INTEGER PRIMARY KEY AUTOINCREMENT, message_id TEXT,
            session_id TEXT, role TEXT, content_json TEXT, created_timestamp INTEGER,
            timestamp TIMESTAMP, tokens INTEGER, metadata_json TEXT);
    """,
    "crush": """
        CREATE TABLE sessions (id TEXT PRIMARY KEY, parent_session_id TEXT, title TEXT,
            summary_message_id TEXT, todos TEXT, created_at INTEGER, updated_at INTEGER);
        CREATE TABLE messages (id TEXT PRIMARY KEY, session_id TEXT, role TEXT,
            parts BLOB NOT NULL default '[]', model TEXT, provider TEXT, created_at INTEGER,
            updated_at INTEGER, finished_at INTEGER, is_summary_message INTEGER);
    """,
}
SECONDS = 1767350000
BOMB = "bomb TEXT GENERATED ALWAYS AS (hex(zeroblob(40000000))) VIRTUAL, content_json TEXT"


def put(database: sqlite3.Connection, table: str, **row: Any) -> None:
    marks = ", ".join("?" * len(row))
    database.execute(
        f"INSERT INTO {table} ({', '.join(row)}) VALUES ({marks})", tuple(row.values())
    )


def opencode(database: sqlite3.Connection, number: int) -> dict[str, Any]:
    """A session in the database, and as `opencode export` writes it."""
    value: dict[str, Any] = CONVERSATIONS["opencode"](TALK, number)
    name, times = f"ses_{number}", {"time_created": number, "time_updated": 9}
    revert = {"messageID": f"msg_{number}9"}  # after the last message
    fields = times | {"revert": json.dumps(revert)}
    put(database, "session", id=name, slug="s", title="Buoys", version="1.2", **fields)
    info = {"id": name, "slug": "s", "title": "Buoys", "version": "1.2"}
    value["info"] = info | {"time": {"created": number, "updated": 9}, "revert": revert}
    for at, message in enumerate(value["messages"]):
        identity = {"id": f"msg_{number}{at}", "sessionID": name}
        rest = {key: inner for key, inner in message["info"].items() if key not in identity}
        message["info"] = identity | rest
        data = json.dumps(rest)
        put(database, "message", id=identity["id"], session_id=name, time_created=at, data=data)
        for place, part in enumerate(message["parts"]):
            ids = {
                "id": f"prt_{number}{at}{place}",
                "sessionID": name,
                "messageID": identity["id"],
            }
            rest = {key: inner for key, inner in part.items() if key not in ids}
            message["parts"][place] = ids | rest
            fields = {"message_id": identity["id"], "session_id": name, "data": json.dumps(rest)}
            put(database, "part", id=ids["id"], **fields)
    return value


def opencode_2(database: sqlite3.Connection, number: int) -> dict[str, Any]:
    """A session in the database, and as `opencode session export` writes it."""
    value: dict[str, Any] = CONVERSATIONS["opencode, 2"](TALK, number)
    name, model = f"ses_{number}", value["info"]["model"]
    put(
        database, "session", id=name, project_id="p", agent="build", model=json.dumps(model),
        cost=0.5, tokens_input=9, tokens_cache_read=0, time_created=number, time_updated=9,
        title="Buoys", directory="/bay", path="north",
    )  # fmt: skip
    value["info"] = {
        "id": name,
        "projectID": "p",
        "agent": "build",
        "model": model,
        "cost": 0.5,
        "tokens": {"input": 9, "cache": {"read": 0}},
        "time": {"created": number, "updated": 9},
        "title": "Buoys",
        "location": {"directory": "/bay"},
        "subpath": "north",
    }
    rows = []
    for at, message in enumerate(value["messages"]):
        message["id"] = f"msg_{number}{9 - at}"
        data = {key: inner for key, inner in message.items() if key not in ("id", "type")}
        fields = {"id": message["id"], "type": message["type"], "data": json.dumps(data)}
        rows.append(fields | {"session_id": name, "seq": at, "time_created": 1})
    for row in reversed(rows):
        put(database, "session_message", **row)
    return value


def goose(database: sqlite3.Connection, number: int) -> dict[str, Any]:
    """A session in the database, and as `goose session export` writes it."""
    value: dict[str, Any] = CONVERSATIONS["goose"](TALK, 2 * number)
    name, model = value["id"], json.dumps(value["model_config"])
    put(
        database, "sessions", id=name, name="Tides", description="", working_dir="/bay",
        created_at=f"2026-01-0{number + 1} 10:00:00", updated_at="2026-01-09 10:00:00",
        extension_data="{}", model_config_json=model,
    )  # fmt: skip
    for message in value["conversation"]:
        put(
            database, "messages", message_id=message["id"], session_id=name, role=message["role"],
            content_json=json.dumps(message["content"]), created_timestamp=message["created"],
            timestamp="2026-01-02 10:00:00", metadata_json=json.dumps(message["metadata"]),
        )  # fmt: skip
    times = {"created_at": f"2026-01-0{number + 1}T10:00:00Z", "updated_at": "2026-01-09T10:00:00Z"}
    first = {"id": name, "working_dir": "/bay", "name": "Tides"} | times | {"extension_data": {}}
    return first | {key: value[key] for key in ("model_config", "conversation", "message_count")}


def crush(database: sqlite3.Connection, number: int) -> dict[str, Any]:
    """A session in the database, and the line for it."""
    value: dict[str, Any] = CONVERSATIONS["crush"](TALK, 0)
    name, times = f"ses-{number}", {"created_at": SECONDS + number, "updated_at": SECONDS + 9}
    put(database, "sessions", id=name, title="Tides", **times)
    value["session"] = {"id": name, "title": "Tides", **times}
    for at, message in enumerate(value["messages"]):
        message["id"], message["session_id"] = f"{name}-{9 - at}", name
        row = message | {"parts": json.dumps(message["parts"]).encode()}
        put(database, "messages", **row)
        message["parts"] = message.pop("parts")
    return value


WRITERS: dict[str, Callable[[sqlite3.Connection, int], dict[str, Any]]] = {
    "opencode": opencode,
    "opencode, 2": opencode_2,
    "goose": goose,
    "crush": crush,
}


def written(path: Path, program: str, mode: str = "wal", sessions: int = 2) -> bytes:
    """Write a database with some sessions, and one without messages; the lines for it."""
    with closing(sqlite3.connect(path)) as database:
        database.execute(f"PRAGMA journal_mode = {mode}")
        database.executescript(SCHEMAS[program])
        table = "session" if "opencode" in program else "sessions"
        put(database, table, id="empty")
        values = [WRITERS[program](database, number) for number in range(sessions)]
        database.commit()
    return b"".join(json.dumps(each, separators=(",", ":")).encode() + b"\n" for each in values)


def state(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


programs = pytest.mark.parametrize("program", SCHEMAS)


@pytest.mark.parametrize("mode", ["wal", "delete"])
@programs
def test_a_session_becomes_a_line_as_its_program_exports_it(
    ctxtrim: Run, tmp_path: Path, program: str, mode: str
) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    lines = written(folder / "any-name", program, mode)
    before = state(folder)
    assert ctxtrim("trim", folder / "any-name").out == lines
    assert ctxtrim("trim", stdin=before["any-name"]).out == lines
    assert state(folder) == before
    (tmp_path / "x.jsonl").write_bytes(lines)
    rows, others = (
        json.loads(ctxtrim("count", "--json", path).out)["transcripts"]
        for path in (folder / "any-name", tmp_path / "x.jsonl")
    )
    assert [(row["format"], row["line"], row["tokens"]) for row in rows] == [
        (program.partition(",")[0], row["line"], row["tokens"]) for row in others
    ]
    assert [row["line"] for row in rows] == [1, 2]


@programs
def test_edited_sessions_fit_are_checked_and_undone(
    ctxtrim: Run, tmp_path: Path, program: str
) -> None:
    path, out, archive = (tmp_path / name for name in ("a.db", "x.jsonl", "archive"))
    lines = written(path, program)
    data = path.read_bytes()
    assert ctxtrim("check", "--budget", "4000", path).code == 0
    words = ("trim", "--budget", "150", "--archive", archive, path, "-o", out)
    assert ctxtrim(*words).code == 0
    assert ctxtrim("check", "--budget", "150", out).code == 0
    assert ctxtrim("trim", "--budget", "150", out).out == out.read_bytes()
    assert ctxtrim("restore", "--archive", archive, out).out == lines
    assert path.read_bytes() == data


@programs
def test_a_database_is_not_edited_in_place(ctxtrim: Run, tmp_path: Path, program: str) -> None:
    path = tmp_path / "a.db"
    written(path, program)
    before = state(tmp_path)
    ran = ctxtrim("trim", "--in-place", "--budget", "150", path)
    assert (ran.code, state(tmp_path)) == (2, before)
    assert "a database is only read; write its transcripts with -o x.jsonl" in ran.err


def both_versions(path: Path, *statements: str) -> list[str]:
    """Write a database with a session of each version of opencode, in the tables of both; the
    types of the messages of each line after some statements.
    """
    with closing(sqlite3.connect(path)) as database:
        database.executescript(SCHEMAS["opencode, 2"])
        database.executescript(SCHEMAS["opencode"].partition(";")[2])
        opencode(database, 0)
        opencode_2(database, 1)
        for statement in statements:
            database.execute(statement)
        database.commit()
    lines = list(databases.lines(path, 1 << 30))
    return ["2" if "type" in json.loads(line)["messages"][0] else "1" for line in lines]


@pytest.mark.parametrize(
    ("statements", "versions"),
    [
        ((), ["1", "2"]),
        (("DELETE FROM message",), ["2"]),
        (("UPDATE session_message SET type = 'agent-switched' WHERE type != 'idle'",), ["1"]),
        # a session of both versions
        (("UPDATE session_message SET session_id = 'ses_0'",), ["2"]),
        (("UPDATE message SET session_id = 'ses_1'",), ["2"]),
        (
            (
                "UPDATE session_message SET session_id = 'ses_0'",
                "DELETE FROM session_message WHERE seq > 4",
            ),
            ["1"],
        ),
    ],
)
def test_sessions_of_both_versions_of_opencode_are_read(
    tmp_path: Path, statements: tuple[str, ...], versions: list[str]
) -> None:
    assert both_versions(tmp_path / "a.db", *statements) == versions


def test_databases_in_a_folder_must_be_named(ctxtrim: Run, tmp_path: Path) -> None:
    written(tmp_path / "opencode.db", "opencode")
    (tmp_path / "a.jsonl").write_text('{"messages":[{"role":"user","content":"Hi"}]}\n')
    assert len(json.loads(ctxtrim("count", "--json", tmp_path).out)["transcripts"]) == 1


@pytest.mark.parametrize("mode", ["wal", "delete"])
@programs
def test_a_database_in_use_is_read_as_it_is_and_its_program_writes_on(
    ctxtrim: Run, tmp_path: Path, program: str, mode: str
) -> None:
    path = tmp_path / "a.db"
    written(path, program, mode)
    with closing(sqlite3.connect(path, timeout=0)) as database:
        WRITERS[program](database, 2)
        database.commit()
        before = state(tmp_path)
        reading = databases.lines(path, 1 << 30)
        next(reading)
        WRITERS[program](database, 3)  # between two sessions, without waiting
        database.commit()
        assert len(list(reading)) == 2
        assert len(ctxtrim("trim", path).out.splitlines()) == 4
        assert state(tmp_path).keys() == before.keys()
    with closing(sqlite3.connect(path)) as database:
        assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)


@pytest.mark.parametrize("logs", [("a.db-wal",), ("a.db-wal", "a.db-shm")], ids=len)
def test_the_logs_of_a_killed_program_are_read_and_stay(
    ctxtrim: Run, tmp_path: Path, logs: tuple[str, ...]
) -> None:
    path, left = tmp_path / "a.db", tmp_path / "left"
    written(path, "goose")
    left.mkdir()
    with closing(sqlite3.connect(path)) as database:
        goose(database, 2)
        database.commit()
        for name in ("a.db", *logs):
            (left / name).write_bytes((tmp_path / name).read_bytes())
    before = state(left)
    (tmp_path / "link").symlink_to(left / "a.db")
    for path in (left / "a.db", tmp_path / "link"):
        assert len(ctxtrim("trim", path).out.splitlines()) == 3
        after = state(left)
        assert after.keys() == before.keys()
        assert [after[name] for name in ("a.db", "a.db-wal")] == [
            before[name] for name in ("a.db", "a.db-wal")
        ]


def test_a_session_that_its_program_deletes_meanwhile_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    written(path, "goose", sessions=3)
    with closing(sqlite3.connect(path)) as database:
        goose(database, 3)
        database.commit()
        reading = databases.lines(path, 1 << 30)
        next(reading)
        database.execute("DELETE FROM sessions WHERE id = '20260102_4'")
        database.commit()
        assert len(list(reading)) == 2


def test_a_folder_that_cannot_be_written_is_enough(ctxtrim: Run, tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    lines = written(path, "crush")
    path.chmod(0o400)
    tmp_path.chmod(0o500)
    try:
        assert ctxtrim("trim", path).out == lines
    finally:
        tmp_path.chmod(0o700)


def test_a_locked_database_is_one_clear_line(
    ctxtrim: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(databases, "_PATIENCE", 0)
    path = tmp_path / "a.db"
    written(path, "crush", "delete")
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute("BEGIN EXCLUSIVE")
        ran = ctxtrim("trim", path, "-o", tmp_path / "x.jsonl")
    assert (ran.code, (tmp_path / "x.jsonl").exists()) == (1, False)
    assert f"{path}: error: the database is locked by another program" in ran.err
    assert len(ran.err.splitlines()) == 2


@pytest.mark.parametrize(
    "statement, error",
    [
        ("DROP TABLE part", "a SQLite database, but not one of opencode, Goose, Crush"),
        ("DELETE FROM message", "the opencode database is empty"),
        ("UPDATE part SET data = '{\"type\": '", "session ses_0 has a value that is not JSON"),
        ("UPDATE message SET data = '[1]'", "session ses_0 has a value that is not JSON"),
        ("UPDATE part SET data = CAST(x'7b22ff' AS TEXT)", "the database cannot be read"),
    ],
)
def test_a_database_without_sessions_is_one_clear_line(
    ctxtrim: Run, tmp_path: Path, statement: str, error: str
) -> None:
    path = tmp_path / "a.db"
    written(path, "opencode")
    with closing(sqlite3.connect(path)) as database:
        database.execute(statement)
        database.commit()
    ran = ctxtrim("count", path)
    assert (ran.code, error in ran.err, len(ran.err.splitlines())) == (1, True, 1)
    assert f"{path}:" in ran.err


@pytest.mark.parametrize(
    ("program", "column", "value", "what"),
    [
        ("opencode", "part.data", None, "NULL"),
        ("opencode", "message.data", None, "NULL"),
        ("crush", "messages.parts", 7, "the number 7"),
    ],
)
def test_a_column_without_json_names_the_session(
    ctxtrim: Run,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    program: str,
    column: str,
    value: int | None,
    what: str,
) -> None:
    path = tmp_path / "a.db"
    monkeypatch.setitem(SCHEMAS, program, SCHEMAS[program].replace("NOT NULL", ""))
    written(path, program)
    table, name = column.split(".")
    with closing(sqlite3.connect(path)) as database:
        database.execute(f"UPDATE {table} SET {name} = ?", (value,))
        database.commit()
    ran = ctxtrim("count", path)
    assert ran.code == 1
    assert f"{path}:1: error: session " in ran.err
    assert f"has a value that is not JSON ({what})" in ran.err


def test_a_damaged_database_is_one_clear_line(ctxtrim: Run, tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    written(path, "opencode")
    data = path.read_bytes()
    for damaged in (data[:3000], data[:100] + os.urandom(len(data) - 100), data[:16]):
        path.write_bytes(damaged)
        ran = ctxtrim("count", path)
        assert (ran.code, ran.out, len(ran.err.splitlines())) == (1, b"", 1)
        assert "the database cannot be read" in ran.err


def test_a_session_above_the_size_limit_is_refused(ctxtrim: Run, tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    written(path, "goose")
    ran = ctxtrim("count", "--max-size", "2000", path)
    assert ran.code == 1
    assert f"{path}:1: error: the session has more than 2,000 bytes" in ran.err


def test_a_row_above_the_size_limit_is_refused_before_memory_ends(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    with closing(sqlite3.connect(path)) as database:
        database.executescript(SCHEMAS["goose"].replace("content_json TEXT", BOMB))
        put(database, "sessions", id="s", created_at="2026-01-01 10:00:00")
        put(database, "messages", session_id="s", role="user", created_timestamp=1)
        database.commit()
    refused = pytest.raises(InputError, match="a row of the database has more than 5,000,000 bytes")
    with measured() as memory, refused:
        list(databases.lines(path, 5_000_000))
    assert memory.peak < 5_000_000


def test_memory_is_that_of_one_session(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    written(path, "crush", sessions=0)
    parts = json.dumps([{"type": "text", "data": {"text": "gull " * 200_000}}])
    with closing(sqlite3.connect(path)) as database:
        for number in range(20):
            put(database, "sessions", id=f"s{number}", title="", created_at=number)
            fields = {"session_id": f"s{number}", "role": "user", "created_at": 1}
            put(database, "messages", id=f"m{number}", parts=parts, **fields)
        database.commit()
    with measured() as memory:
        for line in databases.lines(path, 1 << 30):
            assert len(line) > 1_000_000
    assert memory.peak < 12_000_000


def test_the_session_names_the_summary_in_older_databases_of_crush(
    ctxtrim: Run, tmp_path: Path
) -> None:
    path = tmp_path / "a.db"
    written(path, "crush", sessions=1)
    with closing(sqlite3.connect(path)) as database:
        database.execute("ALTER TABLE messages DROP COLUMN is_summary_message")
        database.execute("UPDATE sessions SET summary_message_id = 'ses-0-6'")
        database.commit()
    (row,) = json.loads(ctxtrim("count", "--json", path).out)["transcripts"]
    assert row["messages"] == 2


@pytest.mark.parametrize(("named", "count"), [(None, 5), ("ses-0-8", 4)], ids=["none", "older"])
def test_a_summary_of_crush_that_failed_replaces_nothing(
    ctxtrim: Run, tmp_path: Path, named: str | None, count: int
) -> None:
    path = tmp_path / "a.db"
    written(path, "crush", sessions=1)
    with closing(sqlite3.connect(path)) as database:
        database.execute("UPDATE messages SET is_summary_message = 1 WHERE id = 'ses-0-6'")
        database.execute("UPDATE sessions SET summary_message_id = ?", (named,))
        database.commit()
    (row,) = json.loads(ctxtrim("count", "--json", path).out)["transcripts"]
    assert row["messages"] == count


def test_messages_of_goose_have_the_order_of_their_own_times(ctxtrim: Run, tmp_path: Path) -> None:
    """A summary of an old call is stored last, with the time of the call that it replaces."""
    path, words = tmp_path / "a.db", "A call listed the buoys."
    written(path, "goose", sessions=1)
    with closing(sqlite3.connect(path)) as database:
        (second,) = database.execute(
            "SELECT created_timestamp FROM messages WHERE id = 2"
        ).fetchone()
        name = database.execute("SELECT DISTINCT session_id FROM messages").fetchone()[0]
        put(
            database, "messages", message_id="late", session_id=name, role="user",
            content_json=json.dumps([{"type": "text", "text": words}]), created_timestamp=second,
            timestamp="2026-01-03 10:00:00",
        )  # fmt: skip
        database.commit()
    conversation = json.loads(ctxtrim("trim", path).out)["conversation"]
    assert [each["created"] for each in conversation] == sorted(
        each["created"] for each in conversation
    )
    assert conversation[-1]["id"] != "late"
