"""What each vendor's models charge for frames: tables of facts, and the framings that they make."""

from ctxtrim.tokens.facts import Facts, framing
from ctxtrim.tokens.framing import Framing
from ctxtrim.tokens.vendors import anthropic, google, open_models, openai

TABLES: dict[str, Facts] = {**openai.TABLES, **anthropic.TABLES, **google.TABLES, **open_models.TABLES}
"""The facts of each framing by its name."""

FRAMINGS: dict[str, Framing] = {name: framing(facts) for name, facts in TABLES.items()}
"""The framings by name."""
