"""Model names: their window, limits, tokenizer and framing.

`scripts/registry.py` generates the models in `registry.json`. This module resolves the many forms
of a name. Limits are tokens; if sources disagree, the smaller limit is used. `tokens.vendors`
defines the framings.
"""

import json
import re
from functools import cache
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from ctxtrim.errors import must_be_text
from ctxtrim.loading import lazy_pattern
from ctxtrim.model.request import Api
from ctxtrim.tokens.framing import Framing
from ctxtrim.tokens.media.policies import POLICIES
from ctxtrim.tokens.tokenizer import Exactness
from ctxtrim.tokens.vendors import FRAMINGS


class Model(Struct, frozen=True):
    """The facts about a model.

    Limits are tokens, None if unknown; without `max_input` the whole window is available.
    `tokenizer`, `framing` and `image_policy` are names. `tool_prompt` is the cost of the provider's
    tool instructions, and their cost if a tool must be called; None if the framing defines it.
    `is_known`: the facts are those of the name, not of a name that begins it. `is_derived`: the
    limits may be others, because the words after the known name may name another model. `source`
    and `date` name the origin of the facts.
    """

    name: str
    context_window: int
    max_input: int | None
    tokenizer: str
    framing: str
    image_policy: str = "unknown"
    tool_prompt: tuple[int, int] | None = None
    is_known: bool = True
    is_derived: bool = False
    max_output: int | None = None
    provider: str = ""
    source: str = ""
    date: str = ""

    @property
    def is_assumed(self) -> bool:
        """Whether no source has facts about it: not the registry, and not the user."""
        return not self.is_known and not self.source

    @property
    def has_public_weights(self) -> bool:
        """Whether other hosts may have it, with compressed weights."""
        return self.provider not in ("OpenAI", "Anthropic") or self.framing == "harmony"

    @property
    def image(self) -> int:
        """The maximum tokens of one image."""
        return POLICIES[self.image_policy].image_most


DEFAULT = Model("", 128_000, None, "o200k_base", "openai", is_known=False)
"""The assumed model if none is named."""

UNKNOWN = Model("", 128_000, None, "unknown", "openai-reasoning", is_known=False)
"""The assumed facts of a model that is not in the registry. They overestimate its tokens."""

UNKNOWN_CLAUDE = Model(
    "", 200_000, None, "claude-v4.7", "anthropic-v4.7", "anthropic-high", is_known=False
)
"""The same for an unknown Claude model: Claude's tokenizers make far more tokens of a text than
others.
"""

_REGISTRY = Path(__file__).with_name("registry.json")
# Bedrock's region and vendor: us.anthropic.claude-…
_VENDOR = lazy_pattern(
    r"^(?:[a-z-]{2,8}\.)?(?:ai21|amazon|anthropic|cohere|deepseek|google|meta|minimax|mistral|moonshot|moonshotai|openai"
    r"|qwen|xai|zai)\."
)
_PROVIDER = lazy_pattern(r"^[a-z_-]+:")  # of LangChain and PydanticAI: openai:gpt-4o
_REVISION = lazy_pattern(r"-\d:0$")  # Bedrock: openai.gpt-oss-120b-1:0

