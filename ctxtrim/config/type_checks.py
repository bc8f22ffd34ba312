"""The types of values in documents, where a number is a number and no text."""

from dataclasses import Field
from typing import Any

from ctxtrim.config.stage_specs import checked
from ctxtrim.errors import UsageError

_KINDS: tuple[tuple[type, Any, str], ...] = (  # of the default, of the value, and how that is told
    (bool, bool, "true or false"),
    (int, int, "a whole number"),
    (float, float, "a number"),
    (tuple, str | list[str], "a text or a list of texts"),
    (str, str, "a text"),
)


def typed(where: str, setting: Field[Any], value: Any) -> Any:
    """A value of a document as its setting wants it; a `UsageError` that begins with `where` it stands."""
    if setting.metadata["units"] and isinstance(value, str):
        return checked(where, setting, value)
    default = 0 if setting.default is None else setting.default
    kind, expected = next((kind, told) for of, kind, told in _KINDS if isinstance(default, of))
    must_be(where, value, kind, expected)
    return checked(where, setting, value)


def must_be(where: str, value: Any, kind: Any, expected: str) -> None:
    """A `UsageError` where a value is not of a type, which may have bounds of its own."""
    import msgspec  # most runs find no document

    try:
        msgspec.convert(value, kind)
    except msgspec.ValidationError:
        found = repr(value)
        raise UsageError(
            f"{where}: expected {expected}, found {found if len(found) < 80 else f'{found[:79]}…'}"
        ) from None
