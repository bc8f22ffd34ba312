"""From a mapping of keys to values to settings.

It may have a table for each stage and blocks of other programs.
"""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from ctxtrim.config.aliases import ALIASES, CONTEXT
from ctxtrim.config.keys import in_table, is_table, meanings
from ctxtrim.config.option import Option
from ctxtrim.config.source import Convert, SettingsSource, assign
from ctxtrim.errors import UsageError
from ctxtrim.stages import STAGES
from ctxtrim.text.escaping import clean
from ctxtrim.text.names import snake_case


class _Entry(NamedTuple):
    """A key and its value.

    `place` is the dotted key for messages; `block` and `stage` are the tables that have the key.
    """

    place: str
    block: str
    stage: str | None
    key: str
    value: Any


def read(
    source: SettingsSource,
    document: Mapping[str, Any],
    table: str = "",
    *,
    block: str = "",
    is_ours: bool = True,
    check: Convert = Option.convert,
) -> SettingsSource:
    """Add the settings of a document, or of a table in it, to the source and return it.

    An invalid key or value raises `UsageError`, or adds a warning if the document is not a file of
    ctxtrim. `check` converts the values.
    """
    keys: dict[tuple[str, str | None, str], str] = {}
    for entry in _entries(document, block, f"{table}." if table else ""):
        location = f"{source.path}: {entry.place}"
        name = (entry.block, entry.stage, snake_case(entry.key))
        first = keys.setdefault(name, entry.key)
        try:
            if first != entry.key:
                raise UsageError(f"the same setting as {clean(first)}; keep one of them")
            if entry.stage is None and is_table(entry.key):
                expected = f"a table of settings; write [{entry.place}]" if is_ours else "an object"
                raise UsageError(f"expected {expected}")
            _take(source, entry, location, check)
        except UsageError as error:
            text = str(error) if str(error).startswith(location) else f"{location}: {error}"
            if is_ours:
                raise UsageError(text) from None
            source.note(text.removeprefix(f"{source.path}: "))
    return source


def _take(source: SettingsSource, entry: _Entry, location: str, check: Convert) -> None:
    if entry.stage is None:
        matches = meanings(entry.key, entry.value, entry.block)
    else:
        matches = in_table(entry.stage, entry.key, entry.value)
    assign(source, location, matches, check, is_weak=entry.stage is None)


def _entries(document: Mapping[str, Any], block: str, before: str) -> Iterator[_Entry]:
    """The keys of a document, without those whose value is null."""
    for key, value in document.items():
        place = f"{before}{clean(key)}"
        is_open = isinstance(value, dict) and block in ("", CONTEXT)
        if is_open and key in STAGES:
            for name, setting in value.items():
                if setting is not None:
                    yield _Entry(f"{place}.{clean(name)}", block, key, name, setting)
        elif is_open and key in ALIASES:
            yield from _entries(value, key, f"{place}.")
        elif value is not None:
            yield _Entry(place, block, None, key, value)
