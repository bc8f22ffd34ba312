"""The output that people read, byte for byte.

Read a changed snapshot as if you saw it for the first time.
"""

import pytest
from conftest import Run
from syrupy.assertion import SnapshotAssertion


def hyphened(name: str) -> str:
    """A name that is easy to type as a part of a file's name."""
    return name.replace(" ", "-")


BOUND = ("--tokenizer", "claude-v3-bound")  # the output must not depend on installed packages
GPT = ("--model", "gpt-4o")
STDOUT_COMMANDS = {
    "help": ("--help",), "help count": ("count", "--help"), "help truncate": ("truncate", "--help"),
    "help trim": ("trim", "--help"), "help check": ("check", "--help"),
    "help run": ("run", "--help"), "help models": ("models", "--help"),
    "help convert": ("convert", "--help"), "help of a stage": ("help", "cutoff"),
    "help of a command": ("help", "check"), "help config": ("config", "--help"),
    "convert": ("convert", "--to", "anthropic", "fixtures/document.json"),
    "convert report": (
        "convert", "--to=openai-responses", "--dry-run", *GPT, "fixtures/claude-code.jsonl",
    ),
    "one model": ("models", "gpt-5"), "count agent": ("count", "fixtures/agent.jsonl"),
    "count all": ("count", "--model", "gpt-4o", "fixtures"),
    "check all": ("check", "--model", "gpt-4o", "fixtures"),
    "check overflow": (
        "check", "--budget=1200", *GPT, "fixtures/agent.jsonl", "fixtures/claude-code.jsonl",
    ),
    "check unknown model": (
        "check", "--model=gpt-4oo", "--context-window=128000", "fixtures/agent.jsonl",
    ),
    "explain": (
        "run", "-struncate", "-strim", "--budget=900", "--explain", "--dry-run",
        "fixtures/agent.jsonl",
    ),
    "dry run": ("trim", "--budget", "1400", "--dry-run", "fixtures/agent.jsonl"),
    "count json": ("count", "--json", "fixtures/messages.jsonl"),
    "truncate json": ("truncate", "--json", "--dry-run", "fixtures/seven-steps.jsonl"),
    "truncate jsonl": (
        "truncate", "--report-format", "jsonl", "--dry-run", "fixtures/seven-steps.jsonl",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", STDOUT_COMMANDS, ids=hyphened)
def test_standard_output(ctxtrim: Run, snapshot: SnapshotAssertion, name: str) -> None:
    ran = ctxtrim(*STDOUT_COMMANDS[name])
    assert ran.out == snapshot


STDERR_COMMANDS = {
    "trim": ("trim", "--budget", "1400", "fixtures/agent.jsonl"),
    "two files": ("truncate", *BOUND, "fixtures/claude-code.jsonl", "fixtures/agent.jsonl"),
    "two of one name": (
        "truncate",
        "fixtures/agent.jsonl",
        "fixtures/agent.jsonl",
        "-o",
        "nowhere",
    ),
    "run": (
        "run",
        "-s",
        "truncate:max-age=3",
        "-s",
        "trim",
        "-s",
        "check",
        *BOUND,
        "fixtures/claude-code.jsonl",
    ),
    "no stages": ("run", "fixtures/agent.jsonl"),
    "convert": ("convert", "--to", "gemini", *GPT, "fixtures/document.json"),
    "overflow": ("trim", "--budget", "60", "fixtures/agent.jsonl"),
    "overflow claude": ("trim", "--budget", "60", *BOUND, "fixtures/claude-code.jsonl"),
    "missing": ("trim", "missing.jsonl"),
}


@pytest.mark.parametrize("name", STDERR_COMMANDS, ids=hyphened)
def test_standard_error(ctxtrim: Run, snapshot: SnapshotAssertion, name: str) -> None:
    ran = ctxtrim(*STDERR_COMMANDS[name])
    assert ran.err.encode() == snapshot


def test_only_the_first_result_of_seven_steps_is_truncated(
    ctxtrim: Run, snapshot: SnapshotAssertion
) -> None:
    ran = ctxtrim("truncate", "--max-age", "5", "fixtures/seven-steps.jsonl")
    assert ran.out == snapshot


def test_a_session_trimmed_and_truncated(ctxtrim: Run, snapshot: SnapshotAssertion) -> None:
    ran = ctxtrim(
        "run",
        "-s",
        "truncate:max-age=2",
        "-s",
        "trim",
        "--budget",
        "1600",
        *BOUND,
        "fixtures/claude-code.jsonl",
    )
    assert ran.out == snapshot
