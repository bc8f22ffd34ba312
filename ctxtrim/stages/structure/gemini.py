"""Rules of Gemini contents, with their sources in brackets.

User and model alternate. The turn right after a function call answers it, with as many responses as
calls.
"""

from ctxtrim.stages.structure import checks
from ctxtrim.stages.structure.rule import Rule

_RESPONSE = (
    "Please ensure that function response turn comes immediately after a function call turn. "
    "[langchain#27799]"
)
_PARTS = (
    "Please ensure that the number of function response parts is equal to the number of function "
    "call parts of the function call turn."
)
RULES: tuple[Rule, ...] = (
    *checks.pairing(_RESPONSE, _PARTS),
    Rule("tool-result-not-adjacent", checks.result_apart, _RESPONSE),
    Rule(
        "call-after-model",
        checks.call_after_model,
        "Please ensure that function call turn comes immediately after a user turn or after a "
        "function response turn. [google-gemini/gemini-cli#26486]",
    ),
    Rule(
        "empty-content",
        checks.no_content,
        "contents.parts must not be empty. [reported for several clients]",
    ),
    Rule(
        "first-not-user",
        checks.first_not_user,
        "Please ensure that multiturn requests alternate between user and model, beginning "
        "with user.",
        "warning",
    ),
    Rule(
        "ends-with-assistant",
        checks.ends_with_assistant,
        "Please ensure that multiturn requests end with a user turn or a function response. "
        "[crewAI#6973]",
        for_request=True,
    ),
    Rule(
        "unknown-member",
        checks.debug_members,
        "Invalid JSON payload received. Unknown name … at '….function_response': Cannot find field "
        "[google-gemini/gemini-cli#13972]",
        for_request=True,
    ),
)
