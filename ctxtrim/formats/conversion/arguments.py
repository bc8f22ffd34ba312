"""The arguments of a call as a JSON object."""

import json
from typing import Any

from ctxtrim.formats.conversion.losses import Losses
from ctxtrim.formats.conversion.numbers import is_finite
from ctxtrim.formats.conversion.pieces import Piece
from ctxtrim.model import Message


def is_object(call: Piece) -> bool:
    """Whether the arguments of a call are a JSON object or empty, and no custom text."""
    return not call.is_custom and _object_in(call.text) is not None


def object_of(call: Piece, message: Message | None, losses: Losses) -> dict[str, Any]:
    """The arguments of a call; other arguments than an object become its member `input`."""
    if call.is_custom:
        what = f"the text of the custom call of {call.name} is its member input now"
        losses.change("argument", what, message)
        return {"input": call.text}
    value = _object_in(call.text)
    if value is None:
        what = f"the arguments of {call.name} are not a JSON object; they are its member input now"
        losses.change("argument", what, message)
        return {"input": call.text}
    if _has_duplicates(call.text):
        what = f"the arguments of {call.name} have two members of one name; the last one is kept"
        losses.change("argument", what, message)
    return value


def _object_in(text: str) -> dict[str, Any] | None:
    """The object in a JSON text; an empty object for an empty text, None for anything else."""
    if not text.strip():
        return {}
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    is_object = isinstance(value, dict) and is_finite(value)  # NaN is no JSON
    return value if is_object else None


def _has_duplicates(text: str) -> bool:
    """Whether two members of an object in a JSON text have one name."""
    numbers: list[int] = []

    def count(pairs: list[tuple[str, Any]]) -> None:
        numbers.append(len(pairs) - len({name for name, _ in pairs}))

    if text.strip():
        json.loads(text, object_pairs_hook=count)
    return any(numbers)
