"""The arguments of a call as a JSON object."""

import json
from typing import Any

from ctxtrim.formats.conversion.losses import Losses
from ctxtrim.formats.conversion.pieces import Piece
from ctxtrim.model import Message


def parsed(text: str) -> dict[str, Any] | None:
    """The object in a JSON text; an empty object for an empty text, None for anything else."""
    if not text.strip():
        return {}
    try:
        value = json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def object_of(call: Piece, message: Message | None, losses: Losses) -> dict[str, Any]:
    """The arguments of a call; other arguments than an object become its member `input`."""
    value = parsed(call.text)
    if value is not None:
        return value
    what = f"the arguments of {call.name} are not a JSON object; they are its member input now"
    losses.change("argument", what, message)
    return {"input": call.text}


def _refuse(word: str) -> None:
    raise ValueError(f"{word} is not JSON")
