"""Tokenizers that a program adds, by name or for a family of models."""

from dataclasses import dataclass
from typing import Any

from ctxtrim.errors import UsageError
from ctxtrim.tokens import Exactness, Tokenizer

OWN: dict[str, Tokenizer] = {}
"""The tokenizers that were added, by name; they come before all others."""


@dataclass(frozen=True)
class Own:
    """Anything that counts or encodes, as a tokenizer; its numbers are taken for estimates."""

    name: str
    made: Any
    exactness: Exactness = "estimated"

    def count(self, text: str) -> int:
        """Its count, or the number of tokens that it encodes a text as."""
        return int(self.made.count(text)) if hasattr(self.made, "count") else len(self.made.encode(text))

    ceiling = count


@dataclass(frozen=True)
class OwnEncoding(Own):
    """One that encodes too."""

    def encode(self, text: str) -> list[int]:
        """The tokens of a text, by number."""
        return [int(token) for token in self.made.encode(text)]


def add(name: str, own: Any) -> None:
    """Add a tokenizer: anything with `count(text)`, with `encode(text)`, or with both.

    The name is one of its own, or that of a family: then it counts for every model whose name holds it as a word
    (`llama` for `meta-llama/Llama-3.1-8B`), in the place of whatever did before.
    """
    if not name or not (hasattr(own, "count") or hasattr(own, "encode")):
        raise UsageError(f"tokenizer {name or '(no name)'}: expected a name, and something with count or encode")
    known = own if all(hasattr(own, one) for one in ("name", "exactness", "count", "ceiling")) else None
    OWN[name.lower()] = known or (OwnEncoding if hasattr(own, "encode") else Own)(name, own)


def family_of(model: str) -> str | None:
    """The longest name of an added tokenizer that a model's name holds as a word, whatever case they are in."""
    spelled = "".join(letter if letter.isalnum() else "-" for letter in model.lower())
    found = [name for name in OWN if _holds(spelled, name)]
    return max(found, key=len, default=None)


def _holds(spelled: str, name: str) -> bool:
    """Whether a name stands in another at the beginning of a word, and is not the beginning of a longer one."""
    word = "".join(letter if letter.isalnum() else "-" for letter in name)
    place = spelled.find(word)
    while place >= 0:
        before, after = spelled[place - 1 : place], spelled[place + len(word) : place + len(word) + 1]
        if not before.isalnum() and not after.isalpha():
            return True
        place = spelled.find(word, place + 1)
    return False