# Applied in order: prefixes of a name, and variants of the same name. Dots, colons, underscores and
# at-signs are hyphens at this point.
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
    (r"^(claude-(?:opus|sonnet)-4)-0(?=-|$)", r"\1"),  # Anthropic's aliases of version 4.0
    (r"^open-(?=mistral-7b|mixtral)", ""),  # Mistral's first names of open models
)
# A name may be followed by a hyphen and anything but another version number. 2024-08-06, 05-20 and
# 08-2024 are dates, 8b is a size.
_FOLLOWS = lazy_pattern(r"-(?!\d{1,2}(?:-|$))|-\d\d-\d\d(?:\d\d)?(?:-|$)|$")
# What may follow the name of the same model: dates, numbers, versions, words for modes and hosts,
# and for models with public weights words for their compression. Other words may name another
# model, such as gpt-4o-distill-llama-3-8b.
_WORDS = (
    r"v?\d+|latest|preview|default|free|extended|beta|nitro|floor|exacto|vision"
    r"|thinking|think|fast|none|minimal|low|medium|high|xhigh|max"
    r"|cloud|maas"
)
_WEIGHTS = r"gguf|mlx|mxfp\d*|fp\d+|bf16|q\d|\d+bit"
_SAME = lazy_pattern(rf"(?:-(?:{_WORDS}|{_WEIGHTS}))*(?:-ft-.*)?")
_SAME_CLOSED = lazy_pattern(rf"(?:-(?:{_WORDS}))*(?:-ft-.*)?")
# The same for sizes and tuned weights of open models: the registry has one window for all of them.
_SAME_LIMITS = lazy_pattern(
    rf"(?:-(?:{_WORDS}|{_WEIGHTS}|[ae]?\d+[be]|v?\d+p\d+b?|instruct|it|chat|base|hf|awq|gptq|int\d))*"
)
_LONG = lazy_pattern(r"\[1m\]$")  # Claude Code's suffix for a window of 1,000,000 tokens
_SIZE = lazy_pattern(r":(\d{1,4})k$")  # Bedrock's suffix for a window of that many thousand tokens


def find_model(name: str) -> Model | None:
    """The model of a name: the longest registry name that equals or begins it; None if there is
    none.

    Prefixes and suffixes of hosts are ignored (`openai/…`, `openai:…`, `us.anthropic.…-v1:0`, ARNs,
    `ft:…:org::id`, `…@date`, `…-latest`, `llama3:8b`). A higher version than the listed ones is
    another model. A model listed only as a preview is also found without that word. A name with
    other words after it is a derived model with the same facts, which are assumptions. A host whose
    limit is smaller gives it to the model. A `UsageError` for a value that is not a text.
    """
    must_be_text(name, "find_model: name")
    bare = _bare(name)
    model = _named(bare) or _named(_PROVIDER.sub("", bare))
    if model is None:
        return None
    if _LONG.search(name.lower()) and model.provider == "Anthropic":
        model = replace(model, context_window=1_000_000)
    size = _SIZE.search(name.lower())
    if size is not None and int(size[1]) > 0:
        model = _limited(model, 1000 * int(size[1]))
    host, hosted = hosted_name(name)
    limit = _hosts().get(host, {}).get(hosted)
    if limit is not None:
        model = replace(_limited(model, limit), is_derived=False)
    return model


def _limited(model: Model, window: int) -> Model:
    """A model with a smaller window."""
    if window >= (model.max_input or model.context_window):
        return model
    most = model.max_output and min(model.max_output, window)
    return replace(model, context_window=window, max_input=None, max_output=most)


def hosted_name(name: str) -> tuple[str, str]:
    """The host that begins a name, and the model's name without its path, as the registry has
    them; an empty host if there is no path.
    """
    host, _, rest = name.strip().lower().partition("/")
    return (_normal_form(host), _normal_form(_bare(name))) if rest else ("", "")


def _named(bare: str) -> Model | None:
    return _by_name().get(bare) or _variant(bare)


def _variant(bare: str) -> Model | None:
    """The model of a name that is not in the registry in these letters."""
    models = _by_spelling()
    spellings = (_normal_form(_VENDOR.sub("", bare)), _normal_form(bare))
    for spelled in spellings:
        ends = [
            len(spelled),
            *(end for end in range(len(spelled) - 1, 0, -1) if spelled[end] == "-"),
        ]
        for end in ends:
            model = models.get(spelled[:end])
            if model is not None and _FOLLOWS.match(spelled, end):
                is_open = model.has_public_weights
                if (_SAME if is_open else _SAME_CLOSED).fullmatch(spelled, end):
                    return model
                is_derived = not (is_open and _SAME_LIMITS.fullmatch(spelled, end))
                return replace(model, is_known=False, is_derived=is_derived)
    return next(
        (models[f"{spelled}-preview"] for spelled in spellings if f"{spelled}-preview" in models),
        None,
    )


