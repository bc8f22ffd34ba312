"""The README and the page about the command line show the actual output of every command."""

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
PAGES = (README, *((ROOT / f"docs/{name}.md").read_text() for name in ("ci", "command-line")))
EXAMPLES = re.findall(r"```console\n\$ ([^\n]+)\n(.*?)\n```", "".join(PAGES), re.DOTALL)


@pytest.mark.parametrize(("command", "shown"), EXAMPLES, ids=[command for command, _ in EXAMPLES])
def test_an_example_shows_its_actual_output(command: str, shown: str, tmp_path: Path) -> None:
    (tmp_path / "fixtures").symlink_to(ROOT / "fixtures")
    scripts = str(Path(sys.executable).parent)
    environment = ENVIRONMENT | {"PATH": f"{scripts}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(
        ["bash", "-c", f"{command} 2>&1"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.rstrip("\n") == shown


@pytest.mark.parametrize("session", re.findall(r"```pycon\n(.*?)```", README, re.DOTALL))
def test_a_python_session_shows_its_actual_output(
    session: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    example = doctest.DocTestParser().get_doctest(session, {}, "README", "README.md", 0)
    lines: list[str] = []
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    assert runner.run(example, out=lines.append).failed == 0, "".join(lines)
    assert runner.tries > 0


def test_the_names_of_the_library_are_mentioned() -> None:
    lines = re.findall(r"^from ctxtrim import .*$", README, re.MULTILINE)
    assert lines
    for line in lines:
        exec(line, {})


def test_the_two_lines_of_the_quick_start_are_present() -> None:
    first, second = re.search(r"```sh\n(.*?)\n```", README, re.DOTALL)[1].split("\n")  # type: ignore[index]
    assert first.endswith("ctxtrim trim --budget 600 fixtures/agent.jsonl -o trimmed.jsonl")
    assert second.endswith("python -m pytest")
