"""`trim`: drop what matters least until a transcript fits its budget.

`stage` is the stage, `situation` the facts that decide, `priority` the order, `forms` the shorter forms of messages,
`fit` fills the budget. May import what stages may; no other stage.
"""

from ctxtrim.stages.trim.priority import STRATEGIES
from ctxtrim.stages.trim.stage import Trim

__all__ = ["STRATEGIES", "Trim"]
