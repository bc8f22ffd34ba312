"""Which window, limits, tokenizer and framing a model name means.

The models stand in `registry.json`, which `scripts/registry.py` makes; what a name may look like stands here. Limits
are tokens; where sources disagree the smaller one stands. Framings as `FRAMINGS` says.
"""

import json
import re
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from ctxtrim import schemas_harmony
from ctxtrim.framing import Framing
from ctxtrim.media import POLICIES
from ctxtrim.tokens import Exactness

# OpenAI: the cookbook's counting notebook (plain messages equal the API's counts to the token) and the bound for calls,
# parallel results and schemas that held on every published API count. The reasoning families write a channel into each
# message of the assistant (openai-harmony: 2 tokens).
# Harmony: what openai-harmony 0.0.8 renders for gpt-oss, whose servers count all of it: 2 tokens of priming, 61 of a
# system message (75 with tools), 4 around each message, 3 more around a system prompt and around a result, 2 for the
# channel of an answer, 10 around a call whose content is constrained to JSON (8 otherwise); and the 2 by which vLLM's
# empty developer message is longer than none, the 4 around one that holds nothing but tools. The chat template in the
# model's repository, by which llama.cpp and transformers render, quotes results as JSON, about a tenth more tokens.
# Generic: the published chat templates of Llama 3 and Qwen write 5 tokens around a message and about 100 of
# instructions around tool schemas; a call is charged its tags and keys.
# Anthropic: the 64,068 counts of single messages that ctok recorded are their tokens and 7 up to version 4.6, 11 in
# 4.7; from 4.8 on 6. A system prompt adds its text alone (the documentation's example of 14 tokens). What a step adds
# to the prompt, by 265 steps of recorded sessions of 4.5 and 4.6 whose arguments count value by value: 5 tokens, 42 a
# call with its result (51 where that is an error), 14 an argument, 15 a part of reasoning, 24 where there are several
# calls. A frame for each message and what is charged on top of it cover that. From 4.7 on tags are more tokens: the few
# steps there are ask for 18 an argument. A bound's frames have room for what its factor misses in short texts.
_ANTHROPIC = Framing(
    priming=0,
    message=7,
    system=0,
    reasoning=15,
    call=40,
    call_names=1,
    spells_arguments=True,
    argument=15,
    multiline=0,
    escapes_parallel=False,
    tools=804,
    declares=None,
    own_tools=(("bash_", 245), ("text_editor_", 700), ("computer_", 735 + 499)),
    forbidden=0,
    forced=0,
)
FRAMINGS = {
    "openai": Framing(priming=3, message=4, is_verified=True),
    "openai-reasoning": Framing(priming=3, message=4, assistant=2),
    "harmony": Framing(
        priming=65,
        message=4,
        system=7,
        assistant=2,
        result=3,
        participant=0,
        reasoning=6,
        call=10,
        call_prefix=" to=functions.",
        preamble=1,
        multiline=0,
        parallel=0,
        escapes_parallel=False,
        quotes_results=True,
        tools=18,
        declared=18,
        declares=schemas_harmony.rendered,
        forbidden=0,
        forced=0,
    ),
    "anthropic-v3": _ANTHROPIC,
    "anthropic-v4.7": replace(_ANTHROPIC, message=11, argument=18),
    "anthropic-v4.8": replace(_ANTHROPIC, message=6, argument=18),
    "anthropic-bound": replace(_ANTHROPIC, message=12, system=12, argument=23),
    "generic": Framing(
        priming=6, message=6, assistant=2, call=20, parallel=0, escapes_parallel=False, tools=120, declares=None
    ),
}


@dataclass(frozen=True)
class Model:
    """What is known of a model.

    Limits are tokens, None where nothing is said: `max_input` then is the window. `tokenizer`, `framing` and
    `image_policy` are names. `tool_prompt` is what the provider's instructions cost that come with tool schemas, and
    what they cost where a tool must be called; None where the framing says it. `source` and `date` say who said so and
    when.
    """

    name: str
    context_window: int
    max_input: int | None
    tokenizer: str
    framing: str
    image_policy: str = "unknown"
    tool_prompt: tuple[int, int] | None = None
    is_known: bool = True
    max_output: int | None = None
    provider: str = ""
    source: str = ""
    date: str = ""

    @property
    def image(self) -> int:
        """The most tokens that one image can cost."""
        return POLICIES[self.image_policy].image_most


DEFAULT = Model("", 128_000, None, "o200k_base", "openai", is_known=False)
"""What is assumed where no model is named."""

UNKNOWN = Model("", 128_000, None, "unknown", "openai-reasoning", is_known=False)
"""What is assumed of a model that is not in the registry: too many tokens rather than too few."""

UNKNOWN_CLAUDE = Model("", 200_000, None, "claude-v4.7", "anthropic-v4.7", "anthropic-high", is_known=False)
"""The same where the name at least says Claude, whose tokenizers make far more tokens of a text than any other."""

