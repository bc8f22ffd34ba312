"""Models in ctxtrim.toml: new models, and registry models with other limits."""

import json
from pathlib import Path

import pytest
from builders import conversation, says, user
from conftest import Run

TALK = conversation([user("Good morning."), says("And a good one to you.")])


def write(folder: Path, text: str) -> None:
    (folder / "ctxtrim.toml").write_text(text)


def test_a_model_unknown_to_the_registry_comes_from_the_file(ctxtrim: Run, tmp_path: Path) -> None:
    write(
        tmp_path,
        "[models.our-model]\ncontext_window = 64_000\nmax_input = 60_000\ntokenizer = "
        '"cl100k_base"\n',
    )
    ran = ctxtrim("count", "--model", "Our-Model", "--json", stdin=TALK, cwd=tmp_path)
    row = json.loads(ran.out)["transcripts"][0]
    assert (row["tokenizer"], row["exactness"]) == ("cl100k_base", "estimated")
    assert row["budget"] == {
        "context_window": 64000,
        "max_input": 60000,
        "reserve": 4096,
        "available": 59904,
    }
    assert row["findings"] == []
    assert "64,000 tokens" in ctxtrim("models", "our-model", cwd=tmp_path).out.decode()


def test_each_value_of_a_model_is_that_of_the_first_file_that_has_it(
    ctxtrim: Run, tmp_path: Path
) -> None:
    write(tmp_path, "[models.our-model]\ncontext_window = 64_000\nmax_output = 900\n")
    (tmp_path / "own.toml").write_text("[models.our-model]\ncontext_window = 32_000\n")
    words = ("models", "our-model", "--json")
    ran = ctxtrim(*words, cwd=tmp_path, CTXTRIM_CONFIG="own.toml")
    (model,) = json.loads(ran.out)["models"]
    assert (model["context_window"], model["max_output"]) == (32_000, 900)


def test_facts_that_the_table_of_a_model_lacks_are_unknown(ctxtrim: Run, tmp_path: Path) -> None:
    write(tmp_path, "[models.our-model]\ncontext_window = 64_000\n")
    lines = ctxtrim("models", "our-model", cwd=tmp_path).out.decode().splitlines()
    facts = {line[:16].strip(): line[16:] for line in lines}
    assert facts["provider"] == facts["date"] == facts["max output"] == "unknown"


def test_a_registry_model_keeps_values_missing_in_the_file(ctxtrim: Run, tmp_path: Path) -> None:
    write(tmp_path, "[models.gpt-4o]\ncontext_window = 9_000\n")
    row = json.loads(ctxtrim("count", "--model", "gpt-4o", "--json", stdin=TALK, cwd=tmp_path).out)[
        "transcripts"
    ][0]
    assert (row["tokenizer"], row["exactness"]) == ("o200k_base", "exact")
    assert row["budget"]["context_window"] == 9000
    assert row["budget"]["available"] == 4904
    assert "ctxtrim.toml" in ctxtrim("models", "gpt-4o", cwd=tmp_path).out.decode()


def test_a_smaller_window_limits_the_input_of_a_registry_model(
    ctxtrim: Run, tmp_path: Path
) -> None:
    write(tmp_path, "[models.gpt-5]\ncontext_window = 64_000\n")
    row = json.loads(ctxtrim("count", "--model", "gpt-5", "--json", stdin=TALK, cwd=tmp_path).out)[
        "transcripts"
    ][0]
    assert row["budget"]["max_input"] == 64_000


def test_other_models_are_unchanged(ctxtrim: Run, tmp_path: Path) -> None:
    write(tmp_path, "[models.gpt-4o]\ncontext_window = 9_000\n")
    row = json.loads(ctxtrim("count", "--model", "gpt-4", "--json", stdin=TALK, cwd=tmp_path).out)[
        "transcripts"
    ][0]
    assert row["budget"]["context_window"] == 8192


@pytest.mark.parametrize("name", ["gpt-4o-2024-08-06", "openai/gpt-4o", "azure/GPT-4o"])
def test_a_table_is_for_all_variants_of_a_name(ctxtrim: Run, tmp_path: Path, name: str) -> None:
    write(tmp_path, "[models.gpt-4o]\ncontext_window = 9_000\n")
    row = json.loads(ctxtrim("count", "--model", name, "--json", stdin=TALK, cwd=tmp_path).out)[
        "transcripts"
    ][0]
    assert (row["model"], row["budget"]["context_window"]) == (name, 9000)
    assert row["exactness"] == "exact"


def test_the_table_of_a_variant_takes_precedence(ctxtrim: Run, tmp_path: Path) -> None:
    write(
        tmp_path,
        "[models.gpt-4o]\ncontext_window = 9_000\n"
        '[models."gpt-4o-2024-08-06"]\ncontext_window = 7_000\n',
    )
    for name, window in (("gpt-4o-2024-08-06", 7000), ("gpt-4o", 9000), ("gpt-4o-mini", 128_000)):
        ran = ctxtrim("count", "--model", name, "--json", stdin=TALK, cwd=tmp_path)
        assert json.loads(ran.out)["transcripts"][0]["budget"]["context_window"] == window


def test_limits_of_a_model_are_numbers_as_people_write_them(ctxtrim: Run, tmp_path: Path) -> None:
    write(tmp_path, '[models.m]\ncontext_window = "64k"\nmax_output = "4,000"\n')
    shown = ctxtrim("models", "m", cwd=tmp_path).out.decode()
    assert "64,000 tokens" in shown and "4,000 tokens" in shown
    write(tmp_path, f"[models.m]\ncontext_window = {10**30}\n")
    assert ctxtrim("count", "--model", "m", "--json", stdin=TALK, cwd=tmp_path).code == 0


@pytest.mark.parametrize(
    ("text", "error"),
    [
        (
            "[models.m]\ncontext_windows = 5\n",
            "models.m.context_windows: unknown key (did you mean context_window?)",
        ),
        (
            '[models.m]\ncontext_window = "5x"\n',
            "models.m.context_window: expected a number of tokens, found '5x'",
        ),
        ("[models.m]\nmax_input = true\n", "models.m.max_input: expected a number of tokens"),
        (
            '[models.m]\ntokenizer = "nope"\n',
            "models.m.tokenizer nope: unknown tokenizer; expected o200k_base, ",
        ),
        ("[models.m]\nmax_input = 0\n", "models.m.max_input: expected a number of tokens, found 0"),
        (
            "[models.m]\ntokenizer = 5\n",
            "models.m.tokenizer: expected the name or the path of a tokenizer",
        ),
        ("models = 5\n", "models: expected a table for each model"),
        ("models.m = 5\n", "models.m: expected a table, found 5"),
        ("[models", "invalid TOML"),
    ],
)
def test_an_error_in_the_file_is_named_with_its_key(
    ctxtrim: Run, tmp_path: Path, text: str, error: str
) -> None:
    write(tmp_path, text)
    ran = ctxtrim("trim", "--model", "m", stdin=TALK, cwd=tmp_path)
    assert (ran.code, ran.out) == (2, b"")
    assert f"ctxtrim.toml: {error}" in ran.err
