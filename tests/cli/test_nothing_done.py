"""A run that changes nothing says why."""

import json
import os
import pty
import subprocess
from typing import Any

import pytest
from conftest import COMMAND, ENVIRONMENT, FIXTURES, ROOT, Run
from samples import line, messages

REASONS = {
    "trim": "; already fits",
    "truncate --max-age 99": "; no result older than 99 steps or longer than 2,000 tokens can be "
    "shortened; try --max-age 1",
    "truncate --max-age 1 --keep-small 9000": "; no result older than 1 step or longer than 2,000 "
    "tokens can be shortened",
    "truncate --clock none --max-tokens 0": "; no result above a limit can be shortened",
    "truncate --clock none": "; no result longer than 2,000 tokens can be shortened",
    "run -s cutoff:tool-cutoff=99": "; no more than 99 tool results are visible; try a smaller "
    "--tool-cutoff",
    "run -s drop-images": "; no image to drop is older than 5 steps; try --max-age 0",
    "run -s drop-images:max-age=1": "; no image to drop is older than 1 step; try --max-age 0",
    "run -s drop-images:max-age=0": "; no image to drop is older than 0 steps",
    "run -s repair:pin=sea": "; no call or result to repair that is not pinned",
    "run -s drop-images:clock=none": "; no image is dropped with clock=none; set the clock to "
    "steps or turns",
    "run -s repair": "; no call or result to repair",
    "run -s trim -s repair": "; already fits; no call or result to repair",
    "run -s compact": "; no session has reached its limit; try a smaller --budget",
    "run -s compact:auto=false": "; --no-auto turns compaction off",
}


@pytest.mark.parametrize("words", REASONS)
def test_a_run_that_changes_nothing_says_why(ctxtrim: Run, words: str) -> None:
    data = line(messages(2))
    ran = ctxtrim(*words.split(), stdin=data)
    assert (ran.code, ran.out) == (0, data)
    assert ran.err.endswith(f" tokens{REASONS[words]}\n")


LOOK = {"type": "tool_use", "id": "c1", "name": "look", "input": {}}
FOG = {"type": "tool_result", "tool_use_id": "c1", "content": "thick fog " * 30}


@pytest.mark.parametrize(
    ("settings", "end", "reason"),
    [
        ("", "user", "no answer follows that can begin with its digest"),
        ("", "tool", "the conversation still needs their steps"),
        (",pin=tool:look", "user", "pinned: tool:look"),
        (",tool-summary=off", "user", "tool-summary=off replaces nothing"),
        (",tool-summary=off", "assistant", "tool-summary=off replaces nothing"),
    ],
)
def test_a_run_that_replaces_no_result_says_why(
    ctxtrim: Run, settings: str, end: str, reason: str
) -> None:
    talk: list[dict[str, Any]] = [
        {"role": "user", "content": "How is the sea?"},
        {"role": "assistant", "content": [LOOK]},
        {"role": "user", "content": [FOG]},
    ]
    if end != "tool":
        talk.append({"role": end, "content": "Good."})
    data = json.dumps({"system": "Be brief.", "messages": talk}).encode()
    ran = ctxtrim("run", "-s", f"cutoff:tool-cutoff=0{settings}", stdin=data)
    assert (ran.code, ran.out) == (0, data)
    first, second = ran.err.splitlines()
    assert first.endswith(f": nothing was replaced although 1 tool result > 0: {reason}")
    assert second.startswith("ctxtrim: cutoff: 1 transcript")
    assert second.endswith(" tokens")


READ = {"type": "tool_use", "id": "c1", "name": "read_file", "input": {"path": "log.md"}}
IN_USE = "1 tool result that is too long shows a file in use; try --no-keep-active-files"


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ("", IN_USE),
        (":max-age=1", IN_USE),
        (":max-tokens=0", None),
        (":pin=tool:read_file", None),
    ],
)
def test_a_run_that_keeps_files_in_use_says_so(
    ctxtrim: Run, settings: str, reason: str | None
) -> None:
    text = "".join(f"Fog at buoy {number}.\n" for number in range(900))
    talk: list[dict[str, Any]] = [
        {"role": "user", "content": "How is the sea?"},
        {"role": "assistant", "content": [READ]},
        {"role": "user", "content": [FOG | {"content": text}]},
        {"role": "assistant", "content": "Foggy."},
    ]
    data = json.dumps({"system": "Be brief.", "messages": talk}).encode()
    ran = ctxtrim("run", "-s", f"truncate{settings}", stdin=data)
    assert (ran.code, ran.out) == (0, data)
    assert ("nothing was shortened" in ran.err) == (reason is not None)
    if reason is not None:
        first, second = ran.err.splitlines()
        assert first.endswith(f": nothing was shortened: {reason}")
        assert second.endswith(" tokens")
    assert ctxtrim("run", "-s", "truncate:keep-active-files=false", stdin=data).out != data


