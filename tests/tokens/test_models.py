"""The registry of models: accepted names, the guarantees of the data, and the output of `ctxtrim
models`.
"""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import Run
from hypothesis import given
from hypothesis import strategies as st

from ctxtrim.tokenizers import TOKENIZERS
from ctxtrim.tokenizers.claude_ctok import available
from ctxtrim.tokens.media.policies import POLICIES
from ctxtrim.tokens.models import (
    DEFAULT,
    FRAMINGS,
    UNKNOWN,
    UNKNOWN_CLAUDE,
    assumed_model,
    find_model,
    framing_name,
    framing_of,
    known_models,
    nearest_models,
)

DATA = Path(__file__).parents[2] / "ctxtrim" / "tokens" / "registry.json"
NAMES = [model.name for model in known_models()]


def named(name: str) -> str | None:
    model = find_model(name)
    return model.name if model else None


@pytest.mark.parametrize("name", NAMES)
def test_every_registry_name_is_found_with_any_prefix_or_suffix(name: str) -> None:
    model = find_model(name)
    assert model is not None
    twins = {model.name, name}
    assert find_model(model.name) == model
    for dressed in (
        name.upper(),
        f"openai/{name}",
        f"a/b/{name}",
        f"openai:{name}",
        f"ft:{name.split(':')[0]}:acme::1",
        f" {name} ",
    ):
        if ":" not in name:
            assert named(dressed) in twins
    for suffix in ("", "-latest", "-20991231", "@20991231", ":free", "-v1:0", "-2099-12-31"):
        again = find_model(f"us.anthropic.{name}{suffix}")
        assert again is not None
        assert len(again.name) >= len(model.name.replace("-latest", ""))


def test_equivalent_names_have_the_same_limits() -> None:
    for model in known_models():
        known = find_model(model.name)
        assert known is not None
        limits = (
            model.context_window,
            model.max_input,
            model.max_output,
            model.tokenizer,
            model.framing,
            model.image,
        )
        assert limits == (
            known.context_window, known.max_input, known.max_output, known.tokenizer, known.framing,
            known.image,
        )  # fmt: skip


