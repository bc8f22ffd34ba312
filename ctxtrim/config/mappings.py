"""Documents: mappings of keys to values, with a table for each stage and the blocks of other programs."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from ctxtrim.config.aliases import ALIASES, CONTEXT
from ctxtrim.config.keys import in_table, meanings
from ctxtrim.config.source import Said, put
from ctxtrim.config.type_checks import typed
from ctxtrim.errors import UsageError
from ctxtrim.stages import STAGES
from ctxtrim.text.escaping import clean


class _Entry(NamedTuple):
    """A key and its value, in a block and in a stage's table, or in none."""

    place: str
    block: str
    stage: str | None
    key: str
    value: Any


def read(said: Said, document: Mapping[str, Any], table: str = "", *, block: str = "", is_ours: bool = True) -> Said:
    """Take in what a document says, or a table of it. What is wrong is a `UsageError`, a note where it is not ours."""
    for entry in _entries(document, block, f"{table}." if table else ""):
        where = f"{said.path}: {entry.place}"
        try:
            _take(said, entry, where)
        except UsageError as error:
            text = str(error) if str(error).startswith(where) else f"{where}: {error}"
            if is_ours:
                raise UsageError(text) from None
            said.note(text.removeprefix(f"{said.path}: "))
    return said


def _take(said: Said, entry: _Entry, where: str) -> None:
    if entry.stage is None:
        meant, later = meanings(entry.key, entry.value, entry.block)
    else:
        meant, later = in_table(entry.stage, entry.key, entry.value)
    put(said, where, meant, typed, is_weak=entry.stage is None)
    for target in later:
        said.note(f"{entry.place}: {target} is not known in this version")


def _entries(document: Mapping[str, Any], block: str, before: str) -> Iterator[_Entry]:
    """The keys of a document; null says nothing."""
    for key, value in document.items():
        place = f"{before}{clean(key)}"
        is_open = isinstance(value, dict) and block in ("", CONTEXT)
        if is_open and key in STAGES:
            for inner, one in value.items():
                if one is not None:
                    yield _Entry(f"{place}.{clean(inner)}", block, key, inner, one)
        elif is_open and key in ALIASES:
            yield from _entries(value, key, f"{place}.")
        elif value is not None:
            yield _Entry(place, block, None, key, value)
