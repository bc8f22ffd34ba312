"""Rules of OpenAI Responses, whose reasoning items need the items that follow them."""

from ctxtrim.structure import checks
from ctxtrim.structure.rule import Profile, Rule

_NO_OUTPUT = "No tool output found for function call … [llm-memory-api#179]"
PROFILE = Profile(
    "openai-responses",
    (
        Rule(
            "tool-result-without-call",
            checks.result_without_call,
            "No tool call found for function call output with call_id … [agno-agi/agno#9372]",
        ),
        Rule("call-without-result", checks.call_without_result, _NO_OUTPUT),
        Rule("call-without-result", checks.pending_call, _NO_OUTPUT, for_request=True),
        Rule(
            "reasoning-without-follower",
            checks.reasoning_at_end,
            "Item 'rs_…' of type 'reasoning' was provided without its required following "
            "item. [vercel/ai#7099]",
        ),
    ),
)