def assumed_model(name: str | None) -> Model:
    """The model of a name, or the assumed one for an unknown name or None."""
    if name is None:
        return DEFAULT
    return find_model(name) or (UNKNOWN_CLAUDE if "claude" in name.lower() else UNKNOWN)


def framing_name(model: Model, exactness: Exactness, api: Api | None = None) -> str:
    """The name of a model's framing.

    If its texts are bounded, so are its frames. `api`: OpenAI's Responses API has its own framing.
    """
    is_bound = exactness == "bounded" and model.framing.startswith("anthropic")
    name = model.framing
    if is_bound:
        name = f"{name}-bound" if f"{name}-bound" in FRAMINGS else "anthropic-bound"
    for variant in (api, model.tokenizer):  # a tokenizer may have fewer recorded requests
        name = f"{name}-{variant}" if f"{name}-{variant}" in FRAMINGS else name
    return name


def framing_of(model: Model, exactness: Exactness, api: Api | None = None) -> Framing:
    """The framing of a model, with its image policy and its tool prompt."""
    recorded = FRAMINGS[framing_name(model, exactness, api)]
    framing = replace(recorded, media=POLICIES[model.image_policy])
    if model.tool_prompt is not None:
        tools, forced = model.tool_prompt
        framing = replace(
            framing, request=replace(framing.request, tools=tools, tools_forced=forced)
        )
    return framing


def nearest_models(name: str) -> list[str]:
    """The registry names most similar to an unknown one."""
    from difflib import get_close_matches

    return get_close_matches(_bare(name), [model.name for model in known_models()], n=3, cutoff=0.5)


def nearest_hint(name: str) -> str:
    """The similar names after an unknown one in a message: ` (nearest names: gpt-4o)`; empty if
    none is similar.
    """
    names = ", ".join(nearest_models(name))
    return f" (nearest names: {names})" if names else ""


@cache
def _registry() -> dict[str, Any]:
    data: dict[str, Any] = json.loads(_REGISTRY.read_bytes())
    return data


def _hosts() -> dict[str, dict[str, int]]:
    hosts: dict[str, dict[str, int]] = _registry()["hosts"]
    return hosts


@cache
def known_models() -> tuple[Model, ...]:
    """All models of the registry, by vendor and name; loaded on first use."""
    data = _registry()
    models = []
    for row in data["models"]:
        fields = dict(zip(data["columns"], row, strict=True))
        source, prompt = data["sources"][fields.pop("source")], fields.pop("tool_prompt")
        fields |= {
            "source": source["text"],
            "date": source["date"],
            "tool_prompt": tuple(prompt) if prompt else None,
        }
        models.append(Model(**fields))
    return tuple(models)


@cache
def _by_name() -> dict[str, Model]:
    return {model.name: model for model in known_models()}


@cache
def _by_spelling() -> dict[str, Model]:
    return {_normal_form(model.name): model for model in known_models()}


def _bare(name: str) -> str:
    """A name in lower case, without its path, and for a fine-tuned model its base model."""
    bare = _SIZE.sub("", _LONG.sub("", name.strip().lower()))
    tuned = re.search(r"(?:^|[/:])ft:([^:]+)", bare)
    return _REVISION.sub("", (tuned[1] if tuned else bare).rstrip("/").rsplit("/", 1)[-1])


def _normal_form(name: str) -> str:
    """The normal form of all variants of a name."""
    spelled = re.sub(r"[.:@_ ]", "-", name)
    for pattern, plain in _SPELLINGS:
        spelled = re.sub(pattern, plain, spelled)
    return spelled
