"""From a key of a configuration file to settings: option names in kebab-case, snake_case or
camelCase, and aliases.
"""

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from msgspec.structs import replace

from ctxtrim.config.aliases import ALIASES, CONTEXT, STAGES_OF, Alias
from ctxtrim.config.option import Option
from ctxtrim.config.run_settings import OPTIONS, SHARED
from ctxtrim.config.stage_specs import SETTINGS
from ctxtrim.errors import UsageError
from ctxtrim.stages import STAGES
from ctxtrim.text.names import field_name, kebab_case, option_name, snake_case, suggestion


class Meaning(NamedTuple):
    """A setting and a value for it. `stage` is None for a run setting.

    `is_refused`: the value is refused, and no value is set instead.
    """

    stage: str | None
    setting: Option
    value: Any
    is_refused: bool = False


def meanings(key: str, value: Any, block: str = "") -> list[Meaning]:
    """The settings that a key sets.

    `block` is a block of another program, or `""` for files of ctxtrim, in which its own names take
    precedence. Raises `UsageError` for an unknown key.
    """
    rows, own = _rows(block, key), list(_own(key, value, STAGES_OF.get(block)))
    if block in ("", CONTEXT) and not rows and not own:
        rows = [row for other in ALIASES for row in _rows(other, key)]
    if not rows and not own:
        raise UsageError(_unknown(key, block))
    return _followed(rows, value) if rows else own


def is_table(key: str) -> bool:
    """Whether a key names a table of settings only: a stage or a block, and no setting."""
    return key in (*STAGES, *ALIASES) and not any(_own(key, None, None))


def in_table(stage: str, key: str, value: Any) -> list[Meaning]:
    """Like `meanings`, for a key in the table of a stage."""
    own = list(_own(key, value, (stage,)))
    if own:
        return own
    rows = []
    for block in ALIASES:
        for row in _rows(block, key):
            table, _, name = row.target.rpartition(".")
            if table in ("", stage) and field_name(name, SETTINGS[stage]):
                rows.append(replace(row, target=f"{stage}.{name}"))
    if rows:
        return _followed(rows, value)
    known = [option_name(name) for name in SETTINGS[stage]]
    raise UsageError(
        f"unknown key{_nearest(key, known)}; settings of {stage}: {', '.join(known) or 'none'}"
    )


def _rows(block: str, key: str) -> list[Alias]:
    return [row for row in ALIASES.get(block, ()) if row.name == key]


def _own(key: str, value: Any, stages: tuple[str, ...] | None) -> Iterator[Meaning]:
    """The settings with this name: those of `stages`, or of all stages and the run if `stages` is
    None.
    """
    name = field_name(key, SHARED)
    if stages is None and name is not None:
        yield Meaning(None, SHARED[name], value)
    for stage in STAGES if stages is None else stages:
        known = SETTINGS.get(stage, {})
        name = field_name(key, known)
        if name is not None:
            yield Meaning(stage, known[name], value)


def _followed(rows: list[Alias], value: Any) -> list[Meaning]:
    """The settings that some aliases set."""
    matches: list[Meaning] = []
    for row in rows:
        if row.word and not isinstance(value, bool):
            raise UsageError(f"expected true or false, found {value!r}")
        stage, _, key = row.target.rpartition(".")
        is_refused = bool(row.word) and not value
        for meaning in _own(key, row.word or value, (stage,) if stage else None):
            matches.append(meaning._replace(is_refused=is_refused))
    return matches


def _unknown(key: str, block: str) -> str:
    if key in ("models", "paths"):
        return "not a setting here; write it at the top level of ctxtrim.toml"
    option = OPTIONS.get(snake_case(key))
    if not block and option is not None:
        return f"not a setting; pass --{option_name(option.name)} on the command line"
    stages, blocks = STAGES_OF.get(block), (block,) if block in STAGES_OF else tuple(ALIASES)
    words = [option_name(name) for stage in stages or STAGES for name in SETTINGS.get(stage, {})]
    words += [row.name for name in blocks for row in ALIASES[name]]
    words += [*map(option_name, SHARED), *STAGES, "models", "paths"] if stages is None else []
    return f"unknown key{_nearest(key, words)}"


def _nearest(key: str, words: Iterable[str]) -> str:
    near = {word: word for word in words}
    near |= {kebab_case(word): word for word in near}
    if "_" in key:  # as keywords of Python
        near = {word: shown.replace("-", "_") for word, shown in near.items()}
    return suggestion(kebab_case(key).replace("_", "-"), near, near.__getitem__)