@pytest.mark.parametrize(
    ("name", "known"),
    [
        ("gpt-4o-2024-08-06", "gpt-4o"),
        ("gpt-4o-2024-05-13", "gpt-4o-2024-05-13"),  # answers with 4,096 tokens at most
        ("openai/gpt-4.1-mini", "gpt-4.1-mini"), ("azure/gpt-35-turbo-16k", "gpt-3.5-turbo-16k"),
        ("azure/eu/gpt-5.1-codex", "gpt-5.1-codex"),
        ("ft:gpt-4.1-mini-2025-04-14:acme::1", "gpt-4.1-mini"),
        ("openai/ft:gpt-4o-2024-08-06:a/b:c:1", "gpt-4o"),
        ("gpt-4o-2024-08-06.ft-0123abc", "gpt-4o"), ("gpt-4-0613", "gpt-4"),
        ("gpt-4.5", "gpt-4.5-preview"), ("google/gemini-3-flash", "gemini-3-flash-preview"),
        ("gpt-4-1106-preview", "gpt-4-1106-preview"), ("gpt-5.1", "gpt-5.1"),
        ("gpt-5.1-2025-11-13", "gpt-5.1"), ("gpt-5-chat-latest", "gpt-5-chat"),
        ("gpt-oss:20b", "gpt-oss-20b"), ("openai.gpt-oss-120b-1:0", "gpt-oss-120b"),
        ("claude-opus-4-5-20251101", "claude-opus-4-5"),
        ("claude-opus-4-20250514", "claude-opus-4"), ("claude-opus-4-0", "claude-opus-4"),
        ("claude-sonnet-4-0", "claude-sonnet-4"), ("claude-opus-4-00", None),
        ("claude-3-7-sonnet-latest", "claude-3-7-sonnet"),
        ("claude-3-opus-latest", "claude-3-opus"), ("claude-haiku-4-5", "claude-haiku-4-5"),
        ("gpt-5.2-chat-latest", "gpt-5.2-chat"), ("chatgpt-4o-latest", "chatgpt-4o"),
        ("codex-mini-latest", "codex-mini"), ("o1-pro", "o1-pro"),
        ("o3-mini-2025-01-31", "o3-mini"), ("o4-mini-deep-research", "o4-mini-deep-research"),
        ("gemini-flash-latest", "gemini-flash-latest"),
        ("gemini-2.5-pro-preview-06-05", "gemini-2.5-pro"),
        ("gemini-2.5-flash-preview-09-2025", "gemini-2.5-flash-preview"),
        ("open-mixtral-8x7b", "mixtral-8x7b"), ("open-mistral-7b", "mistral-7b"),
        ("open-mistral-nemo-2407", "open-mistral-nemo"),
        ("claude-3-5-sonnet-20241022", "claude-3-5-sonnet"),
        ("claude-3-5-sonnet-latest", "claude-3-5-sonnet"),
        ("anthropic/claude-3.5-sonnet:beta", "claude-3-5-sonnet"),
        ("anthropic/claude-sonnet-4.5", "claude-sonnet-4-5"),
        ("claude-4.5-sonnet", "claude-sonnet-4-5"),
        ("snowflake/claude-4-sonnet", "claude-sonnet-4"),
        ("anthropic.claude-3-5-sonnet-20241022-v2:0", "claude-3-5-sonnet"),
        ("bedrock/us.anthropic.claude-sonnet-4-5-20250929-v1:0", "claude-sonnet-4-5"),
        ("bedrock_converse:us.anthropic.claude-sonnet-4-5-20250929-v1:0", "claude-sonnet-4-5"),
        ("google-gla:gemini-2.5-pro", "gemini-2.5-pro"),
        ("openai:ft:gpt-4o-2024-08-06:acme::1", "gpt-4o"),
        ("global.anthropic.claude-opus-5-5", "claude-opus-5-5"),
        ("us-gov.anthropic.claude-haiku-4-5-20251001-v1:0", "claude-haiku-4-5"),
        (
            "arn:aws:bedrock:us-east-1::foundation-model/anthropic.claude-3-haiku-20240307-v1:0",
            "claude-3-haiku",
        ),
        (
            "arn:aws:bedrock:us-east-1:1234:inference-profile/us.anthropic.claude-opus-4-1-20250805-v1:0",
            "claude-opus-4-1",
        ),
        ("anthropic.claude-v2:1", "claude-2.1"),
        ("claude-v2", "claude-2"),
        ("vertex_ai/claude-opus-4-5@20251101", "claude-opus-4-5"),
        ("claude-opus-4-6@default", "claude-opus-4-6"),
        ("databricks-claude-opus-4-1", "claude-opus-4-1"),
        ("publishers/google/models/gemini-2.5-pro", "gemini-2.5-pro"),
        ("gemini/gemini-2.5-pro-preview-05-06", "gemini-2.5-pro"),
        ("models/gemini-2.5-flash-001", "gemini-2.5-flash"),
        ("amazon.nova-lite-v1:0", "nova-lite"),
        ("meta.llama3-1-70b-instruct-v1:0", "llama-3.1"),
        ("meta-llama/Llama-3.1-8B-Instruct", "llama-3.1"),
        ("meta-llama/Meta-Llama-3-8B", "llama-3"),
        ("accounts/fireworks/models/llama-v3p3-70b-instruct", "llama-3.3"),
        ("llama3:8b", "llama-3"),
        ("ollama/llama3.1:70b", "llama-3.1"),
        ("llama4:scout", "llama-4-scout"),
        ("qwen/qwen-2.5-72b-instruct", "qwen2.5"),
        ("qwen3:8b", "qwen3"),
        ("Qwen/Qwen3-30B-A3B-Instruct-2507", "qwen3-30b-a3b-instruct-2507"),
        ("gemma3:27b", "gemma-3"),
        ("deepseek.v3.2", "deepseek-v3.2"),
        ("deepseek.deepseek-v3.2", "deepseek-v3.2"),
        ("deepseek/deepseek-chat:free", "deepseek-chat"),
        ("xai/grok-4-0709", "grok-4"),
        ("xai.grok-4.3", "grok-4.3"),
        ("mistral/mistral-small-latest", "mistral-small-latest"),
        ("command-r-plus-08-2024", "command-r-plus"),
        ("moonshotai/kimi-k2-0905", "kimi-k2"),
        ("kimi-code/k3", "k3"), ("kimi-code/k3-256k", "k3-256k"),
        ("kimi-code/kimi-for-coding", "kimi-for-coding"),
        ("MiniMaxAI/MiniMax-M2", "minimax-m2"),
    ],
)  # fmt: skip
def test_a_model_is_the_longest_name_it_begins_with(name: str, known: str | None) -> None:
    assert named(name) == known


