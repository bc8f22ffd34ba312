"""Tokenizers that a program registers, by name or for a model family."""

from collections.abc import Sequence
from math import ceil
from typing import Any

from msgspec import Struct

from ctxtrim.errors import TokenizerError, UsageError, excerpt, must_be_text
from ctxtrim.tokens.tokenizer import Exactness, Tokenizer

OWN: dict[str, Tokenizer] = {}
"""The registered tokenizers by name; they take precedence over all others."""

_names: list[str] = []  # the names given to `add`, in order


class ProgramTokenizer(Struct, frozen=True):
    """A tokenizer made from any object that counts or encodes. Its counts are estimates."""

    name: str
    implementation: Any
    exactness: Exactness = "estimated"

    def count(self, text: str) -> int:
        """The object's count, rounded up, or the length of its encoding.

        Raises `TokenizerError` if the object's count is no number or below 0.
        """
        if not hasattr(self.implementation, "count"):
            return len(self.implementation.encode(text))
        number = self.implementation.count(text)
        try:
            count: int = ceil(number)
        except (TypeError, ValueError, OverflowError):
            count = -1
        if count < 0:
            raise TokenizerError(
                f"tokenizer {self.name}: expected a number of tokens, not {number}"
            )
        return count

    ceiling = count


class ProgramEncoding(ProgramTokenizer, frozen=True):
    """A registered tokenizer that can also encode."""

    def encode(self, text: str) -> list[int]:
        """The token ids of a text."""
        encoding = self.implementation.encode(text)
        return [int(token) for token in getattr(encoding, "ids", encoding)]


def add(name: str, own: Any) -> None:
    """Register a tokenizer: any object with `count(text)`, `encode(text)`, or both. `encode`
    returns token ids, or an object that has them as `ids`.

    The name is a tokenizer name or a family name. A family's tokenizer counts for every model whose
    name contains the family name as a word (`llama` for `meta-llama/Llama-3.1-8B`), instead of the
    default.

    Raises `UsageError` for another value, such as the name of a tokenizer or a class.
    """
    is_name = isinstance(name, str) and name
    is_other = isinstance(own, Sequence | type)  # texts and lists count their own elements
    if not is_name or is_other or not (hasattr(own, "count") or hasattr(own, "encode")):
        raise UsageError(
            f"tokenizer {name or '(no name)'}: expected a name, and an object with count or "
            f"encode, found {excerpt(repr(own))}"
        )
    kind = ProgramEncoding if hasattr(own, "encode") else ProgramTokenizer
    _names.append(name)
    OWN[name.lower()] = kind(name, own)


def registrations() -> int:
    """The number of calls of `add`: while it is the same, every name has the same tokenizer."""
    return len(_names)


def family_of(model: str) -> str | None:
    """The longest registered name that a model's name contains as a word, ignoring case."""
    must_be_text(model, "family_of: model")
    words = "".join(letter if letter.isalnum() else "-" for letter in model.lower())
    names = [name for name in OWN if _holds(words, name)]
    return max(names, key=len, default=None)


def _holds(words: str, name: str) -> bool:
    """Whether a name occurs in some words at the start of a word, and does not end inside a longer
    word.
    """
    word = "".join(letter if letter.isalnum() else "-" for letter in name)
    position = words.find(word)
    while position >= 0:
        end = position + len(word)
        before, after = words[position - 1 : position], words[end : end + 1]
        if not before.isalnum() and not after.isalpha():
            return True
        position = words.find(word, position + 1)
    return False
