"""The stage `trim`: drop the least important messages until a transcript fits its budget.

`stage` is the stage, `situation` the facts that decide, `message_units` what is kept or dropped as
a whole, `priority` the order, `levels` the lengths of results in it, `forms` the shorter forms of
messages, and `fit` fills the budget. `shared_budget` leaves room for a summary. `prompt_cache` says
what a provider need not read again.
"""