@pytest.mark.parametrize(
    "name",
    [
        "openai/gpt-4o", "gpt-4o-2024-08-06", "gpt-4o:extended", "azure/gpt-4-0613",
        "gpt-4-1106-vision-preview", "ft:gpt-4o-2024-08-06:acme::1", "gpt-4o-2024-08-06.ft-0123abc",
        "o3-mini-high", "lemonade/gpt-oss-20b-mxfp4-GGUF", "vertex_ai/claude-opus-4-6@default",
        "us.anthropic.claude-sonnet-4-5-20250929-v1:0", "anthropic/claude-3.7-sonnet:thinking",
    ],
)  # fmt: skip
def test_dates_modes_and_hosts_do_not_change_a_model(name: str) -> None:
    model = find_model(name)
    assert model is not None
    assert model.is_known


@pytest.mark.parametrize(
    "name",
    [
        "someone/gpt-4o-distill-llama-3-8b", "chavinlo/gpt-4-x-alpaca", "gpt-4-chinese-llama",
        "gpt-4o-mini-audio", "gpt-4o-mini-realtime", "gpt-4o-mini-tts", "gpt-4o-transcribe",
        "gpt-4o-transcribe-diarize", "openai/gpt-4o:online", "gpt-4o-gguf", "gpt-4-8bit",
        "mlx-community/gpt-4o-q4", "someone/claude-sonnet-4-5-GGUF",
    ],
)  # fmt: skip
def test_a_count_for_a_derived_model_is_an_estimate(name: str, ctxtrim: Run) -> None:
    line = json.dumps({"model": name, "messages": [{"role": "user", "content": "How deep?"}]})
    (row,) = json.loads(ctxtrim("count", "--json", stdin=line.encode()).out)["transcripts"]
    assert row["exactness"] == "estimated"
    assert "unknown-model" not in [finding["code"] for finding in row["findings"]]
    assert (
        json.loads(ctxtrim("models", "--json", name).out)["models"][0]["exactness"] == "estimated"
    )


DERIVED = (
    "gpt-5.3-codex-swift",
    "someone/gpt-4o-distill-llama-3-8b",
    "deepseek-r1-distill-qwen-14b",
    "gpt-4o-gguf",
)
SAME_LIMITS = (
    "gpt-4o-2024-08-06", "meta-llama/Llama-3.1-8B-Instruct", "Qwen/Qwen3-Coder-30B-A3B-FP8",
    "google/gemma-3-27b-it", "accounts/fireworks/models/mistral-7b-instruct-v0p2", "llama3:8b",
)  # fmt: skip


@pytest.mark.parametrize("name", [*DERIVED, *SAME_LIMITS])
def test_assumed_limits_of_a_derived_model_are_a_warning(name: str, ctxtrim: Run) -> None:
    line = json.dumps({"model": name, "messages": [{"role": "user", "content": "How deep?"}]})

    def warnings(*options: str) -> list[str]:
        ran = ctxtrim("count", "--json", *options, stdin=line.encode())
        findings = json.loads(ran.out)["transcripts"][0]["findings"]
        return [found["message"] for found in findings if found["code"] == "derived-model"]

    assert len(warnings()) == (name in DERIVED)
    assert not warnings("--context-window", "9000")
    assert not warnings("--budget", "9000")
    if name == DERIVED[0]:
        assert warnings("--budget", "90%") == [
            "model gpt-5.3-codex-swift is unknown: counted and limited as gpt-5.3-codex, context "
            "window 400,000; set --context-window to correct this"
        ]


