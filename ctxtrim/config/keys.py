"""Which settings a key means: the options by their names, in kebab-case, snake_case or camelCase, and the aliases."""

from collections.abc import Iterator, Mapping
from dataclasses import Field
from difflib import get_close_matches
from typing import Any, NamedTuple

from ctxtrim.config.aliases import ALIASES, CONTEXT, STAGES_OF, WORDS, Alias
from ctxtrim.config.run_settings import OPTIONS, SHARED
from ctxtrim.config.stage_specs import spelled
from ctxtrim.errors import UsageError
from ctxtrim.stage import settings_of
from ctxtrim.stages import STAGES

SETTINGS: dict[str, dict[str, Field[Any]]] = {
    stage: {one.name: one for one in settings_of(made)} for stage, made in STAGES.items()
}
"""The settings of each stage, by name."""


class Meaning(NamedTuple):
    """A setting of a stage, or of the whole run where that is None, and a value for it."""

    stage: str | None
    setting: Field[Any]
    value: Any


def meanings(key: str, value: Any, block: str = "") -> tuple[list[Meaning], list[str]]:
    """What a key means in a block of another program, or in a file of our own (`""`), where names of ours count first.

    Beside that the settings that it means and no stage has yet. A `UsageError` where nothing is known of it.
    """
    rows, own = _rows(block, key), list(_own(key, value, STAGES_OF.get(block)))
    if block in ("", CONTEXT) and not rows and not own:
        rows = [row for other in ALIASES for row in _rows(other, key)]
    if not rows:
        if not own:
            raise UsageError(_unknown(key, block))
        return own, []
    return _followed(rows, value)


def in_table(stage: str, key: str, value: Any) -> tuple[list[Meaning], list[str]]:
    """The same for a key in the table of a stage."""
    own = list(_own(key, value, (stage,)))
    rows = [row for block in ALIASES for row in _rows(block, key) if row.target.startswith(f"{stage}.")]
    if own or not rows:
        if not own:
            there = ", ".join(map(spelled, SETTINGS[stage])) or "none"
            raise UsageError(f"no such key{_nearest(key, map(spelled, SETTINGS[stage]))}; {stage} has {there}")
        return own, []
    return _followed(rows, value)


def _rows(block: str, key: str) -> list[Alias]:
    return [row for row in ALIASES.get(block, ()) if row.name == key]


def _own(key: str, value: Any, stages: tuple[str, ...] | None) -> Iterator[Meaning]:
    """The settings whose name a key is: those of some stages, else of all of them and of the whole run."""
    name = _field(key, SHARED)
    if stages is None and name is not None:
        yield Meaning(None, SHARED[name], value)
    for stage in STAGES if stages is None else stages:
        known = SETTINGS.get(stage, {})
        name = _field(key, known)
        if name is not None:
            yield Meaning(stage, known[name], _word(f"{stage}.{spelled(name)}", value))


def _followed(rows: list[Alias], value: Any) -> tuple[list[Meaning], list[str]]:
    """The settings that some rows lead to, and those that no stage has yet."""
    found: list[Meaning] = []
    later: list[str] = []
    for row in rows:
        if row.values is not None and not isinstance(value, bool):
            raise UsageError(f"expected true or false, found {value!r}")
        stage, _, key = row.target.rpartition(".")
        meant = value if row.values is None else row.values[value]
        own = list(_own(key, meant, (stage,) if stage else None))
        found += own if meant is not None else []
        later += [] if own else [row.target]
    return found, later


def _word(target: str, value: Any) -> Any:
    """A value as it is called here."""
    return WORDS.get(target, {}).get(value, value) if isinstance(value, str) else value


def _field(key: str, known: Mapping[str, Any]) -> str | None:
    """The field that a key means; a name that Python keeps for itself has an underscore after it."""
    names = (key.replace("-", "_"), _kebab(key).replace("-", "_"))
    return next((one for name in names for one in (name, f"{name}_") if one in known), None)


def _kebab(key: str) -> str:
    """A key in camelCase as options are written."""
    return "".join(f"-{letter.lower()}" if letter.isupper() else letter for letter in key)


def _unknown(key: str, block: str) -> str:
    if not block and _kebab(key).replace("-", "_") in OPTIONS:
        return f"it is of one run; give --{spelled(_kebab(key))} to the command"
    stages, blocks = STAGES_OF.get(block), (block,) if block in STAGES_OF else tuple(ALIASES)
    words = [spelled(name) for stage in stages or STAGES for name in SETTINGS.get(stage, {})]
    words += [row.name for one in blocks for row in ALIASES[one]]
    words += [*map(spelled, SHARED), *STAGES, "models"] if stages is None else []
    return f"no such key{_nearest(key, words)}"


def _nearest(key: str, words: Any) -> str:
    near = {word: word for word in words}
    near |= {_kebab(word): word for word in near}
    found = get_close_matches(_kebab(key).replace("_", "-"), near, n=1)
    return f" (did you mean {near[found[0]]}?)" if found else ""
