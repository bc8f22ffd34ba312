"""Files of our own: `ctxtrim.toml`, the one that `--config` names, the user's, and our table in `pyproject.toml`."""

from pathlib import Path
from typing import Any

from ctxtrim.config import mappings
from ctxtrim.config.contents import contents
from ctxtrim.config.own_models import checked_models
from ctxtrim.config.source import Said
from ctxtrim.errors import UsageError
from ctxtrim.text.escaping import clean
from ctxtrim.tokenizers.tokenizer_files import is_path


def own_file(path: Path, *, is_named: bool = False, is_trusted: bool = False) -> Said:
    """What a file of ours says; nothing where there is none.

    A named file must exist and is trusted.
    """
    said = Said(str(path), is_named or is_trusted)
    data = contents(path, is_named=is_named)
    return _read(said, path, _document(path, data)) if data else said


def project_table(path: Path, *, is_named: bool = False) -> Said:
    """What `[tool.ctxtrim]` of a `pyproject.toml` says. One that does not speak of us is not looked into.

    A named file must exist and is trusted.
    """
    said = Said(str(path), is_named)
    data = contents(path, is_named=is_named) or b""
    tools = _document(path, data).get("tool", {}) if b"ctxtrim" in data else {}
    table = tools.get("ctxtrim", {}) if isinstance(tools, dict) else {}
    if not isinstance(table, dict):
        raise UsageError(f"{path}: tool.ctxtrim: expected a table, found {table!r}")
    return _read(said, path, table, "tool.ctxtrim") if table else said


def _read(said: Said, path: Path, document: dict[str, Any], table: str = "") -> Said:
    dotted = f"{table}.models" if table else "models"
    models = checked_models(f"{path}: {dotted}", document.get("models", {}))
    if not said.is_trusted:
        _drop_tokenizer_files(said, dotted, models)
    said.models.update(models)
    return mappings.read(said, {key: value for key, value in document.items() if key != "models"}, table)


def _drop_tokenizer_files(said: Said, table: str, models: dict[str, dict[str, Any]]) -> None:
    """Remove tokenizers that are files from an untrusted source, with a warning for each."""
    for name, model in models.items():
        if is_path(model.get("tokenizer", "")):
            del model["tokenizer"]
            said.note_restricted(f"{table}.{clean(name)}.tokenizer")


def _document(path: Path, data: bytes) -> dict[str, Any]:
    import tomllib  # most runs find no such file

    try:
        return tomllib.loads(data.decode())
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{path}: no TOML: {error}") from error
