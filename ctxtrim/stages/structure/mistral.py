"""Rules of Mistral's Chat Completions, with their sources in brackets.

Several messages of one role may follow each other, but no prompt follows a result.
"""

from itertools import pairwise

from ctxtrim.stages.structure import checks
from ctxtrim.stages.structure.rule import Breach, CheckedMessages, Rule


def _prompt_after_result(conversation: CheckedMessages) -> checks.Breaches:
    """User messages right after a tool result."""
    for (_, previous_message), (position, message) in pairwise(conversation.sent):
        if previous_message.role == "tool" and message.role == "user":
            yield Breach(position, "a user message follows a tool result")


RULES: tuple[Rule, ...] = (
    *checks.pairing(),
    Rule(
        "roles-not-alternating",
        _prompt_after_result,
        "Unexpected role 'user' after role 'tool' [mistralai/mistral-common#169]",
    ),
)
