"""The pre-commit hook and the GitHub action of this repository."""

import re
import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from conftest import ENVIRONMENT, ROOT, run_process
from samples import chat, line, messages


@pytest.fixture
def hook() -> dict[str, Any]:
    hooks = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    assert [hook["id"] for hook in hooks] == ["ctxtrim-check"]
    return dict(hooks[0])


def test_the_hook_checks_the_transcripts_of_a_repository(
    hook: dict[str, Any], tmp_path: Path
) -> None:
    (tmp_path / "a.jsonl").write_bytes(line(chat()))
    (tmp_path / "other.jsonl").write_text('{"name": "buoys"}\n')
    (tmp_path / "notes.txt").write_text("Buoys.")
    program, *words = shlex.split(hook["entry"])
    assert program == "ctxtrim" and hook["language"] == "python"

    def files() -> list[str]:
        """The files that pre-commit gives to the hook."""
        names = sorted(path.name for path in tmp_path.iterdir())
        return [name for name in names if re.search(hook["files"], name)]

    assert files() == ["a.jsonl", "other.jsonl"]
    assert run_process(*words, *files(), cwd=tmp_path).code == 0
    (tmp_path / "ctxtrim.toml").write_text('[[paths]]\nmatch = "b.jsonl"\nbudget = 100\n')
    (tmp_path / "b.jsonl").write_bytes(line(messages()))
    ran = run_process(*words, *files(), cwd=tmp_path)
    assert ran.code == 3 and b"b.jsonl:1: error: " in ran.out
    (tmp_path / "b.jsonl").write_bytes(b'{"messages": [{"ro')
    assert run_process(*words, *files(), cwd=tmp_path).code == 1


@pytest.mark.parametrize(
    ("inputs", "expected"),
    [
        ({}, ["check", "--report-format", "github", "."]),
        (
            {"args": "--exclude *.json --strict", "paths": "runs/*.jsonl x"},
            [
                *("check", "--report-format", "github", "--exclude", "*.json", "--strict"),
                *("runs/a.jsonl", "runs/b.jsonl", "x"),
            ],
        ),
    ],
)
def test_the_action_installs_ctxtrim_and_checks_the_paths(
    tmp_path: Path, inputs: dict[str, str], expected: list[str]
) -> None:
    action = yaml.safe_load((ROOT / "action.yml").read_text())
    assert action["runs"]["using"] == "composite"
    given = {name: text["default"] for name, text in action["inputs"].items()} | inputs
    steps = [step for step in action["runs"]["steps"] if "run" in step]
    assert all(step["shell"] == "bash" for step in steps)
    (tmp_path / "runs").mkdir()
    for name in ("a.jsonl", "b.jsonl"):
        (tmp_path / "runs" / name).touch()
    log = tmp_path / "log"
    for name in ("python", "ctxtrim"):
        program = tmp_path / "bin" / name
        program.parent.mkdir(exist_ok=True)
        program.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" > {log}.{name}\n')
        program.chmod(0o755)
    for step in steps:
        names = {
            key: re.sub(r"\$\{\{ inputs\.|\s*\}\}", "", text) for key, text in step["env"].items()
        }
        subprocess.run(
            ["bash", "-e", "-c", step["run"]],
            check=True,
            cwd=tmp_path,
            env=ENVIRONMENT
            | {key: given[name] for key, name in names.items()}
            | {
                "PATH": f"{tmp_path}/bin:{ENVIRONMENT['PATH']}",
                "GITHUB_ACTION_PATH": "/actions/ctxtrim",
            },
        )
    python, ctxtrim = (Path(f"{log}.{name}").read_text().split() for name in ("python", "ctxtrim"))
    assert python == ["-m", "pip", "install", "--quiet", "/actions/ctxtrim"]
    assert ctxtrim == expected
