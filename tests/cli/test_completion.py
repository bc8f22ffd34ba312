"""Completion in bash, zsh and fish: the protocol that the scripts of the shells use."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ENVIRONMENT, ROOT, Run

from ctxtrim.cli.app import COMMANDS
from ctxtrim.config.presets import PRESETS
from ctxtrim.formats import FORMATS
from ctxtrim.stages import STAGES


def completions(process: Run, line: str, shell: str = "bash") -> list[str]:
    """The lines for the script of a shell: for bash the kind and the word, as in `plain,trim`."""
    words = line.split(" ")
    position = words[-1] if shell == "fish" else str(len(words) - 1)
    ran = process(_CTXTRIM_COMPLETE=f"{shell}_complete", COMP_WORDS=line, COMP_CWORD=position)
    assert ran.err == ""
    return list(filter(None, ran.out.decode().splitlines()))


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("ctxtrim ", [*COMMANDS]),
        ("ctxtrim tr", ["truncate", "trim", "trace"]),
        ("ctxtrim trim --bud", ["--budget"]),
        ("ctxtrim trim --no-keep-e", ["--no-keep-errors"]),
        ("ctxtrim run -s tr", ["truncate", "trim"]),
        ("ctxtrim run -s ", [*STAGES]),
        ("ctxtrim run -s trim:strat", ["trim:strategy="]),
        ("ctxtrim run -s trim:target=0.5,strat", ["trim:target=0.5,strategy="]),
        ("ctxtrim run --preset ", [*PRESETS]),
        ("ctxtrim count -m gpt-4.1-", ["gpt-4.1-mini", "gpt-4.1-nano"]),
        ("ctxtrim count --format ", ["auto", *FORMATS]),
        ("ctxtrim check --report-format js", ["json", "jsonl"]),
        ("ctxtrim trim --strategy ol", ["oldest"]),
        ("ctxtrim trace ", ["get", "list", "verify"]),
        ("ctxtrim trim --budget 3", []),
    ],
)
def test_the_words_after_a_line(process: Run, line: str, expected: list[str]) -> None:
    assert completions(process, line) == [f"plain,{word}" for word in expected]


@pytest.mark.parametrize(
    "line", ["ctxtrim count some", "ctxtrim restore some", "ctxtrim trim --archive some"]
)
def test_a_value_that_names_a_file_is_completed_by_the_shell(process: Run, line: str) -> None:
    assert completions(process, line) == ["file,some"]


def test_zsh_and_fish_get_the_words_with_their_help(process: Run) -> None:
    text = COMMANDS["trace"]
    assert completions(process, "ctxtrim tra", "zsh") == ["plain", "trace", text]
    assert completions(process, "ctxtrim tra", "fish") == [f"plain,trace\t{text}"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_of_a_shell_is_printed(ctxtrim: Run, shell: str) -> None:
    ran = ctxtrim("--show-completion", shell)
    assert (ran.code, ran.err) == (0, "")
    assert f"_CTXTRIM_COMPLETE={shell}_complete" in ran.out.decode()


@pytest.mark.parametrize(
    ("shell", "file"),
    [
        ("bash", ".bash_completions/ctxtrim.sh"),
        ("zsh", ".zfunc/_ctxtrim"),
        ("fish", ".config/fish/completions/ctxtrim.fish"),
    ],
)
def test_the_script_of_a_shell_is_installed(
    process: Run, tmp_path: Path, shell: str, file: str
) -> None:
    ran = process("--install-completion", shell, HOME=str(tmp_path))
    assert (ran.code, ran.err) == (0, "")
    assert f"{shell}_complete" in (tmp_path / file).read_text()
    assert f"{shell} completion is installed in" in ran.out.decode()


@pytest.mark.parametrize(("shell", "start"), [("bash", ".bashrc"), ("zsh", ".zshrc")])
def test_the_start_file_of_a_shell_gets_one_line(
    ctxtrim: Run, tmp_path: Path, shell: str, start: str
) -> None:
    (tmp_path / start).write_text("alias ll='ls -l'")  # without a line break at its end
    for _ in range(2):
        assert ctxtrim("--install-completion", shell, HOME=str(tmp_path)).code == 0
    first, added = filter(None, (tmp_path / start).read_text().splitlines())
    assert first == "alias ll='ls -l'"
    assert added


def test_an_unknown_shell_is_an_error(ctxtrim: Run) -> None:
    ran = ctxtrim("--show-completion", "tcsh")
    assert (ran.code, ran.out) == (2, b"")
    assert ran.err == "ctxtrim: unknown shell tcsh; name one of bash, zsh, fish\n"


def test_bash_completes_with_the_script(ctxtrim: Run, tmp_path: Path) -> None:
    bash = shutil.which("bash")
    assert bash is not None
    program = tmp_path / "ctxtrim"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m ctxtrim "$@"\n')
    program.chmod(0o755)
    script = ctxtrim("--show-completion", "bash").out.decode()
    line = "COMP_WORDS=(ctxtrim run --pre); COMP_CWORD=2; _ctxtrim_completion ctxtrim; "
    done = subprocess.run(
        [bash, "-c", f'{script}\n{line}echo "${{COMPREPLY[@]}}"'],
        env=ENVIRONMENT | {"PATH": f"{tmp_path}:/usr/bin:/bin", "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == ["--preset", "--preserve-system-prompt"]


def test_a_home_that_is_no_folder_is_named_in_one_line(process: Run, tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.touch()
    ran = process("--install-completion", "fish", HOME=str(home))
    assert (ran.code, ran.out) == (1, b"")
    assert ran.err == (
        f"ctxtrim: {home}/.config/fish/completions: completion cannot be installed: "
        "not a directory; use --show-completion\n"
    )
