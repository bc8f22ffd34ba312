"""Models that the user configures.

::

    [models.our-model]              a new name, or a name of the registry, to override the values
                                    of all variants of that name
    context_window = 64_000         tokens, as the next two
    max_input = 60_000
    max_output = 4_000
    tokenizer = "path/to/tokenizer.json"
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from msgspec.structs import replace

from ctxtrim.config.option import LARGEST, must_be, spelled_in_file
from ctxtrim.config.source import SettingsSource
from ctxtrim.errors import UsageError, excerpt
from ctxtrim.text.names import suggestion
from ctxtrim.text.numbers import whole_number
from ctxtrim.tokenizers import check_name
from ctxtrim.tokens.models import Model, assumed_model

LIMITS = ("context_window", "max_input", "max_output")
KEYS = (*LIMITS, "tokenizer")

ModelOf = Callable[[str | None], Model]


def checked_models(place: str, source: object) -> dict[str, dict[str, Any]]:
    """The models of a `[models]` table by name in lower case.

    Raises `UsageError` with the key that is invalid.
    """
    if not isinstance(source, dict):
        raise UsageError(f"{place}: expected a table for each model, as in [models.our-model]")
    return {name.lower(): _checked(f"{place}.{name}", value) for name, value in source.items()}


def _checked(place: str, value: object) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise UsageError(f"{place}: expected a table, found {value!r}")
    model: dict[str, Any] = {}
    for name, setting in value.items():
        key, location = name.replace("-", "_"), f"{place}.{name}"
        if key not in KEYS:
            near = suggestion(key, KEYS)
            raise UsageError(f"{location}: unknown key{near}; known keys: {', '.join(KEYS)}")
        if key in model:
            raise UsageError(f"{location}: {key} is given twice; keep one of them")
        if key in LIMITS:
            model[key] = _limit(location, setting)
        else:
            must_be(location, setting, str, "the name or the path of a tokenizer")
            _check_tokenizer(location, setting)
            model[key] = setting
    return model


def _limit(location: str, value: object) -> int:
    """The number of tokens in a file, which may be a string, as in `"64k"`."""
    number = value
    if isinstance(value, str):
        try:
            number = whole_number(value)
        except ValueError:
            number = 0
    if not isinstance(number, int) or isinstance(number, bool) or number < 1:
        text = excerpt(spelled_in_file(value))
        raise UsageError(f"{location}: expected a number of tokens, found {text}")
    return min(number, LARGEST)


def _check_tokenizer(location: str, name: str) -> None:
    """Raise `UsageError` for an unknown tokenizer."""
    try:
        check_name(name)
    except ValueError as error:
        raise UsageError(f"{location} {name}: {error}") from None


def own_models(sources: Sequence[SettingsSource]) -> ModelOf:
    """A function from a model's name to the model, with the values of the sources instead of the
    registry's.

    Sources are in order of precedence.
    """
    known: dict[str, dict[str, Any]] = {}
    paths: dict[str, str] = {}
    for source in sources:
        for name, own in source.models.items():
            known[name] = own | known.get(name, {})
            paths.setdefault(name, source.path)

    return partial(_model_of, known, paths) if known else assumed_model


def _model_of(
    known: Mapping[str, dict[str, Any]], paths: Mapping[str, str], name: str | None
) -> Model:
    """The model of a name, with the user's own values. A function of values, so it is picklable.

    A table for a model of the registry is for all variants of its name, such as
    `openai/gpt-4o-2024-08-06`, unless the variant has a table.
    """
    model = assumed_model(name)
    if name is None:
        return model
    for key in (name.lower(), model.name.lower()):
        if key in known:
            return _with(model, name, known[key], paths[key])
    return model


def _with(model: Model, name: str, own: Mapping[str, Any], path: str) -> Model:
    """A model with configured values. `max_input` is at most the context window."""
    limits = {key: own[key] for key in LIMITS if key in own}
    window = limits.get("context_window", model.context_window)
    max_input = limits.get("max_input", model.max_input)
    limits |= {"max_input": min(max_input, window)} if max_input is not None else {}
    return replace(
        model,
        **limits,
        name=model.name or name,
        is_derived=model.is_derived and not limits,
        tokenizer=own.get("tokenizer", model.tokenizer),
        source=path,
    )
