"""Models of one's own.

::

    [models.our-model]              a name that nobody knows, or one of the registry: what is said here counts
    context_window = 64_000         tokens, as the next two
    max_input = 60_000
    max_output = 4_000
    tokenizer = "path/to/tokenizer.json"
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from typing import Annotated, Any

from ctxtrim.config.source import Said
from ctxtrim.config.type_checks import must_be
from ctxtrim.errors import UsageError
from ctxtrim.tokens.models import Model, assumed_model

_LIMITS = ("context_window", "max_input", "max_output")
_KEYS = (*_LIMITS, "tokenizer")

ModelOf = Callable[[str | None], Model]


def checked_models(place: str, said: object) -> dict[str, dict[str, Any]]:
    """What a table says of models, by name in lower case; a `UsageError` names the key where something is wrong."""
    if not isinstance(said, dict):
        raise UsageError(f"{place}: expected a table for each model, as in [models.our-model]")
    return {name.lower(): _checked(f"{place}.{name}", value) for name, value in said.items()}


def _checked(place: str, value: object) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise UsageError(f"{place}: expected a table, found {value!r}")
    found = {}
    for spelled, one in value.items():
        key, where = spelled.replace("-", "_"), f"{place}.{spelled}"
        if key not in _KEYS:
            near = get_close_matches(key, _KEYS, n=1)
            raise UsageError(f"{where}: no such key{f' (did you mean {near[0]}?)' if near else ''}: {', '.join(_KEYS)}")
        if key in _LIMITS:
            must_be(where, one, _tokens(), "a number of tokens")
        else:
            must_be(where, one, str, "the name or the path of a tokenizer")
        found[key] = one
    return found


def _tokens() -> Any:
    from msgspec import Meta

    return Annotated[int, Meta(ge=1)]


def own_models(sources: Sequence[Said]) -> ModelOf:
    """What a model's name means: what the sources say of it, the strongest first, else what the registry does."""
    known: dict[str, dict[str, Any]] = {}
    paths: dict[str, str] = {}
    for said in sources:
        for name, own in said.models.items():
            known[name] = own | known.get(name, {})
            paths.setdefault(name, said.path)

    def model_of(name: str | None) -> Model:
        own = known.get(name.lower()) if name is not None else None
        if name is None or own is None:
            return assumed_model(name)
        return _with(assumed_model(name), name, own, paths[name.lower()])

    return model_of if known else assumed_model


def _with(model: Model, name: str, own: Mapping[str, Any], path: str) -> Model:
    """A model with what is said of it; what it holds at most is never more than its window."""
    limits = {key: own[key] for key in _LIMITS if key in own}
    window = limits.get("context_window", model.context_window)
    most = limits.get("max_input", model.max_input)
    limits |= {"max_input": min(most, window)} if most is not None else {}
    return replace(
        model, **limits, name=model.name or name, tokenizer=own.get("tokenizer", model.tokenizer), source=path
    )
