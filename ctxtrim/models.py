"""Which window, limits, tokenizer and framing a model name means.

A short table of the current OpenAI and Anthropic models. Limits are tokens; where sources disagree the smaller one
stands. Sources: litellm 1.109.1's model list (MIT) and the vendors' pages, November 2026; framings as `FRAMINGS` says.
"""

from dataclasses import dataclass

from ctxtrim.counter import Framing

# OpenAI: the cookbook's counting notebook (plain messages equal the API's counts to the token) and the bound for calls,
# parallel results and schemas that held on every published API count. The reasoning families write a channel into each
# message of the assistant (openai-harmony: 2 tokens).
# Anthropic: one frame a message (6 to 11 measured on single messages, 12 charged for each), the documented prompt that
# comes with tool schemas (804 at most); a call is charged the tags around it.
FRAMINGS = {
    "openai": Framing(priming=3, message=4, is_verified=True),
    "openai-reasoning": Framing(priming=3, message=4, assistant=2),
    "anthropic": Framing(
        priming=0, message=12, call=40, call_names=1, multiline=0, parallel=0, escapes_parallel=False, tools=804
    ),
}


@dataclass(frozen=True)
class Model:
    """What is known of a model: limits in tokens, the name of its tokenizer and of its framing, one image at most."""

    name: str
    context_window: int
    max_input: int | None
    tokenizer: str
    framing: str
    image: int
    is_known: bool = True


DEFAULT = Model("", 128_000, None, "o200k_base", "openai", 4784, is_known=False)
"""What is assumed where no model is named."""

UNKNOWN = Model("", 128_000, None, "unknown", "openai-reasoning", 36_000, is_known=False)
"""What is assumed of a model that is not in the table: too many tokens rather than too few."""

# fmt: off
MODELS = (
    #      name                   window     max input  tokenizer      framing             one image at most
    Model("gpt-3.5-turbo",        16_385,    None,      "cl100k_base", "openai",           1_445),
    Model("gpt-3.5-turbo-0613",   4_096,     None,      "cl100k_base", "openai",           1_445),
    Model("gpt-4-32k",            32_768,    None,      "cl100k_base", "openai",           1_445),
    Model("gpt-4-turbo",          128_000,   None,      "cl100k_base", "openai",           1_445),
    Model("gpt-4-1106",           128_000,   None,      "cl100k_base", "openai",           1_445),
    Model("gpt-4-0125",           128_000,   None,      "cl100k_base", "openai",           1_445),
    Model("gpt-4",                8_192,     None,      "cl100k_base", "openai",           1_445),
    Model("gpt-4o-mini",          128_000,   None,      "o200k_base",  "openai",           48_169),
    Model("gpt-4o",               128_000,   None,      "o200k_base",  "openai",           1_445),
    Model("chatgpt-4o",           128_000,   None,      "o200k_base",  "openai",           1_445),
    Model("gpt-4.1-mini",         1_047_576, None,      "o200k_base",  "openai",           6_636),
    Model("gpt-4.1-nano",         1_047_576, None,      "o200k_base",  "openai",           3_779),
    Model("gpt-4.1",              1_047_576, None,      "o200k_base",  "openai",           1_445),
    Model("o1-mini",              128_000,   None,      "o200k_base",  "openai-reasoning", 1_275),
    Model("o1-preview",           128_000,   None,      "o200k_base",  "openai-reasoning", 1_275),
    Model("o1",                   200_000,   None,      "o200k_base",  "openai-reasoning", 1_275),
    Model("o3",                   200_000,   None,      "o200k_base",  "openai-reasoning", 1_275),
    Model("o4-mini",              200_000,   None,      "o200k_base",  "openai-reasoning", 2_642),
    Model("gpt-5-chat",           128_000,   None,      "o200k_base",  "openai-reasoning", 1_190),
    Model("gpt-5.1-chat",         128_000,   None,      "o200k_base",  "openai-reasoning", 1_190),
    Model("gpt-5.2-chat",         128_000,   None,      "o200k_base",  "openai-reasoning", 7_373),
    Model("gpt-5-mini",           400_000,   272_000,   "o200k_base",  "openai-reasoning", 2_489),
    Model("gpt-5-nano",           400_000,   272_000,   "o200k_base",  "openai-reasoning", 3_779),
    Model("gpt-5.2",              400_000,   272_000,   "o200k_base",  "openai-reasoning", 7_373),
    Model("gpt-5.4-mini",         400_000,   272_000,   "o200k_base",  "openai-reasoning", 7_373),
    Model("gpt-5.4-nano",         400_000,   272_000,   "o200k_base",  "openai-reasoning", 7_373),
    Model("gpt-5.4",              1_050_000, 922_000,   "o200k_base",  "openai-reasoning", 12_000),
    Model("gpt-5.5",              1_050_000, 922_000,   "o200k_base",  "openai-reasoning", 12_000),
    Model("gpt-5.6",              1_050_000, 922_000,   "o200k_base",  "openai-reasoning", 36_000),
    Model("gpt-5",                400_000,   272_000,   "o200k_base",  "openai-reasoning", 1_190),
    Model("gpt-6",                1_050_000, 922_000,   "unknown",     "openai-reasoning", 36_000),
    Model("claude-3",             200_000,   None,      "claude-v3",     "anthropic",        1_668),
    Model("claude-opus-4-6",      1_000_000, None,      "claude-v3",     "anthropic",        1_668),
    Model("claude-sonnet-4-6",    1_000_000, None,      "claude-v3",     "anthropic",        1_668),
    Model("claude-opus-4-7",      1_000_000, None,      "claude-v4.7",  "anthropic",        4_784),
    Model("claude-opus-4-8",      1_000_000, None,      "claude-v4.7",  "anthropic",        4_784),
    Model("claude-opus-4",        200_000,   None,      "claude-v3",     "anthropic",        1_668),
    Model("claude-sonnet-4",      200_000,   None,      "claude-v3",     "anthropic",        1_668),
    Model("claude-haiku-4-5",     200_000,   None,      "claude-v3",     "anthropic",        1_668),
    Model("claude-opus-5",        1_000_000, None,      "claude-v4.7",  "anthropic",        4_784),
    Model("claude-sonnet-5",      1_000_000, None,      "claude-v4.7",  "anthropic",        4_784),
    Model("claude-haiku-5",       1_000_000, None,      "claude-v4.7",  "anthropic",        4_784),
    Model("claude-fable-5",       1_000_000, None,      "claude-v4.7",  "anthropic",        4_784),
    Model("claude-mythos-5",      1_000_000, None,      "claude-v4.7",  "anthropic",        4_784),
)
# fmt: on


def find_model(name: str) -> Model | None:
    """The model of a name: the longest entry it begins with, vendor prefixes and `ft:` aside; None if there is none."""
    bare = name.lower().rsplit("/", 1)[-1]
    if bare.startswith("ft:"):
        bare = bare.split(":")[1]
    found = [model for model in MODELS if bare == model.name or _is_version(bare, model)]
    return max(found, key=lambda model: len(model.name), default=None)


def nearest_models(name: str) -> list[str]:
    """The names in the table that look most like an unknown one."""
    from difflib import get_close_matches

    return get_close_matches(name.lower(), [model.name for model in MODELS], n=3, cutoff=0.4)


def _is_version(name: str, model: Model) -> bool:
    """Whether a name is a dated or later version of an entry: gpt-5.1 of gpt-5, but not gpt-4.5 of gpt-4."""
    return name.startswith((f"{model.name}-", f"{model.name}@", f"{model.name}:")) or (
        model.framing == "openai-reasoning" and name.startswith(f"{model.name}.")
    )
