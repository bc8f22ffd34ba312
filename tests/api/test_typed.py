"""The types of the API at run time: configurations, results and docstrings."""

import copy
import pickle
from pathlib import Path
from typing import Any, get_type_hints

import pytest
from sessions import openai_session

import ctxtrim
from ctxtrim.api import configs
from ctxtrim.config.aliases import ALIASES
from ctxtrim.config.from_call import call_config
from ctxtrim.config.run_settings import SHARED
from ctxtrim.config.stage_specs import SETTINGS
from ctxtrim.errors import UsageError


def test_configs_have_every_setting_and_alias() -> None:
    known = {name for settings in SETTINGS.values() for name in settings} - {"as_"}
    known |= {alias.name for aliases in ALIASES.values() for alias in aliases}
    assert known <= set(configs.PromptConfig.__annotations__)


@pytest.mark.parametrize(
    ("stage", "config"),
    [
        ("trim", configs.TrimConfig),
        ("truncate", configs.TruncateConfig),
        ("compact", configs.CompactConfig),
        ("summarize", configs.SummaryConfig),
    ],
)
def test_the_config_of_a_function_has_every_setting_of_its_stage(stage: str, config: type) -> None:
    arguments = {"current_step"}  # of the function itself
    assert set(SETTINGS[stage]) - arguments <= set(config.__annotations__)


SAMPLES: dict[Any, Any] = {bool: True, int: 3, float: 1.0, list[str]: ["trim"]}
WORDS = {
    "tokenizer": "chars4", "tokenEstimator": "auto", "thinking": "keep", "errors": "loose",
    "strategy": "oldest", "trimStrategy": "oldest", "clock": "turns",
    "tool": "bash:max-lines=3", "mode": "head",
    "truncationMode": "head", "replace": "stub", "tool_summary": "off",
    "toolSummaryStrategy": "off", "summary_place": "append", "preset": "rolling",
    "profile": "openai", "repair": "drop",
}  # fmt: skip


@pytest.mark.parametrize("key", sorted(configs.PromptConfig.__annotations__))
def test_every_key_of_the_configs_is_accepted(key: str) -> None:
    kinds = get_type_hints(configs.PromptConfig)[key]
    kind = next((kind for kind in SAMPLES if kinds in (kind, kind | None)), None)
    value = WORDS.get(key) or SAMPLES.get(kind, {} if "Mapping" in str(kinds) else "words")
    call_config("test", "budget", {key: value})


@pytest.mark.parametrize("key", SHARED)
def test_every_run_setting_is_a_key_of_a_config_or_an_error(key: str) -> None:
    if key in configs.PipelineConfig.__annotations__:
        return
    flag = f"--{key.replace('_', '-')}"
    for location in ("contextManagement.", ""):
        config = {"contextManagement": {key: "x"}} if location else {key: "x"}
        with pytest.raises(UsageError) as caught:
            ctxtrim.Pipeline("trim", **config)  # type: ignore[arg-type]
        assert str(caught.value) == (
            f"Pipeline: {location}{key}: not a setting here; pass {flag} on the command line"
        )


def test_keywords_take_precedence_over_the_config() -> None:
    config: configs.PromptConfig = {"maxContextTokens": 10_000, "reserve": 1000}
    assert ctxtrim.compute_max_input_tokens(config, context_window=20_000) == 19_000
    both: configs.PromptConfig = {"budget": 30_000}
    assert ctxtrim.compute_max_input_tokens(both, context_window=6000, reserve=3000) == 3000
    assert ctxtrim.compute_max_input_tokens(both, reserve=4096) == 123_904
    assert ctxtrim.compute_max_input_tokens(both, budget=400, reserve=4096) == 400
    assert ctxtrim.compute_max_input_tokens(both, model="gpt-4o") == 30_000
    assert ctxtrim.compute_max_input_tokens({"budget": 30_000, "context_window": 6000}) == 30_000
    assert ctxtrim.compute_max_input_tokens(config, budget=70) == 70
    assert ctxtrim.effective_token_limit({"maxTokens": 700}, session_tokens=900) == 900
    messages = openai_session(4)
    assert ctxtrim.should_compact(messages, {"maxTokens": 0}, max_messages=3)
    assert ctxtrim.build_final_prompt(messages, {"budget": 300}, budget=9000).messages == messages
    with pytest.raises(UsageError, match="should_compact: max_message: unknown key"):
        ctxtrim.should_compact(messages, max_message=3)  # type: ignore[call-arg]


def test_results_unpack_and_have_further_attributes() -> None:
    messages = openai_session(8)
    limit = ctxtrim.enforce_context_limit(messages, 500)
    new, is_shorter, dropped = limit
    assert (new, is_shorter, dropped) == (limit.messages, limit.truncated, limit.dropped_count)
    assert ctxtrim.estimate_tokens(new) == limit.token_count <= 500
    summary = ctxtrim.summarize_context(messages)
    text, tokens = summary
    assert (text, tokens, "facts") == (summary.summary, summary.original_tokens, summary.by)
    assert summary.trouble is None
    for value in (limit, summary):
        for again in (copy.copy(value), pickle.loads(pickle.dumps(value))):
            assert (again, vars(again)) == (value, vars(value))


def test_public_names_are_listed() -> None:
    assert set(ctxtrim.__all__) <= set(dir(ctxtrim))
    assert all(hasattr(ctxtrim, name) for name in dir(ctxtrim))


FUNCTIONS = [
    name
    for name in ctxtrim.__all__
    if getattr(getattr(ctxtrim, name), "__module__", "").startswith("ctxtrim.api.")
    and not isinstance(getattr(ctxtrim, name), type)
]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_docstrings_name_arguments_result_and_errors(name: str) -> None:
    text = getattr(ctxtrim, name).__doc__
    sections = ["Args:", "Returns:", "Raises:"]
    for section in sections[: 2 if name == "is_context_length_exceeded" else 3]:
        assert f"\n    {section}\n" in text or f"\n{section}\n" in text, section


def test_no_configuration_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "ctxtrim.toml").write_text("budget = 10\nenabled = false\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CTXTRIM_BUDGET", "10")
    monkeypatch.setenv("CTXTRIM_ENABLED", "false")
    messages = openai_session(4)
    assert ctxtrim.build_final_prompt(messages).messages == messages
    assert ctxtrim.compute_max_input_tokens() == 123_904
