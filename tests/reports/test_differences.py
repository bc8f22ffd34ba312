"""A dry run shows what would change, message by message."""

import json
import re
from pathlib import Path

from builders import conversation, step, steps, user
from builders_claude import line as event
from builders_claude import session
from conftest import Run
from samples import line

from ctxtrim.tokenizers.claude_ctok import available
from ctxtrim.tokens.tokenizer import MARKS

QUICK = ("--tokenizer", "chars4", "--dry-run")
TALK = [
    user("go"),
    *step("a", "same\nfirst\nsecond\nthird\nfourth\n" + "old " * 300),
    *step("b", "new"),
    user("now"),
]


def headers(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.startswith("@@")]


def test_a_shortened_text_has_tokens_and_lines_before_and_after(ctxtrim: Run) -> None:
    data = conversation(TALK)
    ran = ctxtrim("truncate", "--max-age", "0", *QUICK, stdin=data)
    shown = ran.out.decode()
    (header,) = headers(shown)
    assert re.fullmatch(
        r"@@ message 2, line 1 \(result of \w+\): truncated, ≈\d+ → ≈\d+ tokens: age 1 > 0", header
    )
    assert "\n- same\n- first\n- second\n- … 3 lines more\n+ " in shown
    assert "… 2" not in shown.split("\n+ ")[1]


def test_equal_lines_at_the_start_are_left_out(ctxtrim: Run) -> None:
    text = "\n".join(f"row {number} " + "x" * 40 for number in range(60))
    data = conversation([user("go"), *step("a", text), user("now")])
    shown = ctxtrim("truncate", "--max-lines", "20", *QUICK, stdin=data).out.decode()
    assert len(headers(shown)) == 1
    assert "- row 0 " not in shown
    assert re.search(r"^- row \d+ x+$", shown, re.MULTILINE)


def test_dropped_and_inserted_messages_are_named(ctxtrim: Run) -> None:
    data = conversation([user("go"), *steps(9, "result " * 100), user("now")])
    shown = ctxtrim("trim", "--budget", "400", *QUICK, stdin=data).out.decode()
    dropped = [header for header in headers(shown) if "): dropped, ≈" in header]
    assert dropped
    assert all("exchange of turn 2, step " in header for header in dropped)
    call, _ = step("a", "")
    pending = conversation([user("go"), call, user("now")])
    words = ("run", "-s", "repair:repair=synthesize")
    (header,) = headers(ctxtrim(*words, *QUICK, stdin=pending).out.decode())
    assert header.startswith("@@ inserted (result of bash): ≈"), header


def test_what_was_read_is_counted_for_the_model_that_the_input_names(
    ctxtrim: Run, tmp_path: Path
) -> None:
    head = {"role": "assistant", "model": "claude-sonnet-4-20250514"}
    events = [
        event("u1", None, "user", message={"role": "user", "content": "Paint the boat. " * 20}),
        event("a1", "u1", "assistant", message={**head, "content": "It is painted. " * 40}),
        event("u2", "a1", "user", message={"role": "user", "content": "And the mast?"}),
    ]
    words = ("trim", "--budget", "60")
    report = tmp_path / "report.json"
    ctxtrim(*words, "--explain", "--report", report, stdin=session(*events))
    (row,) = json.loads(report.read_text())["transcripts"]
    assert "other-model" in [finding["code"] for finding in row["findings"]]
    costs = [message["tokens"] for message in row["messages_explained"]]
    assert sum(costs) + sum(row["request_explained"].values()) == row["tokens_read"]
    shown = ctxtrim(*words, "--dry-run", stdin=session(*events)).out.decode()
    mark = MARKS["reconstructed" if available() else "bounded"]
    assert f"(user): dropped, {mark}{costs[0]} tokens" in shown
    assert f"(assistant): dropped, {mark}{costs[1]} tokens" in shown


def test_an_unchanged_transcript_has_no_differences(ctxtrim: Run) -> None:
    ran = ctxtrim("trim", "--budget", "100000", *QUICK, stdin=line())
    assert "what changes" not in ran.out.decode()


def test_the_list_is_bounded_and_the_report_file_has_all(ctxtrim: Run, tmp_path: Path) -> None:
    data = conversation(steps(60, "result " * 100))
    words = ("truncate", "--max-age", "1", *QUICK)
    shown = ctxtrim(*words, stdin=data).out.decode()
    assert len(headers(shown)) == 40
    assert "… 18 messages more; --report FILE has all of them" in shown
    ran = ctxtrim(*words, "--report", tmp_path / "r.txt", stdin=data)
    assert ran.out == b""
    assert len(headers(ran.err)) == 40
    assert len(headers((tmp_path / "r.txt").read_text())) == 58


def test_machine_reports_and_quiet_runs_have_no_diff(ctxtrim: Run, tmp_path: Path) -> None:
    words = ("truncate", "--max-age", "1", *QUICK)
    ran = ctxtrim(*words, "--json", stdin=line())
    assert ran.out.startswith(b"{")
    assert not headers(ran.err)
    report = ("--report", tmp_path / "r.json")
    assert ctxtrim(*words, *report, "--quiet", stdin=line()).err == ""


def test_texts_cannot_control_the_terminal_and_lines_are_short(ctxtrim: Run) -> None:
    data = conversation(
        [user("go"), *step("a", "\x1b[31mred " * 500), *step("b", "new"), user("now")]
    )
    shown = ctxtrim("truncate", "--max-age", "0", *QUICK, stdin=data).out.decode()
    assert "\x1b" not in shown
    assert r"- \x1b[31mred" in shown
    assert all(len(row) < 500 for row in shown.splitlines())


def test_the_diff_is_coloured_on_a_terminal(ctxtrim: Run) -> None:
    words = ("truncate", "--max-age", "0", *QUICK, "--color", "always")
    shown = ctxtrim(
        *words, stdin=conversation(TALK), NO_COLOR="", TERM="xterm-256color"
    ).out.decode()
    assert "\x1b[31m- same" in shown
    assert "\x1b[36m@@ message 2" in shown
