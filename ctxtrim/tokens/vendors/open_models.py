"""xAI, Mistral and models with public weights: the tokens that chat templates and hosts add.

All counts are estimates.
"""

from ctxtrim.tokens.facts import Fact, FactTable
from ctxtrim.tokens.request import harmony_output, openai_output

TEMPLATES = "published chat templates of Llama 3 and Qwen"
PAIRS = "fitted on recorded-counts"
VENICE = "an allowance for Venice, which adds a system prompt of its own (docs.venice.ai)"

_GENERIC: FactTable = {
    "priming": Fact(6, TEMPLATES, 60),
    "message": Fact(6, f"{TEMPLATES}: 5", 60),
    "assistant": Fact(2, TEMPLATES),
    "call": Fact(20, TEMPLATES, 60),
    "call_names": Fact(2, TEMPLATES, 60),
    "multiline": Fact(6, TEMPLATES),
    "tools": Fact(120, f"{TEMPLATES}: about 100", 60),
    "forbidden": Fact(1, TEMPLATES),
    "required": Fact(8, TEMPLATES),
    "forced": Fact(7, TEMPLATES),
}

_MISTRAL: FactTable = _GENERIC | {
    "priming": Fact(9, f"{PAIRS}: 3 to 17 for one message", 30),
    "tools": Fact(30, f"{PAIRS}: 2 to 24; schemas count as JSON", 50),
}
_XAI: FactTable = _GENERIC | {
    "priming": Fact(200, f"{PAIRS}: 126 to 204", 24),
    "tools": Fact(0, PAIRS, 30),
    "writes_output": Fact(openai_output, "an allowance: the schema as short JSON", 1),
}
_XAI_KEPT = _XAI | {"kept": Fact(290, f"{PAIRS}: 0 to 289, by chance", 14)}

TABLES: dict[str, FactTable] = {
    "generic": _GENERIC,
    "llama": _GENERIC
    | {
        "priming": Fact(
            34, "the chat template of Llama 3.1 to 3.3: a default system block with dates", 17
        ),
        "tools": Fact(410, f"{PAIRS}: 116 to 410, by host", 14),
        "writes_output": Fact(harmony_output, f"{PAIRS}: the schema comes with an instruction", 3),
        "output": Fact(90, f"{PAIRS}: up to 85", 3),
    },
    "mistral": _MISTRAL,
    "mistral-small-3.2": _MISTRAL
    | {
        "priming": Fact(
            1_581,
            f"{VENICE}; {PAIRS}: 891 to 1,579, and 525 by the model's chat template alone",
            31,
        )
    },
    "deepseek": _GENERIC
    | {
        "priming": Fact(8, PAIRS, 162),
        "call": Fact(30, PAIRS, 60),
        "tools": Fact(230, f"{PAIRS}: 204 to 224", 60),
        "thinking": Fact(80, f"{PAIRS}: 72 to 79", 20),
    },
    "qwen": _GENERIC | {"tools": Fact(120, f"{PAIRS}: 85", 40)},
    "qwen-3.5": _GENERIC | {"tools": Fact(225, f"{PAIRS}: 201 to 221", 45)},
    "xai": _XAI_KEPT,
    "xai-4": _XAI_KEPT
    | {
        "priming": Fact(
            690,
            "doc.302.ai and apifire.apifox.cn, Chat Completions: 686 for a greeting, 679 cached",
        )
    },
    "xai-4-responses": _XAI_KEPT,
    "xai-4.3": _XAI,
    "xai-fast": _XAI
    | {"tools": Fact(115, PAIRS, 20), "kept": Fact(175, f"{PAIRS}: 0 to 174, by chance", 12)},
}
