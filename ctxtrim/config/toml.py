"""Files of our own: `ctxtrim.toml`, the one that `--config` names, the user's, and our table in `pyproject.toml`."""

from pathlib import Path
from typing import Any

from ctxtrim.config import documents
from ctxtrim.config.models import checked_models
from ctxtrim.config.said import Said
from ctxtrim.errors import InputError, UsageError, reason


def own_file(path: Path, *, must_exist: bool = False) -> Said:
    """What a file of ours says; nothing where there is none, unless it must exist."""
    data = _data(path, must_exist)
    return _read(path, _document(path, data)) if data else Said(str(path))


def project_table(path: Path, *, must_exist: bool = False) -> Said:
    """What `[tool.ctxtrim]` of a `pyproject.toml` says. One that does not speak of us is not looked into."""
    data = _data(path, must_exist)
    tools = _document(path, data).get("tool", {}) if b"ctxtrim" in data else {}
    table = tools.get("ctxtrim", {}) if isinstance(tools, dict) else {}
    if not isinstance(table, dict):
        raise UsageError(f"{path}: tool.ctxtrim: expected a table, found {table!r}")
    return _read(path, table, "tool.ctxtrim") if table else Said(str(path))


def _read(path: Path, document: dict[str, Any], table: str = "") -> Said:
    said = Said(str(path))
    dotted = f"{table}.models" if table else "models"
    said.models.update(checked_models(f"{path}: {dotted}", document.get("models", {})))
    return documents.read(said, {key: value for key, value in document.items() if key != "models"}, table)


def _data(path: Path, must_exist: bool) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        if isinstance(error, FileNotFoundError) and not must_exist:
            return b""
        raise InputError(f"{path}: cannot be read: {reason(error)}") from error


def _document(path: Path, data: bytes) -> dict[str, Any]:
    import tomllib  # most runs find no such file

    try:
        return tomllib.loads(data.decode())
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{path}: no TOML: {error}") from error
