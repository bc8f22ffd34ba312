"""Models that are not in the registry: an error if they are named, a warning if recorded."""

from pathlib import Path

import pytest
from conftest import Run
from samples import line

ERROR = "gpt-4oo: unknown model (nearest names: "


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "a.jsonl").write_bytes(line())
    return tmp_path


def test_an_unknown_model_that_is_named_is_wrong_usage(ctxtrim: Run, project: Path) -> None:
    ran = ctxtrim("count", "--model", "gpt-4oo", "a.jsonl", cwd=project)
    assert ran.code == 2 and ran.err.startswith(f"ctxtrim: --model {ERROR}gpt-4o")
    ran = ctxtrim("trim", "a.jsonl", cwd=project, CTXTRIM_MODEL="gpt-4oo")
    assert ran.code == 2 and ran.err.startswith(f"ctxtrim: CTXTRIM_MODEL {ERROR}")
    (project / "ctxtrim.toml").write_text('model = "gpt-4oo"\n')
    ran = ctxtrim("check", "a.jsonl", cwd=project)
    assert ran.code == 2 and ran.err.startswith(f"ctxtrim: ctxtrim.toml: model {ERROR}")
    (project / "ctxtrim.toml").write_text('[[paths]]\nmatch = "a*"\nmodel = "gpt-4oo"\n')
    ran = ctxtrim("check", "a.jsonl", cwd=project)
    assert ran.code == 2 and f"paths[0].model {ERROR}" in ran.err


@pytest.mark.parametrize("option", ["--context-window", "--budget"])
def test_with_a_window_or_a_budget_it_is_counted(ctxtrim: Run, project: Path, option: str) -> None:
    ran = ctxtrim("check", "--model", "gpt-4oo", option, "90000", "a.jsonl", cwd=project)
    assert ran.code == 0
    assert b"warning: model gpt-4oo is unknown" in ran.out


def test_a_model_of_the_configuration_is_known(ctxtrim: Run, project: Path) -> None:
    (project / "ctxtrim.toml").write_text("[models.gpt-4oo]\ncontext_window = 9000\n")
    assert ctxtrim("check", "--model", "gpt-4oo", "a.jsonl", cwd=project).code == 0


def test_an_unknown_recorded_model_is_a_warning(ctxtrim: Run, project: Path) -> None:
    (project / "a.jsonl").write_bytes(line(more='"model": "gpt-4oo"'))
    ran = ctxtrim("check", "a.jsonl", cwd=project)
    assert ran.code == 0 and b"warning: model gpt-4oo is unknown" in ran.out


def test_the_models_command_takes_known_names_only(ctxtrim: Run) -> None:
    ran = ctxtrim("models", "gpt-4oo")
    assert (ran.code, ran.out) == (2, b"")
    assert ran.err.startswith("ctxtrim: unknown model gpt-4oo (nearest names: gpt-4o")


def test_a_name_that_resembles_no_model_has_no_nearest_names(ctxtrim: Run) -> None:
    assert ctxtrim("models", "foo").err.startswith("ctxtrim: unknown model foo; for a model")
    assert ctxtrim("count", "-m", "foo").err.startswith("ctxtrim: --model foo: unknown model; ")
