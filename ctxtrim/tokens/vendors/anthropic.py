"""Anthropic: the Messages API, also through Bedrock and Vertex AI."""

from ctxtrim.tokens.facts import Fact, FactTable
from ctxtrim.tokens.request import indented_output

CTOK = "ctok 1.3: 64,068 recorded counts of single messages"
DOCS = "platform.claude.com, tool use"
PAIRS = "fitted on recorded-counts"
STEPS = "265 steps of recorded sessions of 4.5 and 4.6, argument by argument"
ALLOWANCE = "an allowance for what the bound's factor misses in short texts"

_ANTHROPIC: FactTable = {
    "priming": Fact(4, f"{CTOK}: 7 around a single message; {PAIRS}", 250),
    "message": Fact(3, f"{PAIRS}: 3 for each further message", 25),
    "system": Fact(0, "platform.claude.com, token counting: the example of 14 tokens", 180),
    "reasoning": Fact(15, STEPS, 12),
    "sealed": Fact(0.25, "an allowance: thinking that only its signature holds"),
    "image": Fact(4, f"{PAIRS}: 3", 9),
    "document": Fact(12, PAIRS, 12),
    "call": Fact(42, STEPS, 104),
    "parallel": Fact(24, STEPS, 30),
    "call_names": Fact(1, STEPS, 104),
    "spells_arguments": Fact(True, STEPS, 104),
    "argument": Fact(15, f"{STEPS}: 14", 104),
    "tools": Fact(804, f"{DOCS}: the most that any model is charged"),
    "tool": Fact(4, f"{PAIRS}: 3 a tool", 240),
    "own_tools": Fact(
        (
            ("bash_", 245),
            ("text_editor_", 700),
            ("memory_20250818", 1_060),
            ("computer_20251124", 735 + 499 + 60),
            ("computer_", 735 + 499 + 20),
        ),
        f"{DOCS}; memory and computer: {PAIRS}",
        8,
    ),
    "forced": Fact(8, PAIRS, 27),
    "writes_output": Fact(indented_output, PAIRS, 11),
    "output": Fact(82, PAIRS, 10),
    "output_is_tool": Fact(True, f"{PAIRS}: Databricks", 3),
    "thinking": Fact(33, f"{PAIRS}: 29 to 33 up to 4.5", 34),
    "task_budget": Fact(37, PAIRS),
    "citations": Fact(560, f"{PAIRS}: 524 to 560", 4),
    "estimates": Fact(
        ("own_tools", "task_budget", "citations"),
        "versions differ, and one repository alone has them",
    ),
}
_V4_6 = _ANTHROPIC | {
    "system": Fact(1, PAIRS, 60),
    "adaptive": Fact(17, PAIRS, 9),
}
_V4_7 = _ANTHROPIC | {
    "priming": Fact(8, f"{CTOK}: 11 around a single message", 4),
    "system": Fact(1, PAIRS, 14),
    "argument": Fact(18, "the few recorded steps of 4.7: tags are more tokens", 5),
    "tool": Fact(6, PAIRS, 9),
    "output": Fact(119, PAIRS, 1),
    "thinking": Fact(0, PAIRS, 0),
}

_BOUND: FactTable = _V4_6 | {
    "priming": Fact(0, ALLOWANCE),
    "message": Fact(12, ALLOWANCE, 526),
    "system": Fact(12, ALLOWANCE, 353),
    "argument": Fact(23, ALLOWANCE, 104),
    "adaptive": Fact(33, "as much as `thinking`: all requests come from one repository", 18),
    "tool": Fact(6, PAIRS, 240),
    "output": Fact(119, PAIRS, 11),
}

TABLES: dict[str, FactTable] = {
    "anthropic-v2": _ANTHROPIC | {"priming": Fact(7, PAIRS, 3)},
    "anthropic-v3": _ANTHROPIC,
    "anthropic-v4.6": _V4_6,
    "anthropic-v4.7": _V4_7,
    "anthropic-v4.8": _V4_7 | {"priming": Fact(3, f"{CTOK}: 6 around a single message", 12)},
    "anthropic-bound": _BOUND,
    "anthropic-v4.7-bound": _BOUND
    | {"priming": Fact(5, f"{CTOK}: 11 around a single message, 4 to 5 more than others")},
}
