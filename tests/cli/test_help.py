"""Help pages: short with --help, full with `ctxtrim help`; their examples run."""

import json
import os
import pty
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ENVIRONMENT, FIXTURES, ROOT, Run

from ctxtrim.cli.app import COMMANDS
from ctxtrim.cli.examples import EXAMPLES
from ctxtrim.config.run_settings import OPTIONS
from ctxtrim.config.stage_specs import SETTINGS
from ctxtrim.text.names import option_name

SCREEN = 24  # lines of a terminal with 80 columns


def lines(ctxtrim: Run, *words: str) -> list[str]:
    ran = ctxtrim(*words, COLUMNS="80")
    assert (ran.code, ran.err) == (0, "")
    return ran.out.decode().splitlines()


def test_without_a_command_help_is_printed(ctxtrim: Run) -> None:
    assert lines(ctxtrim) == lines(ctxtrim, "--help") == lines(ctxtrim, "-h")


def test_the_help_of_run_fits_two_screens(ctxtrim: Run) -> None:
    shown = lines(ctxtrim, "run", "--help")
    assert len(shown) <= 2 * SCREEN
    assert max(map(len, shown)) <= 80
    panels = [line for line in shown if line.endswith(":") and not line.startswith(" ")]
    assert panels == [
        "Examples:", "Stages:", "Input:", "Budget:", "Output:", "Report:"
    ]  # fmt: skip


@pytest.mark.parametrize("name", COMMANDS)
def test_the_help_of_each_command_has_examples(ctxtrim: Run, name: str) -> None:
    assert 2 <= len(EXAMPLES[name]) <= 3
    shown = lines(ctxtrim, name, "-h")
    start = shown.index("Examples:") + 1
    assert shown[start : shown.index("", start)] == [f"  {line}" for line in EXAMPLES[name]]
    assert max(map(len, shown)) <= 80


@pytest.mark.parametrize("stage", SETTINGS)
def test_the_page_of_a_stage_has_all_of_its_settings(ctxtrim: Run, stage: str) -> None:
    shown = "\n".join(lines(ctxtrim, "help", stage))
    for name, option in SETTINGS[stage].items():
        assert option_name(name) in shown
        assert option.panel in shown


def test_a_full_page_has_every_option_with_its_default(ctxtrim: Run) -> None:
    shown = " ".join(" ".join(lines(ctxtrim, "help", "run")).split())
    for name in ("max_size", "thinking", "llm_timeout", "on_overflow", "debug"):
        assert f"{option_name(name)} " in shown
        assert " ".join(OPTIONS[name].help.split()) in shown


def test_a_short_page_has_the_defaults_that_are_one_word(ctxtrim: Run) -> None:
    shown = " ".join(" ".join(lines(ctxtrim, "trim", "--help")).split())
    assert "Keep the last N turns while older messages can still be dropped. [default: 5]" in shown
    assert "Choose the order in which messages are dropped. [default: priority]" in shown
    assert "Set the context window in tokens. --reserve N" in shown


def test_the_exit_codes_are_on_the_page_of_check_or_one_page_away(ctxtrim: Run) -> None:
    assert "Exit codes: 0 " in "\n".join(lines(ctxtrim, "check", "--help"))
    assert "Exit codes: 0 " in "\n".join(lines(ctxtrim, "--help"))
    assert lines(ctxtrim, "trim", "--help")[-1].endswith("`ctxtrim --help` the exit codes.")


def test_a_page_is_printed_in_ascii_if_the_terminal_has_nothing_else(process: Run) -> None:
    ran = process("help", "truncate", PYTHONIOENCODING="ascii")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.isascii()


def test_a_page_of_a_command_in_a_group(ctxtrim: Run) -> None:
    assert lines(ctxtrim, "help", "trace", "get")[0].startswith("Usage: ctxtrim trace get")


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (
            ("check", "--profile", "opnai"),
            "--profile opnai: expected one of openai, openai-responses, anthropic, gemini, strict "
            "(did you mean openai?)",
        ),
        (
            ("check", "--preset", "rollin"),
            "--preset rollin: unknown preset; expected one of rolling, budget, retention, "
            "compact (did you mean rolling?)",
        ),
        (("cuont",), "unknown command cuont (did you mean count?); expected one of count"),
        (("version",), "unknown command version (did you mean --version?); expected one of"),
        (
            ("fixtures/agent.jsonl",),
            "fixtures/agent.jsonl is not a command; name one before the file",
        ),
        (("trace", "lst"), "unknown command lst (did you mean list?); expected one of get"),
        (("help", "cutof"), "help cutof: unknown command or stage (did you mean cutoff?)"),
        (("trim", "--bugdet=3"), "unknown option --bugdet (did you mean --budget?); see ctxtrim"),
        (("trim", "--no-keep-eror"), "unknown option --no-keep-eror (did you mean --no-keep-er"),
        (("trim", "--max-age=3"), "unknown option --max-age: it is a setting of drop-images and"),
        (("trim", "--no-dedupe"), "unknown option --no-dedupe: it is a setting of truncate; see"),
        (("convert", "--in-place"), "unknown option --in-place; see ctxtrim convert --help"),
        (("trim", "--budget"), "option '--budget' requires an argument"),
        (("run", "-s", "trimm"), "-s trimm: unknown stage (did you mean trim?)"),
        (
            ("run", "-s", "trim:strategi=x"),
            "-s trim:strategi=x: unknown setting strategi (did you mean strategy?)",
        ),
    ],
)
def test_an_unknown_name_suggests_the_nearest(ctxtrim: Run, words: str, error: str) -> None:
    ran = ctxtrim(*words)
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, b"", 1)
    assert ran.err.startswith(f"ctxtrim: {error}")


