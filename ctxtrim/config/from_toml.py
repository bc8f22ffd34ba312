"""Settings from TOML: `ctxtrim.toml`, the file of `--config`, the user's file, `[tool.ctxtrim]` of
`pyproject.toml`.
"""

from pathlib import Path
from typing import Any

from ctxtrim.config import mappings
from ctxtrim.config.aliases import AMBIGUOUS
from ctxtrim.config.own_models import checked_models
from ctxtrim.config.source import SettingsSource
from ctxtrim.errors import UsageError
from ctxtrim.io.paths import configuration_in
from ctxtrim.text.escaping import clean
from ctxtrim.tokenizers.tokenizer_files import is_path


def own_file(path: Path, *, is_named: bool = False, is_trusted: bool = False) -> SettingsSource:
    """The settings in a file with the layout of `ctxtrim.toml`. Empty without a file.

    A file named by the user must exist and is trusted.
    """
    source = SettingsSource(str(path), is_named or is_trusted, is_file=True)
    data = configuration_in(path, is_named=is_named)
    return _read(source, path, _document(path, data)) if data else source


def project_table(path: Path, *, is_named: bool = False) -> SettingsSource:
    """The settings in `[tool.ctxtrim]` of a `pyproject.toml`.

    A file without the word `ctxtrim` is not parsed.

    A file named by the user must exist and is trusted.
    """
    source = SettingsSource(str(path), is_named, is_file=True)
    data = configuration_in(path, is_named=is_named) or b""
    tools = _document(path, data).get("tool", {}) if b"ctxtrim" in data else {}
    table = tools.get("ctxtrim", {}) if isinstance(tools, dict) else {}
    if not isinstance(table, dict):
        raise UsageError(f"{path}: tool.ctxtrim: expected a table, found {table!r}")
    return _read(source, path, table, "tool.ctxtrim") if table else source


def _read(
    source: SettingsSource, path: Path, document: dict[str, Any], table: str = ""
) -> SettingsSource:
    tools = document.get("tool")
    if not table and isinstance(tools, dict) and "ctxtrim" in tools:
        raise UsageError(
            f"{path}: [tool.ctxtrim] is a table of pyproject.toml; write its keys at the top level"
        )
    prefix = f"{table}." if table else ""
    models = checked_models(f"{path}: {prefix}models", document.get("models", {}))
    if not source.is_trusted:
        _drop_tokenizer_files(source, f"{prefix}models", models)
    source.models.update(models)
    if "paths" in document:
        from ctxtrim.config.path_sections import read_sections  # few files have sections

        read_sections(source, path, f"{prefix}paths", document["paths"])
    own = {key: value for key, value in document.items() if key not in ("models", "paths")}
    for name, keys in AMBIGUOUS.items():
        if name in own:
            raise UsageError(f"{path}: {prefix}{name}: has two meanings; write {keys}")
    return mappings.read(source, own, table)


def _drop_tokenizer_files(
    source: SettingsSource, table: str, models: dict[str, dict[str, Any]]
) -> None:
    """Remove tokenizers that are files from an untrusted source, with a warning for each."""
    for name, model in models.items():
        if is_path(model.get("tokenizer", "")):
            del model["tokenizer"]
            source.note_restricted(f"{table}.{clean(name)}.tokenizer")


def _document(path: Path, data: bytes) -> dict[str, Any]:
    import tomllib  # most runs find no such file

    try:
        return tomllib.loads(data.decode("utf-8-sig"))  # some editors write a mark first
    except UnicodeDecodeError as error:
        raise UsageError(
            f"{path}: invalid TOML: not UTF-8 at byte {error.start + 1}; save it as UTF-8"
        ) from error
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{path}: invalid TOML: {error}") from error
