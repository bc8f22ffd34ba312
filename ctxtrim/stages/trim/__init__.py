"""The stage `trim`: drop the least important messages until a transcript fits its budget.

`stage` is the stage, `situation` the facts that decide, `priority` the order, `forms` the shorter
forms of messages, and `fit` fills the budget.
"""

from ctxtrim.stages.trim.priority import STRATEGIES
from ctxtrim.stages.trim.stage import Trim

__all__ = ["STRATEGIES", "Trim"]
