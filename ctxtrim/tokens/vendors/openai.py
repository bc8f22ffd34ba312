"""OpenAI: Chat Completions, Responses, and gpt-oss, whose prompt is public."""

from functools import partial

from ctxtrim.tokens import tool_schemas, tool_schemas_harmony
from ctxtrim.tokens.facts import Fact, FactTable
from ctxtrim.tokens.request import harmony_output, openai_output

COOKBOOK = "openai-cookbook, notebook on counting tokens: plain messages equal the API's counts"
N0ISY = (
    "n0isy/openai-tokens-count and pamelafox/openai-messages-token-helper: fixtures with API counts"
)
PARALLEL = (
    "community.openai.com/t/538914 and /t/816259: parallel calls, and their "
    "results escaped to ASCII"
)
FORUM_0301 = "community.openai.com/t/431326: 14, 21 and 357 tokens for 1, 2 and 50 texts of one"
PREDICTED = (
    "learn.microsoft.com, predicted outputs (gpt-4o-mini), and python.langchain.com, ChatOpenAI "
    "(gpt-4o): 16 for predictions of 72 and 119 tokens"
)
O1_PREVIEW = "b3n-ai-api.apifox.cn, September 2024: 11 tokens for one message of three"
EMPTY_LINES = (
    "an allowance: public logs of o3-mini on Responses, May 2025, have 39 tokens more for tools "
    "with 13 empty lines in texts; no recorded request has any"
)
PAIRS = "fitted on recorded-counts"
HARMONY = "openai-harmony 0.0.8: what it renders for gpt-oss"

_OPENAI: FactTable = {
    "priming": Fact(3, COOKBOOK, 617),
    "message": Fact(4, COOKBOOK, 617),
    "participant": Fact(1, COOKBOOK, 5),
    "call": Fact(10, N0ISY, 290),
    "call_names": Fact(2, N0ISY, 290),
    "multiline": Fact(6, N0ISY, 290),
    "parallel": Fact(24, PARALLEL, 60),
    "escapes_parallel": Fact(True, PARALLEL, 60),
    "declares": Fact(tool_schemas.render, f"{N0ISY}; {PAIRS}", 406),
    "declared": Fact(5, f"{PAIRS}: -1 to 5", 250),
    "tools": Fact(12, "an allowance for schemas that have no declaration", 0),
    "forbidden": Fact(1, N0ISY, 4),
    "required": Fact(
        6, f"{PAIRS}: 0 to 4 on Chat Completions, 3 to 6 on Responses; the larger for both", 110
    ),
    "forced": Fact(7, N0ISY, 12),
    "writes_output": Fact(openai_output, PAIRS, 230),
    "output": Fact(11, f"{PAIRS}: 0 to 11", 150),
    "output_answer": Fact(
        6, f"{PAIRS}: up to 3, from one repository; an allowance of twice that", 14
    ),
    "prediction": Fact(16, PREDICTED),
    "estimates": Fact(
        ("tool_prompt",), "no source for tools that OpenAI runs, or that have no declaration"
    ),
}
_VERIFIED = Fact(True, COOKBOOK, 617)
_REASONING: FactTable = _OPENAI | {
    "assistant": Fact(2, "the channel of an answer in openai-harmony", 9),
    "sealed": Fact(0.1, f"{PAIRS}: reasoning_details of gpt-5", 6),
    "declares": Fact(partial(tool_schemas.render, has_empty_lines=True), f"{N0ISY}; {PAIRS}", 280),
    "empty_line": Fact(3, EMPTY_LINES),
}
_GPT_5: FactTable = _REASONING | {
    "declared": Fact(84, f"{PAIRS}: 80 to 84 on Chat Completions", 36),
    "pro": Fact(
        1_550, "an allowance: 1,510 to 1,989 more in recorded-counts, without a known rule", 12
    ),
    "pro_answer": Fact(110, f"{PAIRS}: 91 to 110 for each answer in the history", 8),
}
_RESPONSES: FactTable = {
    "declared": Fact(0, f"{PAIRS}: -5 to -2", 80),
    "output": Fact(1, PAIRS, 78),
}
_DECLARED = Fact(4, f"{PAIRS}: -1 to 3 with gpt-5 and the o-series, from four repositories", 168)

TABLES: dict[str, FactTable] = {
    "openai": _OPENAI | {"role_name": Fact(0, f"{PAIRS}: gpt-4o", 5), "is_verified": _VERIFIED},
    "openai-cl100k_base": _OPENAI
    | {
        "role_name": Fact(None, "no recorded request; costs as much as another name"),
        "is_verified": _VERIFIED,
    },
    "openai-reasoning": _REASONING,
    "openai-o1-preview": _REASONING | {"message": Fact(5, O1_PREVIEW)},
    "openai-responses": _OPENAI
    | _RESPONSES
    | {"parallel": Fact(0, f"{PAIRS}: no wrapper", 14), "is_verified": Fact(True, PAIRS, 73)},
    "openai-reasoning-responses": _REASONING | _RESPONSES | {"declared": _DECLARED},
    "openai-gpt-5": _GPT_5,
    "openai-gpt-5-responses": _GPT_5 | _RESPONSES | {"declared": _DECLARED},
    "openai-search": _GPT_5
    | {
        "estimates": Fact(
            ("priming",), "OpenAI: these models always search the web; the prompts are not public"
        )
    },
    "openai-0301": _OPENAI
    | {"priming": Fact(7, FORUM_0301), "message": Fact(6, f"{FORUM_0301}; openai-cookbook: 5")},
    "harmony": {
        "priming": Fact(
            65,
            f"{HARMONY}: 2 of priming, 61 of a system message, 2 of vLLM's empty developer message",
            6,
        ),
        "message": Fact(4, HARMONY, 6),
        "system": Fact(7, HARMONY, 2),
        "assistant": Fact(2, HARMONY),
        "result": Fact(3, HARMONY),
        "participant": Fact(0, HARMONY),
        "reasoning": Fact(6, HARMONY),
        "call": Fact(10, f"{HARMONY}: where the content is constrained to JSON, 8 otherwise", 2),
        "call_names": Fact(
            2, "an allowance: the name is written once in a call and once in its result", 2
        ),
        "call_prefix": Fact(" to=functions.", HARMONY),
        "preamble": Fact(1, HARMONY),
        "quotes_results": Fact(
            True, "the chat template of gpt-oss, by which llama.cpp and transformers render"
        ),
        "tools": Fact(18, HARMONY, 2),
        "declared": Fact(
            18,
            f"{HARMONY}: 14 in the system message, 4 around a developer message of tools alone",
            2,
        ),
        "declares": Fact(tool_schemas_harmony.render, HARMONY, 2),
        "forced": Fact(0, HARMONY),
        "writes_output": Fact(
            harmony_output, "openai/harmony, documentation of structured output", 1
        ),
        "output": Fact(40, PAIRS, 1),
        "estimates": Fact(("output_format", "tool_prompt"), "one request alone has a format"),
    },
}
