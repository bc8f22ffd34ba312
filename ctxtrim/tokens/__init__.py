"""Token counts: tokenizers, budgets, and what providers charge for a request."""

from ctxtrim.tokens.tokenizer import (
    MARKS,
    MEANINGS,
    Budget,
    Ceiling,
    Encodes,
    Exactness,
    Scaled,
    StandIn,
    Tokenizer,
    head,
    tail,
    worse,
)

__all__ = [
    "MARKS",
    "MEANINGS",
    "Budget",
    "Ceiling",
    "Encodes",
    "Exactness",
    "Scaled",
    "StandIn",
    "Tokenizer",
    "head",
    "tail",
    "worse",
]