def test_configured_limits_of_a_derived_model_are_not_assumed(ctxtrim: Run, tmp_path: Path) -> None:
    (tmp_path / "ctxtrim.toml").write_text('[models."gpt-4o-swift"]\ncontext_window = 9000\n')
    line = b'{"model": "gpt-4o-swift", "messages": [{"role": "user", "content": "How deep?"}]}\n'
    (tmp_path / "a.jsonl").write_bytes(line)
    assert b"warning" not in ctxtrim("check", "a.jsonl", cwd=tmp_path).out


@pytest.mark.parametrize(
    "name",
    [
        "", " ", "/", "nobody-knows", "gpt", "gpt-", "gpt-4p", "gpt-5.9", "gpt-7", "claude",
        "claude-opus-4-9", "claude-opus-6", "claude-sonnet-4.9-20991231", "o5", "llama",
        "llama-5-70b", "my-deployment", "ft:", "ft::", "[1m]",
        "arn:aws:bedrock:us-east-1:1234:application-inference-profile/abc123", "gpt-4oo", "xgpt-4o",
        "gemini-9-pro",
    ],
)  # fmt: skip
def test_unknown_names_have_no_model(name: str) -> None:
    assert find_model(name) is None


@given(st.text(max_size=40))
def test_any_text_is_accepted_as_a_name(name: str) -> None:
    model = find_model(name)
    assert model is None or model.name in NAMES
    assert assumed_model(name).context_window > 0
    assert all(near in NAMES for near in nearest_models(name))


def test_the_assumption_for_unknown_names_is_an_upper_bound() -> None:
    assert assumed_model("nobody-knows") is UNKNOWN
    assert assumed_model("us.anthropic.claude-opus-9-v1:0") is UNKNOWN_CLAUDE
    assert assumed_model("gpt-4o") == find_model("gpt-4o")
    assert not assumed_model(None).is_known


def test_the_long_window_mark_of_claude_code_is_recognized() -> None:
    long, plain = find_model("claude-sonnet-4-5-20250929[1m]"), find_model("claude-sonnet-4-5")
    assert long is not None
    assert plain is not None
    assert (long.name, long.context_window, plain.context_window) == (
        plain.name,
        1_000_000,
        200_000,
    )


@pytest.mark.parametrize(
    ("name", "limits"),
    [  # context window, max input, max output
        ("gpt-4o", (128_000, None, 16_384)),
        ("gpt-4.1", (1_047_576, None, 32_768)),
        ("gpt-5", (400_000, 272_000, 128_000)),
        ("gpt-5.4", (1_050_000, 922_000, 128_000)),
        ("gpt-5.4-mini", (400_000, 272_000, 128_000)),
        ("gpt-5.6-sol", (1_050_000, 922_000, 128_000)),
        ("gpt-6-astra", (1_050_000, 922_000, 128_000)),
        ("claude-opus-4-5", (200_000, None, 64_000)),
        ("claude-haiku-4-5", (200_000, None, 64_000)),
        ("claude-opus-4-6", (1_000_000, None, 128_000)),
        ("claude-opus-5-5", (1_000_000, None, 128_000)),
        ("claude-haiku-5-5", (1_000_000, None, 128_000)),
        ("deepseek-chat", (128_000, None, 8_192)),  # the smaller of two sources
        ("llama-4-scout", (128_000, None, None)),
        ("mistral-large-latest", (262_144, None, 262_144)),
        ("mistralai/Mistral-Large-Instruct-2407", (128_000, None, 4_096)),
        ("magistral-medium-2506", (40_000, None, 40_000)),
        ("mistralai/Ministral-8B-Instruct-2410", (128_000, None, None)),
        ("gpt-4o-mini-transcribe", (16_000, None, 2_000)),
        ("gpt-5.3-codex-spark", (128_000, None, 128_000)),
        ("vertex_ai/gemini-2.5-flash-image", (32_768, None, 32_768)),
        ("gemini-2.5-pro-preview-tts", (8_192, None, 8_192)),
        ("deepseek-ai/deepseek-coder-33b-instruct", (16_384, None, None)),
        ("deepseek-coder:6.7b", (16_384, None, None)),
        ("github_copilot/gpt-4.1", (128_000, None, 32_768)),
        ("github-copilot/claude-haiku-5.5", (128_000, None, 128_000)),
        ("oci/xai.grok-4-fast", (131_072, None, None)),
        ("snowflake/claude-sonnet-4-6", (200_000, None, 128_000)),
        ("someone/claude-sonnet-4-6", (1_000_000, None, 128_000)),
        ("anthropic.claude-3-sonnet-20240229-v1:0:28k", (28_000, None, 4_096)),
        ("gpt-4o[1m]", (128_000, None, 16_384)),
    ],
)
def test_the_limits_match_their_sources(
    name: str, limits: tuple[int, int | None, int | None]
) -> None:
    model = find_model(name)
    assert model is not None
    assert (model.context_window, model.max_input, model.max_output) == limits


