"""A session of opencode as the files of a storage folder."""

import json
from pathlib import Path
from typing import Any

from writers import opencode


def store(talk: list[dict[str, Any]], root: Path, number: int = 0, *, is_old: bool = False) -> Path:
    """Write a conversation as a session, without compactions; returns the session file.

    Old folders have all files under `session/`. Files of even numbers are indented, as opencode
    writes them; others are one line with a line break.
    """
    value = _in_order(opencode.session(talk, number))
    name = value["info"]["id"]
    base = root / "session" if is_old else root
    _write(root / "session" / ("info" if is_old else "p1") / f"{name}.json", value["info"], number)
    for message in value["messages"]:
        info = message["info"] | {"sessionID": name}
        _write(base / "message" / name / f"{info['id']}.json", info, number)
        folder = base / "part" / (f"{name}/{info['id']}" if is_old else info["id"])
        for part in message["parts"]:
            _write(folder / f"{part['id']}.json", part | {"sessionID": name}, number)
    return root / "session" / ("info" if is_old else "p1") / f"{name}.json"


def _in_order(session: dict[str, Any]) -> dict[str, Any]:
    """The session without its compaction; the names of its files sort in its order."""
    messages = [each for each in session["messages"] if not each["info"]["id"].startswith("msg_8")]
    return session | {"messages": messages}


def _write(path: Path, value: dict[str, Any], number: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value) + "\n" if number % 2 else json.dumps(value, indent=2))
