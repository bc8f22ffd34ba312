"""xAI, Mistral and models with public weights: what chat templates and hosts add. All counts are estimates."""

from ctxtrim.tokens.facts import Fact, Facts
from ctxtrim.tokens.request import harmony_output

TEMPLATES = "published chat templates of Llama 3 and Qwen"
PAIRS = "fitted on recorded-counts"

_GENERIC: Facts = {
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

TABLES: dict[str, Facts] = {
    "generic": _GENERIC,
    "llama": _GENERIC
    | {
        "priming": Fact(32, "the chat template of Llama 3.1 to 3.3: a default system block with dates", 17),
        "tools": Fact(410, f"{PAIRS}: 116 to 410, by host", 14),
        "writes_output": Fact(harmony_output, f"{PAIRS}: the schema comes with an instruction", 3),
        "output": Fact(90, f"{PAIRS}: up to 85", 3),
    },
    "mistral": _GENERIC
    | {
        "priming": Fact(9, f"{PAIRS}: 3 to 17 for one message", 30),
        "tools": Fact(30, f"{PAIRS}: 2 to 24; schemas count as JSON", 50),
    },
    "deepseek": _GENERIC
    | {
        "tools": Fact(230, f"{PAIRS}: 204 to 224", 60),
        "thinking": Fact(80, f"{PAIRS}: 72 to 79", 20),
    },
    "qwen": _GENERIC | {"tools": Fact(120, f"{PAIRS}: 85", 40)},
    "qwen-3.5": _GENERIC | {"tools": Fact(225, f"{PAIRS}: 201 to 221", 45)},
    "xai": _GENERIC | {"priming": Fact(200, f"{PAIRS}: 126 to 204", 24), "tools": Fact(0, PAIRS, 30)},
    "xai-fast": _GENERIC | {"priming": Fact(200, f"{PAIRS}: 156 to 204", 6), "tools": Fact(115, PAIRS, 20)},
}