def test_limits_of_hosts_are_smaller_and_not_assumed() -> None:
    hosts = json.loads(DATA.read_bytes())["hosts"]
    assert hosts.keys() >= {"azure", "github-copilot", "oci", "snowflake", "vertex-ai"}
    for name, limit in hosts["github-copilot"].items():
        model, plain = find_model(f"github_copilot/{name}"), find_model(name)
        assert model is not None and plain is not None
        assert (model.context_window, model.max_input) == (limit, None)
        assert limit < (plain.max_input or plain.context_window)
        assert not model.is_derived


def test_gemini_2_5_pro_uses_the_smaller_of_two_limits() -> None:
    model = find_model("gemini-2.5-pro")
    assert model is not None
    assert (model.context_window, model.max_output) == (1_048_576, 65_535)


@pytest.mark.parametrize(
    ("name", "tokenizer", "framing", "image"),
    [
        ("gpt-3.5-turbo", "cl100k_base", "openai", 1_445),
        ("gpt-3.5-turbo-0301", "cl100k_base", "openai-0301", 1_445),
        ("gpt-4-turbo", "cl100k_base", "openai", 1_445),
        ("gpt-4o-search-preview", "o200k_base", "openai-search", 1_445),
        ("gpt-5-search-api", "o200k_base", "openai-search", 4_916),
        ("gpt-4o", "o200k_base", "openai", 1_445),
        ("gpt-4o-mini", "o200k_base", "openai", 48_169),
        ("gpt-4.1-mini", "o200k_base", "openai", 6_638),
        ("gpt-4.1-nano", "o200k_base", "openai", 3_781),
        ("gpt-4.5-preview", "o200k_base", "openai-reasoning", 1_445),
        ("chatgpt-4o-latest", "o200k_base", "openai-reasoning", 1_445),
        ("o3", "o200k_base", "openai-reasoning", 1_275),
        ("o4-mini", "o200k_base", "openai-reasoning", 2_642),
        ("codex-mini-latest", "o200k_base", "openai-reasoning", 2_642),
        ("gpt-5", "o200k_base", "openai-gpt-5", 1_190),
        ("gpt-5-mini", "o200k_base", "openai-gpt-5", 2_489),
        ("gpt-5.2", "o200k_base", "openai-gpt-5", 4_916),
        ("gpt-5.3-codex", "o200k_base", "openai-gpt-5", 4_916),
        ("gpt-5.4-mini", "o200k_base", "openai-gpt-5", 12_000),
        ("gpt-5.5", "o200k_base", "openai-gpt-5", 12_000),
        ("gpt-5.6", "o200k_base", "openai-gpt-5", 36_000),
        ("gpt-6-sol", "unknown", "openai-gpt-5", 36_000),
        ("gpt-oss-20b", "o200k_base", "harmony", 36_000),
        ("claude-3-5-sonnet", "claude-v3", "anthropic-v3", 1_668),
        ("claude-opus-4-6", "claude-v3", "anthropic-v4.6", 1_668),
        ("claude-opus-4-7", "claude-v4.7", "anthropic-v4.7", 4_784),
        ("claude-opus-4-8", "claude-v4.8", "anthropic-v4.8", 4_784),
        ("claude-sonnet-5-5", "claude-v4.8", "anthropic-v4.8", 4_784),
        ("claude-mythos-preview", "claude-v4.7", "anthropic-v4.7", 4_784),
        ("gemini-2.5-pro", "unknown", "gemini", 6_192),
        ("gemini-3.8-flash", "unknown", "gemini", 2_240),
        ("pixtral-large-latest", "unknown", "mistral", 4_160),
        ("qwen3-vl-plus", "unknown", "qwen", 16_384),
        ("grok-4", "unknown", "xai-4", 36_000),
        ("llama-3.3", "unknown", "llama", 36_000),
    ],
)
def test_a_model_has_its_own_tokenizer_framing_and_image_costs(
    name: str, tokenizer: str, framing: str, image: int
) -> None:
    model = find_model(name)
    assert model is not None
    assert (model.tokenizer, model.framing, model.image) == (tokenizer, framing, image)


