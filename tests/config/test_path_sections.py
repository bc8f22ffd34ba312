"""`[[paths]]`: models, budgets and limits of some files."""

import json
from pathlib import Path
from typing import Any

import pytest
from conftest import Run
from samples import line

SECTIONS = """
budget = 100_000
max-messages = 90

[[paths]]
match = "runs/**"
model = "gpt-4o"
budget = 50_000

[[paths]]
match = "*.long.jsonl"
budget = 70_000
max-tokens-per-result = 10
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    for name in ("a.jsonl", "runs/b.jsonl", "runs/c.long.jsonl"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(line())
    (tmp_path / "ctxtrim.toml").write_text(SECTIONS)
    return tmp_path


def rows(ctxtrim: Run, project: Path, *words: object, **more: Any) -> dict[str, Any]:
    ran = ctxtrim("check", "--json", *words, **{"cwd": project, **more})
    return {row["path"]: row for row in json.loads(ran.out)["transcripts"]}


def budgets(rows: dict[str, Any]) -> dict[str, int]:
    return {path: row["budget"]["available"] for path, row in rows.items()}


def test_the_last_section_that_has_a_setting_decides(ctxtrim: Run, project: Path) -> None:
    found = rows(ctxtrim, project, ".")
    assert budgets(found) == {
        "a.jsonl": 100_000,
        "runs/b.jsonl": 50_000,
        "runs/c.long.jsonl": 70_000,
    }
    assert [row["model"] for row in found.values()] == [None, "gpt-4o", "gpt-4o"]
    codes = [[finding["code"] for finding in row["findings"]] for row in found.values()]
    assert codes == [[], [], ["max-tokens-per-result"] * 7]


def test_no_section_is_for_standard_input(ctxtrim: Run, project: Path) -> None:
    (project / "ctxtrim.toml").write_text('[[paths]]\nmatch = "*"\nbudget = 500\n')
    assert budgets(rows(ctxtrim, project, "a.jsonl")) == {"a.jsonl": 500}
    found = budgets(rows(ctxtrim, project, "--budget", "600", "-", stdin=line()))
    assert budgets(rows(ctxtrim, project, "-", stdin=line())) != {"-": 500}
    assert found == {"-": 600}


def test_the_command_line_and_the_environment_override_sections(
    ctxtrim: Run, project: Path
) -> None:
    found = budgets(rows(ctxtrim, project, ".", "--budget", "60000"))
    assert set(found.values()) == {60_000}
    found = budgets(rows(ctxtrim, project, ".", CTXTRIM_BUDGET="60000"))
    assert set(found.values()) == {60_000}
    limits = ("--max-tokens-per-result", "90000")
    assert not rows(ctxtrim, project, ".", *limits)["runs/c.long.jsonl"]["findings"]


def test_patterns_are_relative_to_the_file_that_they_are_in(ctxtrim: Run, project: Path) -> None:
    (project / ".git").mkdir()
    found = budgets(rows(ctxtrim, project, "b.jsonl", "../a.jsonl", cwd=project / "runs"))
    assert found == {"b.jsonl": 50_000, "../a.jsonl": 100_000}
    (project / "ci").mkdir()
    named = project / "ci" / "gate.toml"
    named.write_text('[[paths]]\nmatch = "../runs/"\nbudget = 40_000\n')
    found = budgets(rows(ctxtrim, project, ".", "--config", named))
    assert found["runs/b.jsonl"] == 40_000 and found["a.jsonl"] == 100_000
    named.write_text('[[paths]]\nmatch = "../*.jsonl"\nbudget = 40_000\n')
    found = budgets(rows(ctxtrim, project, ".", "--config", named))
    assert found["a.jsonl"] == 40_000 and found["runs/b.jsonl"] == 50_000


def test_patterns_are_relative_to_the_folder_of_a_linked_file(ctxtrim: Run, project: Path) -> None:
    (project / "shared").mkdir()
    (project / "ctxtrim.toml").rename(project / "shared" / "team.toml")
    (project / "ctxtrim.toml").symlink_to(Path("shared") / "team.toml")
    found = budgets(rows(ctxtrim, project, "a.jsonl", "runs/b.jsonl"))
    assert found == {"a.jsonl": 100_000, "runs/b.jsonl": 50_000}


def test_sections_in_pyproject_toml_and_for_other_commands(ctxtrim: Run, project: Path) -> None:
    (project / "ctxtrim.toml").unlink()
    text = '[[tool.ctxtrim.paths]]\nmatch = "/a.jsonl"\nbudget = 150\n'
    (project / "pyproject.toml").write_text(text)
    assert budgets(rows(ctxtrim, project, "a.jsonl", "runs/b.jsonl")) == {
        "a.jsonl": 150,
        "runs/b.jsonl": 123_904,
    }
    assert ctxtrim("trim", "a.jsonl", "-o", "out.jsonl", cwd=project).code == 0
    assert ctxtrim("check", "--budget", "150", "out.jsonl", cwd=project).code == 0


def test_config_show_lists_sections(ctxtrim: Run, project: Path) -> None:
    shown = ctxtrim("config", "show", cwd=project, COLUMNS="500").out.decode()
    assert f"budget of {project}/runs/**" in shown
    assert "ctxtrim.toml: paths[0].budget" in shown


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("paths = 3", "paths: expected sections, as in [[paths]]"),
        ("[[paths]]\nbudget = 3", 'paths[0]: match is missing; add match = "runs/**"'),
        ('[[paths]]\nmatch = "!a"', "paths[0].match !a: expected a pattern of paths"),
        ('[[paths]]\nmatch = "a"\nbudgt = 3', "paths[0].budgt: unknown key (did you mean budget?)"),
        (
            '[[paths]]\nmatch = "a"\nmax-messages = 1\nmaxMessages = 2',
            "paths[0].maxMessages: max-messages is given twice; keep one of them",
        ),
        ('[[paths]]\nmatch = "a"\nllm-command = "x"', "paths[0].llm-command: unknown key"),
        ('[[paths]]\nmatch = "a"\nbudget = "x"', "paths[0].budget"),
        ('[[paths]]\nmatch = "a"\nmax-tool-share = 60.0', "expected a share, such as 60% or 0.6"),
    ],
)
def test_an_error_in_a_section_names_the_key(
    ctxtrim: Run, project: Path, text: str, error: str
) -> None:
    (project / "ctxtrim.toml").write_text(text)
    ran = ctxtrim("check", "a.jsonl", cwd=project)
    assert ran.code == 2 and ran.err.startswith("ctxtrim: ctxtrim.toml: ")
    assert error in ran.err and len(ran.err.splitlines()) == 1


@pytest.mark.parametrize("share", ['"50%"', "0.5"])
def test_a_share_is_a_number_or_a_percentage(ctxtrim: Run, project: Path, share: str) -> None:
    (project / "ctxtrim.toml").write_text(
        f'[[paths]]\nmatch = "a.jsonl"\nmax-tool-share = {share}\n'
    )
    ran = ctxtrim("check", "a.jsonl", cwd=project)
    assert ran.code == 3 and b"above max-tool-share 50% (" in ran.out
