"""Token counts: tokenizers, budgets, and what providers charge. Imports values and `text` only."""

from ctxtrim.tokens.tokenizer import (
    MARKS,
    MEANINGS,
    ORDER,
    Budget,
    Ceiling,
    Encodes,
    Exactness,
    Scaled,
    StandIn,
    Tokenizer,
    head,
    tail,
)

__all__ = [
    "MARKS",
    "MEANINGS",
    "ORDER",
    "Budget",
    "Ceiling",
    "Encodes",
    "Exactness",
    "Scaled",
    "StandIn",
    "Tokenizer",
    "head",
    "tail",
]