def test_every_model_is_complete() -> None:
    for model in known_models():
        assert model.tokenizer in TOKENIZERS
        assert model.framing in FRAMINGS
        assert 4000 < model.context_window <= 10_000_000
        assert model.max_input is None or model.max_input < model.context_window
        assert model.max_output is None or 0 < model.max_output <= model.context_window
        assert model.image_policy in POLICIES
        assert model.image == POLICIES[model.image_policy].image_most > 0
        assert (model.tool_prompt is None) or model.framing.startswith("anthropic")
        assert model.provider
        assert model.source
        assert model.is_known
        assert model.date.count("-") == 2


def test_assumed_and_known_models_share_image_rules() -> None:
    """Each rule belongs to a model, and each model to a rule: its maximum is defined once."""
    assert {model.image_policy for model in known_models()} | {UNKNOWN.image_policy} == set(
        POLICIES
    )
    for assumed in (DEFAULT, UNKNOWN, UNKNOWN_CLAUDE):
        assert assumed.image == POLICIES[assumed.image_policy].image_most
        assert assumed.framing in FRAMINGS


@pytest.mark.parametrize(
    ("name", "prompt"),
    [  # where the model may call a tool, and where it must
        ("claude-opus-4-8", (290, 410)),
        ("claude-opus-4-7", (675, 804)),
        ("claude-sonnet-4-6", (497, 589)),
        ("claude-haiku-4-5-20251001", (496, 588)),
        ("claude-sonnet-4-20250514", (313, 315)),
        ("claude-sonnet-5", (354, 474)),
        ("claude-3-5-haiku-20241022", (264, 355)),
        ("claude-3-opus-20240229", (530, 281)),
        ("claude-3-5-sonnet-20240620", (294, 261)),
        ("claude-3-7-sonnet@20250219", (313, 313)),
        ("claude-opus-5-5", (804, 804)),  # not listed: the most of all
        ("claude-opus-9", (804, 804)),
        ("gpt-4o", (12, 12)),
    ],
)
def test_the_prompt_for_tool_schemas_depends_on_the_model(
    name: str, prompt: tuple[int, int]
) -> None:
    framing = framing_of(assumed_model(name), "reconstructed")
    request = framing.request
    forced = request.tools if request.tools_forced is None else request.tools_forced
    assert (request.tools, forced) == prompt


def test_the_framing_of_claude_depends_on_version_and_bound() -> None:
    frames = {
        "claude-opus-4-6": 7,
        "claude-opus-4-7": 11,
        "claude-opus-4-8": 6,
        "claude-opus-5": 6,
    }  # of a single message
    for name, tokens in frames.items():
        model = find_model(name)
        assert model is not None
        framing = framing_of(model, "reconstructed")
        assert framing.priming + framing.message == tokens
        assert framing_of(model, "bounded").message == 12
    assert framing_name(assumed_model("gpt-5"), "bounded") == "openai-gpt-5"


