"""What a project says of itself: the models of its own in `ctxtrim.toml`.

::

    [models.our-model]              a name that nobody knows, or one of the registry: what is said here counts
    context_window = 64_000         tokens, as the next two
    max_input = 60_000
    max_output = 4_000
    tokenizer = "path/to/tokenizer.json"
"""

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from ctxtrim.errors import InputError, UsageError, reason
from ctxtrim.models import Model, assumed_model

FILE = Path("ctxtrim.toml")
_LIMITS = ("context_window", "max_input", "max_output")
_KEYS = (*_LIMITS, "tokenizer")

ModelOf = Callable[[str | None], Model]


def own_models(file: Path = FILE) -> ModelOf:
    """What a model's name means: what the file says of it, else what the registry does.

    A `UsageError` names file and key where something is wrong with them. No file is no word.
    """
    try:
        said = tomllib.loads(file.read_bytes().decode()).get("models", {})
    except FileNotFoundError:
        return assumed_model
    except OSError as error:
        raise InputError(f"{file}: cannot be read: {reason(error)}") from error
    except ValueError as error:
        raise UsageError(f"{file}: no TOML: {error}") from error
    if not isinstance(said, dict):
        raise UsageError(f"{file}: models: expected a table for each model, as in [models.our-model]")
    known = {name.lower(): _checked(file, name, value) for name, value in said.items()}

    def model_of(name: str | None) -> Model:
        own = known.get(name.lower()) if name is not None else None
        return assumed_model(name) if name is None or own is None else _with(assumed_model(name), name, own, file)

    return model_of if known else assumed_model


def _checked(file: Path, name: str, value: object) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise UsageError(f"{file}: models.{name}: expected a table, found {value!r}")
    for key, one in value.items():
        where = f"{file}: models.{name}.{key}"
        if key not in _KEYS:
            near = get_close_matches(key, _KEYS, n=1)
            raise UsageError(f"{where}: no such key{f' (did you mean {near[0]}?)' if near else ''}: {', '.join(_KEYS)}")
        if key in _LIMITS and (type(one) is not int or one < 1):
            raise UsageError(f"{where}: expected a number of tokens, found {one!r}")
        if key == "tokenizer" and not isinstance(one, str):
            raise UsageError(f"{where}: expected the name or the path of a tokenizer, found {one!r}")
    return value


def _with(model: Model, name: str, own: Mapping[str, Any], file: Path) -> Model:
    """A model with what the file says of it; what it holds at most is never more than its window."""
    limits = {key: own[key] for key in _LIMITS if key in own}
    window = limits.get("context_window", model.context_window)
    most = limits.get("max_input", model.max_input)
    limits |= {"max_input": min(most, window)} if most is not None else {}
    return replace(
        model,
        **limits,
        name=model.name or name,
        tokenizer=own.get("tokenizer", model.tokenizer),
        source=str(file),
    )
