"""Rules of OpenAI Responses, whose reasoning items need the items that follow them.

The reverse has no rule: the API refuses an item without the reasoning item that it was sent with,
but items do not name their reasoning. A model without reasoning writes items with equal ids.
"""

from ctxtrim.stages.structure import checks
from ctxtrim.stages.structure.rule import Rule

RULES: tuple[Rule, ...] = (
    *checks.pairing(
        "No tool call found for function call output with call_id … [agno-agi/agno#9372]",
        "No tool output found for function call … [llm-memory-api#179]",
    ),
    Rule(
        "reasoning-without-follower",
        checks.reasoning_at_end,
        "Item 'rs_…' of type 'reasoning' was provided without its required following item. "
        "[vercel/ai#7099]",
    ),
    Rule(
        "unknown-member",
        checks.debug_members,
        "Unknown parameter: 'input[…]._originalLength'. [BerriAI/litellm#13420]",
        for_request=True,
    ),
)