def test_an_unknown_variable_suggests_the_nearest(ctxtrim: Run) -> None:
    ran = ctxtrim("trim", "fixtures/agent.jsonl", CTXTRIM_BUGDET="3")
    expected = "ctxtrim: CTXTRIM_BUGDET: unknown variable (did you mean CTXTRIM_BUDGET?)\n"
    assert (ran.code, ran.err) == (2, expected)


@pytest.mark.parametrize("words", [("-V",), ("--version",), ("run", "-V"), ("trace", "list", "-V")])
def test_every_command_has_the_version(ctxtrim: Run, words: str) -> None:
    assert lines(ctxtrim, *words)[0].startswith("ctxtrim 0.")


def test_short_names_are_those_of_the_options(ctxtrim: Run, tmp_path: Path) -> None:
    for command in ("count", "check", "trim", "truncate", "summarize", "run"):
        shown = "\n".join(lines(ctxtrim, command, "--help"))
        for name in ("-m, --model", "-b, --budget", "-q, --"):
            assert name in shown
    short = ctxtrim("trim", "-q", "-m", "gpt-4", "-b", "1400", "fixtures/agent.jsonl")
    words = ("--quiet", "--model", "gpt-4", "--budget", "1400", "fixtures/agent.jsonl")
    assert short == ctxtrim("trim", *words)


@pytest.fixture(scope="module")
def files(ctxtrim: Run, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the files that examples name, and those that they read after other examples."""
    folder = tmp_path_factory.mktemp("examples")
    shutil.copy(FIXTURES / "seven-steps.jsonl", folder / "session.jsonl")
    sessions = folder / ".claude/projects/-quay"
    sessions.mkdir(parents=True)
    shutil.copy(FIXTURES / "claude-code.jsonl", sessions)
    (folder / "logs").mkdir()
    shutil.copy(FIXTURES / "messages.jsonl", folder / "logs")
    archived = ("session.jsonl", "--archive", "originals")
    for words in (
        ("truncate", "--max-age", "3", *archived, "-o", "short.jsonl"),
        ("trim", "--budget", "30k", *archived, "-o", "trimmed.jsonl"),
    ):
        assert ctxtrim(*words, cwd=folder).code == 0
    return folder


@pytest.fixture
def folder(files: Path, tmp_path: Path) -> Path:
    """A copy of the folder, so that no example depends on another."""
    shutil.copytree(files, tmp_path, dirs_exist_ok=True)
    return tmp_path


@pytest.mark.parametrize("line", dict.fromkeys(sum(EXAMPLES.values(), ())))
def test_an_example_runs(ctxtrim: Run, folder: Path, line: str) -> None:
    own = {"HOME": "", "XDG_CONFIG_HOME": "/config", "XDG_DATA_HOME": "/data"}
    own = {name: f"{folder}{path}" for name, path in own.items()}
    if "ctxtrim archive" in line or "edited.jsonl" in line:
        shutil.copy(folder / "session.jsonl", folder / "edited.jsonl")
        ran = ctxtrim("trim", "-b", "900", "--in-place", "edited.jsonl", cwd=folder, **own)
        assert ran.code == 0, ran.err
    words = shlex.split(line)
    if words[0] == "ctxtrim" and not {"|", "<", ">"} & {*words}:
        ran = ctxtrim(*words[1:], cwd=folder, **own)
        assert (ran.code, ran.err.count("error")) == (0, 0), ran.err
        return
    environment = ENVIRONMENT | own | {"PYTHONPATH": str(ROOT), "PYTHON": sys.executable}
    start = 'set -euo pipefail; ctxtrim() { "$PYTHON" -m ctxtrim "$@"; }; '
    done = subprocess.run(
        ["bash", "-c", start + line], cwd=folder, env=environment, capture_output=True
    )
    assert done.returncode == 0, done.stderr.decode()


@pytest.mark.parametrize(
    ("words", "code"), [(("trim",), 2), (("run", "-s", "trim"), 2), (("count", "--json"), 2)]
)
def test_on_a_terminal_without_a_file_help_is_printed(words: tuple[str, ...], code: int) -> None:
    primary, secondary = pty.openpty()
    done = subprocess.run(
        [sys.executable, "-m", "ctxtrim", *words],
        stdin=secondary,
        capture_output=True,
        cwd=ROOT,
        env=ENVIRONMENT,
        timeout=60,
        text=True,
    )
    os.close(primary)
    os.close(secondary)
    assert (done.returncode, done.stdout) == (code, "")
    assert done.stderr.startswith(f"Usage: ctxtrim {words[0]} ")
    assert done.stderr.endswith("name a file, or - to read the terminal\n")


def test_a_pipe_without_a_file_is_read(process: Run) -> None:
    ran = process("count", "--json", stdin=(FIXTURES / "messages.jsonl").read_bytes())
    assert json.loads(ran.out)["totals"]["transcripts"] > 0
