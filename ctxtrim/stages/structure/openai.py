"""Rules of OpenAI Chat Completions, with their sources in brackets.

Neither alternation nor a first user message is required. System and developer messages may occur
anywhere.
"""

from ctxtrim.stages.structure import checks
from ctxtrim.stages.structure.rule import Rule

_NO_RESULT = (
    "An assistant message with 'tool_calls' must be followed by tool messages responding to each "
    "'tool_call_id'. [pydantic/pydantic-ai#2360]"
)
_NO_CONTENT = "Invalid value for 'content': expected a string, got null. [vercel/ai#13744]"
RULES: tuple[Rule, ...] = (
    *checks.pairing(
        "messages with role 'tool' must be a response to a preceeding message with "
        "'tool_calls'. [BerriAI/litellm#4931]",
        _NO_RESULT,
    ),
    Rule("tool-result-not-adjacent", checks.result_apart, _NO_RESULT),
    Rule("empty-content", checks.no_content, _NO_CONTENT),
    Rule("empty-content", checks.result_without_content, _NO_CONTENT),
    Rule(
        "arguments-not-json",
        checks.arguments_no_json,
        "invalid params, by stricter providers behind the same interface; OpenAI takes them "
        "[codegraff#752]",
        "warning",
    ),
)
