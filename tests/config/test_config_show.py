"""`config show`: the settings that a run uses."""

import json
from pathlib import Path
from typing import Any

import pytest
from conftest import Run
from samples import line


class Project:
    """A folder with a configuration and a transcript, and the folder of a user."""

    def __init__(self, folder: Path, ctxtrim: Run) -> None:
        self.folder, self.ctxtrim = folder, ctxtrim
        (folder / "talk.jsonl").write_bytes(line())
        self.user = folder / "user" / "ctxtrim"
        self.user.mkdir(parents=True)

    def run(self, *words: str, **variables: str) -> Any:
        return self.ctxtrim(
            *words, cwd=self.folder, XDG_CONFIG_HOME=str(self.user.parent), **variables
        )

    def shown(self, *words: str, **variables: str) -> dict[str, tuple[Any, str]]:
        """The value and the origin of each setting."""
        ran = self.run("config", "show", "--json", *words, **variables)
        assert ran.code == 0, ran.err
        rows = json.loads(ran.out)["settings"]
        return {row["key"]: (row["value"], row["origin"]) for row in rows}


@pytest.fixture
def project(tmp_path: Path, ctxtrim: Run) -> Project:
    return Project(tmp_path, ctxtrim)


def test_the_preset_of_the_automatic_pipeline_is_shown_if_it_is_on(project: Project) -> None:
    assert project.shown()["truncate.metadata"] == (False, "default")
    (project.folder / "ctxtrim.toml").write_text("enabled = true\n")
    shown = project.shown()
    assert shown["enabled"] == (True, "ctxtrim.toml: enabled")
    assert shown["preset"] == ("rolling,budget", "automatic pipeline")
    assert shown["truncate.metadata"] == (True, "preset rolling,budget")
    assert shown["context-window"] == (128_000, "preset rolling,budget: at most")
    ran = project.run("run", "--json", "--dry-run", "talk.jsonl")
    for spec in json.loads(ran.out)["pipeline"]:
        for key, value in spec["settings"].items():
            assert shown[f"{spec['stage']}.{key.replace('_', '-')}"][0] == value
    assert project.shown("--preset", "budget")["truncate.metadata"] == (False, "default")


def test_own_models_are_shown_with_the_file_that_decides(project: Project) -> None:
    (project.folder / "ctxtrim.toml").write_text("[models.harbour-9]\ncontext_window = 64_000\n")
    (project.user / "config.toml").write_text(
        '[models.harbour-9]\ncontext_window = 9\ntokenizer = "chars4"\n'
    )
    shown = project.shown()
    assert shown["models.harbour-9.context_window"] == (64_000, "ctxtrim.toml")
    value, origin = shown["models.harbour-9.tokenizer"]
    assert (value, Path(origin)) == ("chars4", project.user / "config.toml")


def test_the_window_and_the_reserve_of_a_preset_are_shown(project: Project) -> None:
    shown = project.shown("--preset", "compact")
    assert shown["reserve"] == (16_384, "preset compact")
    assert shown["context-window"] == (None, "default")
    shown = project.shown("--preset", "compact", CTXTRIM_RESERVE="900")
    assert shown["reserve"] == (900, "CTXTRIM_RESERVE")
    (project.folder / "ctxtrim.toml").write_text('preset = "budget"\n')
    shown = project.shown()
    assert shown["context-window"] == (128_000, "preset budget: at most")
    assert shown["reserve"] == (4096, "default")


def test_the_settings_of_pipeline_entries_are_shown(project: Project) -> None:
    (project.folder / "ctxtrim.toml").write_text(
        'enabled = true\nmax-age = 4\npipeline = ["truncate:max-age=2", "trim:target=0.5"]\n'
    )
    shown = project.shown()
    assert shown["truncate.max-age"] == (4, "ctxtrim.toml: max-age")
    assert shown["pipeline[0].truncate.max-age"] == (2, "ctxtrim.toml: pipeline")
    assert shown["pipeline[1].trim.target"] == (0.5, "ctxtrim.toml: pipeline")
    assert shown["preset"] == ("", "default")
    shown = project.shown(CTXTRIM_MAX_AGE="9")
    assert shown["pipeline[0].truncate.max-age"] == (9, "CTXTRIM_MAX_AGE")


def test_an_invalid_preference_is_named_and_all_settings_are_shown(project: Project) -> None:
    (project.user / "rolling-context").write_text("perhaps")
    (project.folder / "ctxtrim.toml").write_text("enabled = true\n")
    ran = project.run("config", "show", "--json")
    rows = {row["key"]: row["value"] for row in json.loads(ran.out)["settings"]}
    assert (ran.code, rows["enabled"]) == (1, True)
    assert "rolling-context: expected on or off; run ctxtrim rolling-context" in ran.err