OLDER = "nothing is older than the kept messages"


def test_a_session_with_nothing_to_compact_says_why(ctxtrim: Run) -> None:
    data = line(messages(2))
    ran = ctxtrim("run", "-s", "compact", "--budget", "1", stdin=data)
    assert (ran.code, ran.out) == (0, data)
    first, second = ran.err.splitlines()
    assert first.endswith(f": info: nothing was compacted: {OLDER}")
    assert second.endswith(" tokens")


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ("--keep-recent-turns 99", f"{OLDER}; try --keep-recent-turns 0"),
        ("--keep-recent-turns 99 --pin .", OLDER),
        ("--keep-recent-turns 0 --pin .", OLDER),
        ("--keep-recent-turns 0", "a summary would not be smaller"),
    ],
)
def test_a_run_that_summarizes_nothing_says_why(ctxtrim: Run, words: str, reason: str) -> None:
    prompts = ["How is the sea?", "And now?", "And at buoy 4?"]
    data = line([{"role": "user", "content": text} for text in prompts])
    ran = ctxtrim("summarize", *words.split(), stdin=data)
    assert (ran.code, ran.out) == (0, data)
    first, second = ran.err.splitlines()
    assert first.endswith(f": nothing was summarized: {reason}")
    assert second.endswith(" tokens")


def test_a_cutoff_of_no_results_advises_no_smaller_one(ctxtrim: Run) -> None:
    ran = ctxtrim("run", "-s", "cutoff:tool-cutoff=0", stdin=line(messages(0)))
    assert ran.err.endswith(" tokens; no tool result is visible\n")


def test_a_call_that_waits_has_no_result(ctxtrim: Run) -> None:
    data = json.dumps({"messages": [{"role": "assistant", "content": [LOOK]}]}).encode()
    ran = ctxtrim("check", "--fix", stdin=data)
    assert (ran.code, ran.out) == (0, data)
    assert "every call has its result" not in ran.err


def test_a_result_without_a_trace_id_is_the_only_reason(ctxtrim: Run) -> None:
    call = {"name": "look", "arguments": "{}"}
    talk: list[dict[str, Any]] = [{"role": "user", "content": "How is the sea?"}]
    talk.append({"role": "assistant", "content": None, "function_call": call})
    talk.append({"role": "function", "name": "look", "content": "thick fog " * 300})
    talk += [{"role": "user", "content": "And now?"}] * 3
    ran = ctxtrim("run", "--preset", "retention", stdin=json.dumps({"messages": talk}).encode())
    assert ran.code == 1
    assert "can be shortened" not in ran.err


@pytest.mark.parametrize("words", ["trim --budget 900", "trim --budget 5", "count"])
def test_other_runs_give_no_reason(ctxtrim: Run, words: str) -> None:
    ran = ctxtrim(*words.split(), FIXTURES / "agent.jsonl")
    assert "already fits" not in ran.err


@pytest.mark.parametrize(
    ("budget", "end"),
    [("2k", "≤5,875 → ≤2,489 tokens"), ("20k", "≤5,875 tokens\nctxtrim: trim: already fits")],
)
def test_a_terminal_shows_the_totals_of_a_dry_run_once(budget: str, end: str) -> None:
    outer, inner = pty.openpty()
    words = ("trim", "--dry-run", "--no-progress", "--budget", budget, "fixtures/agent.jsonl")
    subprocess.run([*COMMAND, *words], cwd=ROOT, env=ENVIRONMENT, stdout=inner, stderr=inner)
    os.close(inner)
    shown = os.read(outer, 1 << 16).decode().replace("\r\n", "\n")
    os.close(outer)
    assert shown.endswith(f"{end}\n")
    assert shown.count("3 transcripts, 45") == 1
