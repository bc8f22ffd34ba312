"""The error that the messages of a program cannot fit."""

from collections.abc import Sequence

from msgspec import Struct

from ctxtrim.errors import CtxtrimError, does_not_fit
from ctxtrim.findings import label_of
from ctxtrim.tokens.tokenizer import MARKS, Exactness


class Irreducible(Struct, frozen=True):
    """A message that cannot be dropped: its role, its tokens and the reason.

    `index` is its position in the given list; None for a part of the request that is not in the
    list. `exactness` is that of its tokens.
    """

    index: int | None
    role: str
    tokens: int
    reason: str
    exactness: Exactness = "exact"

    def __str__(self) -> str:
        place = "outside the message list" if self.index is None else f"message {self.index}"
        tokens = f"{MARKS[self.exactness]}{self.tokens:,} tokens"
        return f"{place} ({self.role}): {tokens} ({self.reason})"


class ContextOverflowError(CtxtrimError):
    """A prompt cannot fit: `current_tokens` cannot be dropped, `max_tokens` are allowed.

    `irreducible` has the messages that cannot be dropped, in order; the text names each on a
    separate line. `exactness` is that of `current_tokens`.
    """

    def __init__(
        self,
        current_tokens: int,
        max_tokens: int,
        irreducible: Sequence[Irreducible] = (),
        exactness: Exactness = "exact",
    ) -> None:
        self.current_tokens, self.max_tokens = current_tokens, max_tokens
        self.irreducible, self.exactness = tuple(irreducible), exactness
        details = (*label_of(current_tokens, exactness), *self.irreducible)
        lines = [f"    {detail}" for detail in details]
        super().__init__("\n".join((does_not_fit(current_tokens, max_tokens), *lines)))

    def __reduce__(self) -> tuple[type, tuple[object, ...]]:
        return type(self), (self.current_tokens, self.max_tokens, self.irreducible, self.exactness)