_REGISTRY = Path(__file__).with_name("registry.json")
# Bedrock's region and vendor: us.anthropic.claude-…
_VENDOR = re.compile(
    r"^(?:[a-z-]{2,8}\.)?(?:ai21|amazon|anthropic|cohere|deepseek|google|meta|minimax|mistral|moonshot|moonshotai|openai"
    r"|qwen|xai|zai)\."
)
_REVISION = re.compile(r"-\d:0$")  # Bedrock: openai.gpt-oss-120b-1:0

# One after the other: what stands around a name, and the spellings of the same name. Dots, colons, underscores and
# at-signs have become hyphens by then.
_SPELLINGS = (
    (r"^(?:databricks|goose|heroku|snowflake)-", ""),
    (r"^gpt-35-", "gpt-3-5-"),  # Azure
    (r"^(?:meta-)?llama-?v?(?=\d)", "llama-"),
    (r"^(llama-\d)p(?=\d)", r"\1-"),  # Fireworks: llama-v3p1
    (r"^(gemma|phi)-?(?=\d)", r"\1-"),
    (r"^qwen-(?=\d)", "qwen"),
    (r"^claude-v(?=\d)", "claude-"),  # Bedrock
    (r"^claude-([4-9](?:-\d)?)-(opus|sonnet|haiku|fable|mythos)(?=-|$)", r"claude-\2-\1"),
    (r"^claude-(opus|sonnet|haiku)-(3(?:-\d)?)(?=-|$)", r"claude-\2-\1"),
)
# What may follow a name: anything after a hyphen but the number of another version. 2024-08-06, 05-20 and 08-2024 are
# dates, 8b is a size.
_FOLLOWS = re.compile(r"-(?!\d{1,2}(?:-|$))|-\d\d-\d\d(?:\d\d)?(?:-|$)|$")
_LONG = re.compile(r"\[1m\]$")  # Claude Code's own mark of a window of a million tokens


def find_model(name: str) -> Model | None:
    """The model of a name: the longest one in the registry that it is or begins with; None if there is none.

    What hosts write around a name is looked through (`openai/…`, `us.anthropic.…-v1:0`, ARNs, `ft:…:org::id`, `…@date`,
    `…-latest`, `llama3:8b`); a higher version than those listed is another model. What is listed as a preview alone is
    found without that word too.
    """
    models = _by_spelling()
    bare = _bare(name)
    spellings = (_spelled(_VENDOR.sub("", bare)), _spelled(bare))
    for spelled in spellings:
        ends = [len(spelled), *(end for end in range(len(spelled) - 1, 0, -1) if spelled[end] == "-")]
        for end in ends:
            found = models.get(spelled[:end])
            if found is not None and _FOLLOWS.match(spelled, end):
                return replace(found, context_window=1_000_000) if _LONG.search(name.lower()) else found
    return next((models[f"{spelled}-preview"] for spelled in spellings if f"{spelled}-preview" in models), None)


def assumed_model(name: str | None) -> Model:
    """The model of a name, else what is assumed of it; None is no name."""
    if name is None:
        return DEFAULT
    return find_model(name) or (UNKNOWN_CLAUDE if "claude" in name.lower() else UNKNOWN)


def framing_of(model: Model, exactness: Exactness) -> tuple[str, Framing]:
    """How a model frames what it is sent, and the name of it. Where Claude's texts are bounded, so are its frames."""
    is_bound = exactness == "bounded" and model.framing.startswith("anthropic")
    name = "anthropic-bound" if is_bound else model.framing
    framing = replace(FRAMINGS[name], media=POLICIES[model.image_policy])
    if model.tool_prompt is not None:
        framing = replace(framing, tools=model.tool_prompt[0], tools_forced=model.tool_prompt[1])
    return name, framing


def nearest_models(name: str) -> list[str]:
    """The names in the registry that look most like an unknown one."""
    from difflib import get_close_matches

    return get_close_matches(_bare(name), [model.name for model in known_models()], n=3, cutoff=0.4)


@cache
def known_models() -> tuple[Model, ...]:
    """All models of the registry, by vendor and name; read when first asked for."""
    data = json.loads(_REGISTRY.read_bytes())
    models = []
    for row in data["models"]:
        fields = dict(zip(data["columns"], row, strict=True))
        source, prompt = data["sources"][fields.pop("source")], fields.pop("tool_prompt")
        fields |= {"source": source["text"], "date": source["date"], "tool_prompt": tuple(prompt) if prompt else None}
        models.append(Model(**fields))
    return tuple(models)


@cache
def _by_spelling() -> dict[str, Model]:
    return {_spelled(model.name): model for model in known_models()}


def _bare(name: str) -> str:
    """A name in lower case without the path before it, the base model of a fine-tuned one."""
    bare = _LONG.sub("", name.strip().lower())
    tuned = re.search(r"(?:^|/)ft:([^:]+)", bare)
    return _REVISION.sub("", (tuned[1] if tuned else bare).rstrip("/").rsplit("/", 1)[-1])


def _spelled(name: str) -> str:
    """The one spelling under which all spellings of a name are the same."""
    spelled = re.sub(r"[.:@_ ]", "-", name)
    for pattern, plain in _SPELLINGS:
        spelled = re.sub(pattern, plain, spelled)
    return spelled
