"""The folder whose configuration a run uses."""

import errno
import json
import os
from pathlib import Path
from typing import Any

import pytest
from conftest import Run
from samples import line


def setting(ctxtrim: Run, folder: Path, key: str = "budget") -> tuple[Any, str]:
    """The value and the origin of a setting in a working directory."""
    ran = ctxtrim("config", "show", "--json", cwd=folder)
    assert ran.code == 0, ran.err
    found = {row["key"]: row for row in json.loads(ran.out)["settings"]}[key]
    return found["value"], found["origin"]


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    (tmp_path / "repository" / "a" / "b").mkdir(parents=True)
    (tmp_path / "repository" / ".git").mkdir()
    (tmp_path / "ctxtrim.toml").write_text("budget = 1\n")
    return tmp_path / "repository"


def test_the_nearest_folder_up_to_the_root_of_the_repository_is_used(
    ctxtrim: Run, repository: Path
) -> None:
    below = repository / "a" / "b"
    assert setting(ctxtrim, below) == (None, "default"), "the file is above the repository"
    (repository / "pyproject.toml").write_text("[tool.ctxtrim]\nbudget = 2\n")
    assert setting(ctxtrim, below) == (2, "../../pyproject.toml: tool.ctxtrim.budget")
    (repository / "a" / "pyproject.toml").write_text('[project]\nname = "a"\n')
    assert setting(ctxtrim, below)[0] == 2, "this file does not configure ctxtrim"
    (repository / "a" / "ctxtrim.toml").write_text("safety = 2.0\n")
    assert setting(ctxtrim, below, "safety") == (2.0, "../ctxtrim.toml: safety")
    assert setting(ctxtrim, below) == (None, "default"), "files of two folders are not merged"
    (below / "ctxtrim.toml").write_text("")
    assert setting(ctxtrim, below, "safety")[0] == 1.0, "an empty file is a configuration"


def test_without_a_repository_only_the_working_directory_is_searched(
    ctxtrim: Run, tmp_path: Path
) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "ctxtrim.toml").write_text("budget = 2\n")
    assert setting(ctxtrim, tmp_path) == (2, "ctxtrim.toml: budget")
    assert setting(ctxtrim, tmp_path / "a") == (None, "default")


def test_a_configuration_above_the_working_directory_is_not_trusted(
    ctxtrim: Run, repository: Path
) -> None:
    (repository / "ctxtrim.toml").write_text('llm-command = "touch ran"\nbudget = 3\n')
    ran = ctxtrim("config", "show", "--json", cwd=repository / "a")
    assert "../ctxtrim.toml: warning: llm-command is ignored" in ran.err
    assert setting(ctxtrim, repository / "a") == (3, "../ctxtrim.toml: budget")
    assert setting(ctxtrim, repository / "a", "llm-command") == ("", "default")


def test_a_named_file_in_the_nearest_folder_ends_the_search(ctxtrim: Run, repository: Path) -> None:
    (repository / "ctxtrim.toml").write_text("budget = 3\n")
    (repository / "a" / "ctxtrim.toml").write_text("safety = 2.0\n")
    ran = ctxtrim("config", "show", "--json", "--config", "ctxtrim.toml", cwd=repository / "a")
    found = {row["key"]: row["value"] for row in json.loads(ran.out)["settings"]}
    assert (found["safety"], found["budget"]) == (2.0, None)


def test_a_table_that_only_turns_summaries_off_is_a_configuration(
    ctxtrim: Run, repository: Path
) -> None:
    (repository / "ctxtrim.toml").write_text("budget = 3\n")
    project = repository / "a" / "pyproject.toml"
    project.write_text("[tool.ctxtrim.truncate]\nsummarizeOnTruncate = false\n")
    assert setting(ctxtrim, repository / "a") == (None, "default")


@pytest.mark.parametrize(
    ("text", "warning"),
    [
        ("{ // json5", "invalid JSON"),
        ('{"contextManagement": {"foo": 1}}', "contextManagement.foo: unknown key"),
        ('{"contextManagement": {"archive": "kept"}}', "contextManagement.archive is ignored"),
    ],
)
def test_a_file_of_another_program_that_sets_nothing_does_not_end_the_search(
    ctxtrim: Run, repository: Path, text: str, warning: str
) -> None:
    (repository / "ctxtrim.toml").write_text("budget = 3\n")
    (repository / "a" / "agents.config.json").write_text(text)
    (repository / "a" / "b" / "talk.jsonl").write_bytes(line())
    ran = ctxtrim("check", "talk.jsonl", cwd=repository / "a" / "b")
    assert ran.code == 3, "the budget of the repository applies"
    assert f"../agents.config.json: warning: {warning}" in ran.err
    (repository / "ctxtrim.toml").unlink()
    ran = ctxtrim("check", "talk.jsonl", cwd=repository / "a" / "b")
    assert ran.code == 0, "no folder sets a budget"
    assert f"../agents.config.json: warning: {warning}" in ran.err


@pytest.mark.parametrize("words", [("count",), ("run",), ("config", "show"), ("archive", "list")])
def test_a_user_whose_folders_are_no_folders_has_no_configuration(
    ctxtrim: Run, tmp_path: Path, words: tuple[str, ...]
) -> None:
    nowhere = tmp_path / "file"
    nowhere.write_bytes(b"")
    variables = dict.fromkeys(("XDG_CONFIG_HOME", "XDG_DATA_HOME"), str(nowhere))
    ran = ctxtrim(*words, stdin=line(), **variables)
    assert (ran.code, "error" in ran.err) == (0, False), ran.err


@pytest.mark.parametrize("words", [("count",), ("run",), ("config", "show")])
def test_a_user_folder_that_cannot_be_searched_is_no_configuration(
    ctxtrim: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    """The system's answer is a fake, because root may search every folder."""
    folder = tmp_path / "ctxtrim"
    folder.mkdir()
    (folder / "config.toml").write_text("budget = 1\n")
    (folder / "rolling-context").write_text("on\n")
    lstat = Path.lstat

    def denied(path: Path) -> os.stat_result:
        if path.parent == folder:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
        return lstat(path)

    monkeypatch.setattr(Path, "lstat", denied)
    ran = ctxtrim(*words, stdin=line(), XDG_CONFIG_HOME=str(tmp_path))
    assert ran.code == 0, ran.err
    warning = "is not read, because its folder cannot be searched; set HOME to your own folder"
    assert ran.err.count(f"{folder / 'config.toml'}: warning: {warning}\n") == 1


def test_a_limit_of_compaction_is_no_limit_of_check(ctxtrim: Run, repository: Path) -> None:
    talk = [{"role": "user", "content": f"berth {number}"} for number in range(8)]
    (repository / "agents.config.json").write_text('{"contextManagement": {"maxMessages": 5}}')
    ran = ctxtrim("check", stdin=line(talk), cwd=repository)
    assert (ran.code, b"max-messages" in ran.out) == (0, False)
