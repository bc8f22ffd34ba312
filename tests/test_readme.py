"""The README and the documents show the actual output of every command and session."""

import doctest
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ENVIRONMENT

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text()
PAGES = {
    str(path.relative_to(ROOT)): path.read_text()
    for path in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))
}
EXAMPLES = {
    f"{page}: {command}": (command, shown)
    for page, text in PAGES.items()
    for command, shown in re.findall(r"```console\n\$ ([^\n]+)\n(.*?)\n```", text, re.DOTALL)
}
SESSIONS = {
    page: "".join(re.findall(r"```pycon\n(.*?)```", text, re.DOTALL))
    for page, text in PAGES.items()
    if "```pycon" in text
}


def test_every_console_block_is_an_example() -> None:
    blocks = "".join(PAGES.values()).count("```console\n")
    assert blocks == len(EXAMPLES) > 20


@pytest.mark.parametrize(("command", "shown"), EXAMPLES.values(), ids=EXAMPLES)
def test_an_example_shows_its_actual_output(command: str, shown: str, tmp_path: Path) -> None:
    (tmp_path / "fixtures").symlink_to(ROOT / "fixtures")
    scripts = str(Path(sys.executable).parent)
    environment = ENVIRONMENT | {"PATH": f"{scripts}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(
        ["bash", "-c", f"exec 2>&1; {command}"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.rstrip("\n") == shown


@pytest.mark.parametrize("page", SESSIONS)
def test_the_python_sessions_of_a_page_show_their_actual_output(
    page: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    example = doctest.DocTestParser().get_doctest(SESSIONS[page], {}, page, page, 0)
    lines: list[str] = []
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    assert runner.run(example, out=lines.append).failed == 0, "".join(lines)
    assert runner.tries > 2


def test_the_names_of_the_library_are_importable() -> None:
    lines = re.findall(r"^from ctxtrim import .*$", "\n".join(PAGES.values()), re.MULTILINE)
    assert lines
    for line in lines:
        exec(line, {})


def test_the_readme_is_short() -> None:
    assert len(README.splitlines()) <= 150


def test_the_figures_of_the_comparison_are_in_the_linked_documents() -> None:
    section = README.partition("\n## What makes it different\n")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| \w[^|]*\| ([^|]+) \| \[[^]]+\]\(([^)#]+)", section, re.MULTILINE)
    assert len(rows) == 8
    for text, path in rows:
        figures = re.findall(r"\d[\d.,]*\d|\d", text)
        known = set(re.findall(r"\d[\d.,]*\d|\d", (ROOT / path).read_text()))
        assert {figure.replace(",", "") for figure in figures} <= {
            figure.replace(",", "") for figure in known
        }, text


def test_the_two_lines_of_the_quick_start_are_present() -> None:
    first, second = re.search(r"```sh\n(.*?)\n```", README, re.DOTALL)[1].split("\n")  # type: ignore[index]
    assert first.endswith("ctxtrim trim --budget 600 fixtures/agent.jsonl -o trimmed.jsonl")
    assert second.endswith("python -m pytest")
