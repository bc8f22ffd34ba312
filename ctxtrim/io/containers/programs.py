"""The programs whose databases are read, each with its queries.

::

    opencode   session, message, part   opencode.db   as `opencode export` writes a session
    opencode 2 session, session_message opencode.db   as `opencode session export` writes it
    Goose      sessions, messages       sessions.db   as `goose session export --format json` does
    Crush      sessions, messages       crush.db      {"session": {…}, "messages": [{…, "parts"}]}

Columns that hold JSON become JSON, with the spelling of their values. Columns without a value are
left out. Sources: `packages/opencode/src/session/session.sql.ts` and, of opencode 2,
`packages/core/src/session/sql.ts` and `info.ts` of anomalyco/opencode (2026),
`crates/goose/src/session/session_manager.rs` of block/goose (schema versions 1 to 9),
`internal/db` and `internal/message` of charmbracelet/crush (2026).
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from msgspec import DecodeError, Raw, Struct, json

DatabaseRow = Mapping[str, Any]


class Program(Struct, frozen=True):
    """A program with a database.

    `columns`: tables and columns that only its database has all of. `sessions`: the query for the
    ids of its sessions with messages. `queries`: those for the rows of a session, by its id.
    `session`: the session that these rows make.
    """

    name: str
    columns: frozenset[tuple[str, str]]
    sessions: str
    queries: tuple[str, ...]
    session: Callable[..., Mapping[str, Any]]


def _json(text: Any) -> Any:
    """A column that holds JSON; a `DecodeError` if it does not. An empty one has no value."""
    return json.decode(_encoded(text), type=Raw) if text else None


def _members(text: Any) -> dict[str, Raw]:
    """The members of a column that holds an object; a `DecodeError` if it does not."""
    return json.decode(_encoded(text), type=dict[str, Raw])


def _encoded(value: Any) -> str | bytes:
    """The value of a column that holds JSON; a `DecodeError` if it is NULL or a number."""
    if isinstance(value, (str, bytes)):
        return value
    raise DecodeError("NULL" if value is None else f"the number {value}")


def _known(values: DatabaseRow) -> dict[str, Any]:
    """The members that have a value."""
    return {key: value for key, value in values.items() if value not in (None, "", {})}


def _opencode(
    sessions: Sequence[DatabaseRow], messages: Sequence[DatabaseRow], parts: Sequence[DatabaseRow]
) -> DatabaseRow:
    inside: dict[str, list[Any]] = {}
    for part in parts:
        ids = {"id": part["id"], "sessionID": part["session_id"], "messageID": part["message_id"]}
        inside.setdefault(part["message_id"], []).append(ids | _members(part["data"]))
    contents = [
        {
            "info": {"id": row["id"], "sessionID": row["session_id"]} | _members(row["data"]),
            "parts": inside.get(row["id"], []),
        }
        for row in messages
    ]
    return {"info": _opencode_info(sessions[0]), "messages": contents}


def _opencode_info(row: DatabaseRow) -> DatabaseRow:
    times = {key: row.get(f"time_{key}") for key in ("created", "updated", "archived")}
    return _known(
        {
            "id": row["id"],
            "slug": row.get("slug"),
            "projectID": row.get("project_id"),
            "directory": row.get("directory"),
            "parentID": row.get("parent_id"),
            "title": row.get("title"),
            "version": row.get("version"),
            "time": _known(times),
            "revert": _json(row.get("revert")),
            "permission": _json(row.get("permission")),
        }
    )


def _opencode_2(sessions: Sequence[DatabaseRow], messages: Sequence[DatabaseRow]) -> DatabaseRow:
    contents = [{"id": row["id"], "type": row["type"]} | _members(row["data"]) for row in messages]
    return {"info": _opencode_2_info(sessions[0]), "messages": contents}


def _opencode_2_info(row: DatabaseRow) -> DatabaseRow:
    times = {key: row.get(f"time_{key}") for key in ("created", "updated", "archived")}
    tokens = {key: row.get(f"tokens_{key}") for key in ("input", "output", "reasoning")}
    cache = {key: row.get(f"tokens_cache_{key}") for key in ("read", "write")}
    place = {"directory": row.get("directory"), "workspaceID": row.get("workspace_id")}
    return _known(
        {
            "id": row["id"],
            "parentID": row.get("parent_id"),
            "projectID": row.get("project_id"),
            "agent": row.get("agent"),
            "model": _json(row.get("model")),
            "cost": row.get("cost"),
            "tokens": _known({**tokens, "cache": _known(cache)}),
            "time": _known(times),
            "title": row.get("title"),
            "location": _known(place),
            "subpath": row.get("path"),
            "revert": _json(row.get("revert")),
        }
    )


def _opencode_either(
    sessions: Sequence[DatabaseRow],
    new_messages: Sequence[DatabaseRow],
    messages: Sequence[DatabaseRow],
    parts: Sequence[DatabaseRow],
) -> DatabaseRow:
    """A session in the version with more prompts, because either may have only some of them; in
    that of opencode 2 if both have the same number.
    """
    new_number = sum(row["type"] == "user" for row in new_messages)
    old = _opencode(sessions, messages, parts)
    old_number = sum(
        bytes(message["info"].get("role", b"")) == b'"user"' for message in old["messages"]
    )
    return old if old_number > new_number else _opencode_2(sessions, new_messages)


_SESSION = "SELECT * FROM session WHERE id = ?"
_OLD = (
    "SELECT * FROM message WHERE session_id = ? ORDER BY time_created, id",
    "SELECT * FROM part WHERE session_id = ? ORDER BY message_id, id",
)
_NEW = "SELECT * FROM session_message WHERE session_id = ? ORDER BY seq"
_HAS_OLD = "EXISTS (SELECT 1 FROM message WHERE session_id = session.id)"
_HAS_NEW = """EXISTS (
    SELECT 1 FROM session_message WHERE session_id = session.id AND type IN ('user', 'assistant')
)"""
_OLD_COLUMNS = frozenset({("message", "data"), ("part", "message_id"), ("part", "data")})
_NEW_COLUMNS = frozenset({("session_message", "seq"), ("session_message", "data")})


def _opencode_program(
    columns: frozenset[tuple[str, str]],
    condition: str,
    queries: Sequence[str],
    session: Callable[..., DatabaseRow],
) -> Program:
    """The program for databases with some columns; its sessions with messages meet a condition."""
    sessions = f"SELECT id FROM session WHERE {condition} ORDER BY time_created, id"
    return Program(
        "opencode", columns | {("session", "id")}, sessions, (_SESSION, *queries), session
    )


OPENCODE = (
    _opencode_program(
        _OLD_COLUMNS | _NEW_COLUMNS, f"{_HAS_OLD} OR {_HAS_NEW}", (_NEW, *_OLD), _opencode_either
    ),
    _opencode_program(_OLD_COLUMNS, _HAS_OLD, _OLD, _opencode),
    _opencode_program(_NEW_COLUMNS, _HAS_NEW, (_NEW,), _opencode_2),
)


def _goose(sessions: Sequence[DatabaseRow], messages: Sequence[DatabaseRow]) -> DatabaseRow:
    row = sessions[0]
    parsed = ("recipe", "user_recipe_values", "model_config")
    plain = {key: value for key, value in row.items() if key not in _GOOSE_CHANGED}
    if "user_set_name" in plain:
        plain["user_set_name"] = bool(plain["user_set_name"])
    return {
        **_known(plain),
        "name": row.get("name") or row.get("description") or "",
        "created_at": _goose_time(row["created_at"]),
        "updated_at": _goose_time(row["updated_at"]),
        "extension_data": _json(row.get("extension_data")) or {},
        **_known({key: _json(row.get(f"{key}_json")) for key in parsed}),
        "conversation": [_goose_message(message) for message in messages],
        "message_count": len(messages),
    }


_GOOSE_CHANGED = (
    "name", "description", "created_at", "updated_at", "extension_data", "recipe_json",
    "user_recipe_values_json", "model_config_json",
)  # fmt: skip


def _goose_time(value: Any) -> Any:
    """A time of SQLite, in UTC, as an export writes it; other values as they are."""
    is_time = isinstance(value, str) and len(value) == len("2025-01-31 12:00:00")
    return f"{value.replace(' ', 'T')}Z" if is_time else value


def _goose_message(row: DatabaseRow) -> DatabaseRow:
    visible = {"userVisible": True, "agentVisible": True}
    return _known({"id": row.get("message_id")}) | {
        "role": row["role"],
        "created": row["created_timestamp"],
        "content": _json(row["content_json"]),
        "metadata": _json(row.get("metadata_json")) or visible,
    }


GOOSE = Program(
    "Goose",
    frozenset(
        {("sessions", "id"), ("messages", "content_json"), ("messages", "created_timestamp")}
    ),
    """
    SELECT id FROM sessions WHERE EXISTS (SELECT 1 FROM messages WHERE session_id = sessions.id)
    ORDER BY created_at, rowid
    """,
    (
        "SELECT * FROM sessions WHERE id = ?",
        "SELECT * FROM messages WHERE session_id = ? ORDER BY created_timestamp, id",
    ),
    _goose,
)


def _crush(sessions: Sequence[DatabaseRow], messages: Sequence[DatabaseRow]) -> DatabaseRow:
    session = sessions[0]
    return {
        "session": _known({**session, "todos": _json(session.get("todos"))}),
        "messages": [_crush_message(row, session.get("summary_message_id")) for row in messages],
    }


def _crush_message(row: DatabaseRow, summary: str | None) -> DatabaseRow:
    """A message. A summary is one if the session names it: others failed."""
    record = _known({**row, "parts": None, "is_summary_message": None})
    if row["id"] == summary:
        record["is_summary_message"] = True
    return record | {"parts": _json(row["parts"])}


CRUSH = Program(
    "Crush",
    frozenset({("sessions", "id"), ("messages", "parts"), ("messages", "created_at")}),
    """
    SELECT id FROM sessions WHERE EXISTS (SELECT 1 FROM messages WHERE session_id = sessions.id)
    ORDER BY created_at, rowid
    """,
    (
        "SELECT * FROM sessions WHERE id = ?",
        "SELECT * FROM messages WHERE session_id = ? ORDER BY created_at, rowid",
    ),
    _crush,
)

PROGRAMS = (*OPENCODE, GOOSE, CRUSH)
