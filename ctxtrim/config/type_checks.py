"""Type checks of values in documents, in which a number is not a string."""

from dataclasses import Field
from typing import Any

from ctxtrim.config.stage_specs import checked_value
from ctxtrim.errors import UsageError

_KINDS: tuple[
    tuple[type, Any, str], ...
] = (  # type of the default, type of the value, its name in messages
    (bool, bool, "true or false"),
    (int, int, "a whole number"),
    (float, float, "a number"),
    (tuple, str | list[str], "a string or a list of strings"),
    (str, str, "a string"),
)


def typed(location: str, setting: Field[Any], value: Any) -> Any:
    """A value of a document, checked and converted for its setting.

    Raises `UsageError` beginning with `location`.
    """
    if setting.metadata["units"] and isinstance(value, str):
        return checked_value(location, setting, value)
    default = 0 if setting.default is None else setting.default
    kind, expected = next((kind, name) for of, kind, name in _KINDS if isinstance(default, of))
    must_be(location, value, kind, expected)
    return checked_value(location, setting, value)


def must_be(location: str, value: Any, kind: Any, expected: str) -> None:
    """Raise `UsageError` if a value does not have a type, which may have bounds."""
    import msgspec  # most runs find no document

    try:
        msgspec.convert(value, kind)
    except msgspec.ValidationError:
        found = repr(value)
        raise UsageError(
            f"{location}: expected {expected}, found "
            f"{found if len(found) < 80 else f'{found[:79]}…'}"
        ) from None