def test_the_registry_covers_the_major_vendors_and_stays_small() -> None:
    assert 300 <= len(NAMES) == len(set(NAMES))
    vendors = {model.provider for model in known_models()}
    assert vendors >= {
        "OpenAI", "Anthropic", "Google", "Mistral", "DeepSeek", "xAI", "Meta", "Qwen", "Cohere",
        "Moonshot", "Zhipu",
    }  # fmt: skip
    assert DATA.stat().st_size < 60_000


def test_the_data_file_has_a_sorted_line_per_model() -> None:
    lines = DATA.read_text().split('"models": [\n')[1].splitlines()[:-1]
    assert len(lines) == len(NAMES)
    assert [json.loads(line.rstrip(","))[0] for line in lines] == NAMES
    kept = [(model.provider, model.name) for model in known_models()]
    order = list(dict.fromkeys(vendor for vendor, _ in kept))
    assert kept == sorted(kept, key=lambda pair: (order.index(pair[0]), pair[1]))


def test_the_registry_is_loaded_lazily() -> None:
    code = (
        "import ctxtrim.tokens.models as m; first = m.known_models.cache_info().currsize;"
        "m.find_model('gpt-4o'); print(first, m.known_models.cache_info().currsize)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["0", "1"]


def test_all_models_are_listed(ctxtrim: Run) -> None:
    done = ctxtrim("models", COLUMNS="200")
    lines = done.out.decode().splitlines()
    assert (done.code, done.err) == (0, "")
    assert (
        " ".join(lines[0].split())
        == "model provider window max input max output tokenizer counts date"
    )
    assert [line.split()[0] for line in lines[1:-1]] == NAMES
    assert lines[-1] == f"{len(NAMES)} models"


def test_a_substring_lists_the_matching_names(ctxtrim: Run) -> None:
    done = ctxtrim("models", "Sonnet")
    names = [line.split()[0] for line in done.out.decode().splitlines()[1:-1]]
    assert done.code == 0
    assert names == [name for name in NAMES if "sonnet" in name]
    assert len(names) > 3
    vendor = ctxtrim("models", "cohere").out.decode().splitlines()
    assert all(" Cohere " in line for line in vendor[1:-1])


def test_a_single_model_is_explained(ctxtrim: Run) -> None:
    done = ctxtrim("models", "openai/gpt-5-2025-08-07")
    facts = dict(line.split("  ", 1) for line in done.out.decode().splitlines())
    facts = {name: value.strip() for name, value in facts.items()}
    assert done.code == 0
    assert facts["model"] == "gpt-5"
    assert facts["context window"] == "400,000 tokens"
    assert facts["max input"] == "272,000 tokens"
    assert facts["max output"] == "128,000 tokens"
    assert facts["tokenizer"] == "o200k_base (bounded for plain messages)"
    assert facts["one image"] == "at most 1,190 tokens (openai-gpt-5)"
    assert "litellm" in facts["source"]
    assert facts["date"].count("-") == 2
    claude = ctxtrim("models", "claude-sonnet-4").out.decode()
    assert "313 tokens in addition to tool schemas, 315 with a forced tool call" in claude
    assert ("on Python 3.12 and newer ctok counts it" in claude) != available()


def test_models_as_json(ctxtrim: Run) -> None:
    (item,) = json.loads(ctxtrim("models", "gpt-4o", "--json").out)["models"]
    assert (item["name"], item["max_input"], item["max_output"], item["exactness"]) == (
        "gpt-4o",
        128_000,
        16_384,
        "exact",
    )
    every = json.loads(ctxtrim("models", "--json").out)
    assert every["version"] == 1
    assert [model["name"] for model in every["models"]] == NAMES
    assert all(model.keys() == item.keys() for model in every["models"])


def test_an_unknown_name_lists_the_nearest_names_and_exits_with_2(ctxtrim: Run) -> None:
    done = ctxtrim("models", "gpt-4p")
    assert (done.code, done.out) == (2, b"")
    assert "gpt-4" in done.err
    assert "--context-window" in done.err
    assert ctxtrim("models", "qqqqqq").code == 2
    assert "\x1b" not in ctxtrim("models", "\x1b[31mred").err
