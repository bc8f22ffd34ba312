"""Reports, verdicts and exit codes for scripts."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from conftest import FIXTURES, ROOT, Run
from samples import chat, line, long_chat, messages, orphan, oversized_chat

from ctxtrim.tokenizers.claude_ctok import available

QUICK = ("--tokenizer", "chars4")
TIGHT = (*QUICK, "--budget", "300")

TRANSCRIPT = {
    "path", "line", "index", "pointer", "id", "format", "model", "tokenizer", "exactness",
    "messages_read", "messages", "tokens_read", "tokens", "written", "by_role", "by_kind",
    "by_tool", "framing", "tools_schema", "reported", "budget", "fits", "steps", "findings",
}  # fmt: skip
STEP = [
    "stage",
    "tokens_before",
    "tokens_after",
    "messages_before",
    "messages_after",
    "changes",
    "findings",
]
CHANGE = ["message", "line", "action", "reason", "tokens_before", "tokens_after", "archived"]
TOTALS = [
    "transcripts",
    "messages_read",
    "messages",
    "tokens_read",
    "tokens",
    "overflowing",
    "malformed",
    "unreadable",
    "above_limits",
    "failing_strict",
]


def report(data: bytes) -> Any:
    """A JSON report, and nothing but a JSON report."""
    return json.loads(data)


@pytest.mark.parametrize("shown", [(), ("--report-format", "github")])
def test_a_text_report_in_a_file_has_the_tables_of_standard_output(
    ctxtrim: Run, tmp_path: Path, shown: tuple[str, ...]
) -> None:
    file = tmp_path / "report.txt"
    printed = ctxtrim("count", FIXTURES / "agent.jsonl", *QUICK).out.decode()
    ctxtrim("count", FIXTURES / "agent.jsonl", *QUICK, "--report", file, *shown)
    for title in ("tokens by role", "largest messages"):
        assert title in printed
        assert title in file.read_text()


def test_the_json_report_has_every_promised_key(ctxtrim: Run, tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    words = (
        "run",
        "-s",
        "truncate",
        "-s",
        "trim",
        "--budget",
        "1200",
        FIXTURES / "agent.jsonl",
        "--report",
        path,
    )
    assert ctxtrim(*words).code == 0
    value = report(path.read_bytes())
    assert (value["version"], value["ctxtrim"]) == (1, "0.1.0")
    assert [(stage["stage"], "settings" in stage) for stage in value["pipeline"]] == [
        ("truncate", True),
        ("trim", True),
    ]
    assert list(value["totals"]) == TOTALS
    rows = value["transcripts"]
    assert [row["line"] for row in rows] == [1, 2, 3]
    for row in rows:
        assert set(row) >= TRANSCRIPT
        assert sum(row["by_role"].values()) + row["framing"] + row["tools_schema"] == row["tokens"]
        assert sum(row["by_kind"].values()) == sum(row["by_role"].values())
        assert set(row["budget"]) >= {"context_window", "max_input", "reserve", "available"}
        assert (row["fits"], row["written"], row["index"], row["pointer"]) == (True, True, 0, None)
        for step in row["steps"]:
            assert set(STEP) <= set(step)
            for change in step["changes"]:
                assert set(CHANGE) <= set(change)
                assert change["action"] in ("truncated", "dropped")
                assert change["reason"]
        assert row["steps"][0]["tokens_before"] == row["tokens_read"]
        assert row["steps"][-1]["tokens_after"] == row["tokens"]
    assert {change["action"] for step in rows[0]["steps"] for change in step["changes"]} == {
        "truncated",
        "dropped",
    }
    for key in ("messages_read", "messages", "tokens_read", "tokens"):
        assert sum(row[key] for row in rows) == value["totals"][key]


def test_a_transcript_inside_a_document_is_found_by_line_and_pointer(ctxtrim: Run) -> None:
    source_lines = (FIXTURES / "document.json").read_text().splitlines()
    starts = [number for number, text in enumerate(source_lines, 1) if text == "  {"]
    rows = report(ctxtrim("count", *QUICK, "--json", FIXTURES / "document.json").out)["transcripts"]
    assert [row["pointer"] for row in rows] == ["[0]", "[1]", "[2]"]
    assert [row["id"] for row in rows] == ["stamps", "kite", "bread"]
    assert [row["line"] for row in rows] == starts


def test_an_event_per_line_file_names_the_line_of_each_message(ctxtrim: Run) -> None:
    words = ("trim", "--budget", "1000", "--dry-run", "--json", FIXTURES / "claude-code.jsonl")
    row = report(ctxtrim(*words).out)["transcripts"][0]
    text = (FIXTURES / "claude-code.jsonl").read_text().splitlines()
    changes = row["steps"][0]["changes"]
    # lines that are removed with their messages follow
    lines = [change["line"] for change in changes if change["message"] is not None]
    assert lines == sorted(lines)
    assert all(json.loads(text[number - 1])["type"] in ("user", "assistant") for number in lines)


def test_a_left_out_transcript_is_reported_with_its_protected_messages(
    ctxtrim: Run, tmp_path: Path
) -> None:
    words = ("trim", *TIGHT, "--report", tmp_path / "report.jsonl")
    assert ctxtrim(*words, stdin=line(chat()) + line(oversized_chat())).code == 3
    lines = [json.loads(line) for line in (tmp_path / "report.jsonl").read_bytes().splitlines()]
    assert [row.get("written") for row in lines] == [True, False, None]
    assert lines[2]["totals"]["overflowing"] == 1
    finding = lines[1]["findings"][0]
    assert (finding["code"], finding["severity"], finding["line"]) == ("overflow", "error", 2)
    assert finding["message"].startswith(
        f"Cannot fit request within context limit. Current: {lines[1]['tokens']} tokens"
    )
    assert lines[1]["tokens"] > lines[1]["budget"]["available"] == 300


def test_the_report_is_written_to_the_chosen_destination(ctxtrim: Run, tmp_path: Path) -> None:
    path, out = tmp_path / "r", tmp_path / "out.jsonl"
    words = ("truncate", *QUICK, FIXTURES / "seven-steps.jsonl")
    assert report(ctxtrim(*words, "-o", out, "--json").out)["totals"]["transcripts"] == 1
    assert (
        report(ctxtrim(*words, "-o", out, "--report", "-", "--report-format", "json").out)[
            "version"
        ]
        == 1
    )
    assert ctxtrim(*words, "--report", path).out == out.read_bytes()
    assert "seven-steps.jsonl:1" in path.read_text()
    assert ctxtrim(*words, "--report", path, "--report-format", "jsonl").code == 0
    assert [len(json.loads(line)) > 1 for line in path.read_bytes().splitlines()] == [True, True]


# stdin, options, exit code of check
VERDICTS = {
    "fits": (line(chat()), (), 0),
    "overflow": (line(oversized_chat()), ("--budget", "300"), 3),
    "malformed": (line(orphan()), (), 4),
    "a call that still waits": (line(messages()[:-1]), (), 0),
    "overflow before malformed": (line(orphan()) + line(oversized_chat()), ("--budget", "300"), 3),
    "incomplete before overflow": (line(oversized_chat()) + b"{cut\n", ("--budget", "300"), 1),
    "empty input": (b"", (), 1),
}


@pytest.mark.parametrize("name", VERDICTS)
def test_check_has_one_exit_code_for_each_verdict(ctxtrim: Run, name: str) -> None:
    data, options, code = VERDICTS[name]
    ran = ctxtrim("check", *QUICK, *options, stdin=data)
    assert ran.code == code


def test_check_as_a_stage_has_the_same_exit_code_and_passes_the_bytes_on(ctxtrim: Run) -> None:
    for name in ("a call that still waits", "malformed", "incomplete before overflow"):
        data, options, code = VERDICTS[name]
        ran = ctxtrim("run", "-s", "check", "--on-overflow", "keep", *QUICK, *options, stdin=data)
        assert (ran.code, ran.out) == (code, data)


def test_check_names_file_and_line_of_every_broken_pair(ctxtrim: Run, tmp_path: Path) -> None:
    session = (FIXTURES / "claude-code.jsonl").read_text().splitlines(keepends=True)
    call, answer = [number for number, event in enumerate(session) if '"toolu_04"' in event]
    session[answer] = session[answer].replace("toolu_04", "toolu_99")
    (tmp_path / "session.jsonl").write_text("".join(session))
    (tmp_path / "chat.jsonl").write_bytes(line(chat()) + line(orphan()))
    ran = ctxtrim("check", *QUICK, "session.jsonl", "chat.jsonl", cwd=tmp_path)
    shown = ran.out.decode() + ran.err
    assert ran.code == 4
    for error in (
        rf"session\.jsonl:{call + 1}: error: message \d+: call toolu_04 of Bash has no "
        r"result \[call-without-result\]",
        rf"session\.jsonl:{answer + 1}: error: message \d+: tool result toolu_99 answers "
        r"no call before it",
        r"chat\.jsonl:2: error: message 1: tool result call_0 answers no call before it",
        r"chat\.jsonl:2: error: message 2: call call_x of look has no result",
    ):
        assert re.search(error, shown), error


def test_count_reports_an_overflow_and_succeeds(ctxtrim: Run) -> None:
    ran = ctxtrim("count", *TIGHT, "--json", stdin=line(oversized_chat()))
    assert ran.code == 0
    assert report(ran.out)["transcripts"][0]["fits"] is False


def test_explain_shows_a_row_for_every_message(ctxtrim: Run) -> None:
    words = ("-s", "truncate", "-s", "trim", "--explain", *QUICK, "--budget", "600")
    ran = ctxtrim("run", *words, stdin=line(messages(9)))
    rows = [line.split(maxsplit=7) for line in ran.err.splitlines() if line[:7].strip().isdigit()]
    assert [int(row[0]) for row in rows] == list(range(19))
    assert {row[6] for row in rows} <= {"kept", "dropped", "truncated"}
    assert sum(row[6] == "dropped" for row in rows) == 19 - len(json.loads(ran.out)["messages"])
    assert all(row[7] for row in rows)
    as_json = report(ctxtrim("run", *words, "--dry-run", "--json", stdin=line(messages(9))).out)
    actions = [
        change["action"]
        for step in as_json["transcripts"][0]["steps"]
        for change in step["changes"]
    ]
    assert "kept" in actions


def test_a_shortened_message_is_not_reported_as_kept_by_a_later_stage(
    ctxtrim: Run,
) -> None:
    values = long_chat() + messages(1)[1:]
    values[-1]["content"] = "a word " * 4_000
    words = ("-s", "truncate:max-tokens=200", "-s", "trim", *QUICK, "--budget", "600", "--explain")
    ran = ctxtrim("run", *words, stdin=line(values))
    last = [line.split(maxsplit=7) for line in ran.err.splitlines() if line[:7].strip().isdigit()][
        -1
    ]
    assert "truncated" in json.loads(ran.out)["messages"][-1]["content"]
    assert (last[2], last[6]) == ("tool", "truncated")


@pytest.mark.parametrize("command", ["trim", "run"])
def test_quiet_explain_with_a_report_file_prints_only_the_report(
    ctxtrim: Run, tmp_path: Path, command: str
) -> None:
    stages = ("-s", "truncate") if command == "run" else ()
    words = (command, *stages, *QUICK, "--budget", "600", "--quiet", "--explain")
    ran = ctxtrim(*words, "--report", tmp_path / "report.json", stdin=line(messages(9)))
    assert (ran.code, ran.err) == (0, "")
    (row,) = report((tmp_path / "report.json").read_bytes())["transcripts"]
    assert len(row["messages_explained"]) == 19
    assert "messages of <stdin>:1: " in ctxtrim(*words, stdin=line(messages(9))).err


def test_quiet_prints_only_errors(ctxtrim: Run, tmp_path: Path) -> None:
    loud = ctxtrim("trim", *TIGHT, stdin=line(long_chat()))
    quiet = ctxtrim("trim", *TIGHT, "--quiet", stdin=line(long_chat()))
    assert 1 <= len(loud.err.splitlines()) <= 2
    assert (quiet.err, quiet.out) == ("", loud.out)
    stuck_ = ctxtrim("trim", *TIGHT, "--quiet", stdin=line(oversized_chat()))
    assert (stuck_.code, stuck_.out) == (3, b"")
    assert "Cannot fit request within context limit." in stuck_.err


@pytest.mark.parametrize("destination", ["-o", "--in-place"])
def test_summaries_and_errors_of_files_are_on_standard_error(
    ctxtrim: Run, tmp_path: Path, destination: str
) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(line(long_chat()) + line(oversized_chat()) + b"{cut\n")
    words = ("-o", tmp_path / "out.jsonl") if destination == "-o" else (destination,)
    ran = ctxtrim("trim", *TIGHT, path, *words)
    assert ran.code == 1
    assert f"{path}:2: error: Cannot fit request" in ran.err
    assert f"{path}:3: error: " in ran.err
    assert ran.err.splitlines()[-1].startswith("ctxtrim: trim: 2 transcripts")


def test_an_unknown_model_is_counted_with_a_note_that_lists_the_nearest_names(ctxtrim: Run) -> None:
    unknown = ("--model", "gpt-4oo", "--context-window", "128000")
    ran = ctxtrim("trim", *unknown, stdin=line(chat()))
    assert (ran.code, ran.out) == (0, line(chat()))
    assert "gpt-4oo" in ran.err
    assert "gpt-4o," in ran.err
    row = report(ctxtrim("count", *unknown, "--json", stdin=line(chat())).out)["transcripts"][0]
    assert row["exactness"] == "estimated"


def test_marks_show_the_accuracy_of_a_number(ctxtrim: Run) -> None:
    def row(*words: str) -> str:
        shown = ctxtrim(*words, stdin=line(chat())).out.decode().splitlines()
        return next(text for text in shown if "<stdin>:1 " in text)

    assert "≈" in row("check", "--verbose")
    assert "≈" in row("count")
    assert "≈" not in row("count", "--model", "gpt-4o")
    assert "≤" not in row("count", "--model", "gpt-4o")


@pytest.mark.parametrize(
    ("options", "mark", "text_mark"), [(QUICK, "≈", "≈"), (("--model", "gpt-5"), "≤", "")]
)
def test_every_token_count_is_shown_with_its_mark(
    ctxtrim: Run, options: tuple[str, ...], mark: str, text_mark: str
) -> None:
    """Limits have no mark; the sentence about an overflow is unchanged, and its number has a mark.

    The texts of results alone are exact if the tokenizer belongs to the model.
    """
    data = line(messages(9)) + line(messages(1) + oversized_chat())
    words = (
        "run",
        "-s",
        "truncate:max-tokens=32",
        "-s",
        "trim",
        *options,
        "--budget=300",
        "--explain",
    )
    error, shown = (
        ctxtrim(*words, stdin=data).err,
        ctxtrim("check", *options, "--budget=90", stdin=data).out.decode(),
    )
    current = re.findall(r"Current: (\d+) tokens", error + shown)
    counts = re.findall(r"Current is an? .*: (\S+) tokens", error + shown)
    assert counts == [f"{mark}{int(tokens):,}" for tokens in current]
    assert len(counts) == 3
    for pattern in (
        r"message \d+ \(.*\), line \d: (\S+) tokens",
        r"request overhead: (\S+) tokens",
        r"messages, (\S+) tokens",
        r"messages, (\S+) → \S+ tokens",
        r"messages, \S+ → (\S+) tokens",
        r"^messages of <stdin>:\d: (\S+) tokens",
    ):
        values = re.findall(pattern, error + shown, re.MULTILINE)
        assert values, pattern
        assert all(item.startswith(mark) for item in values), pattern
    values = re.findall(r"(\S+) > 32 tokens", error)
    assert values
    assert all(re.fullmatch(rf"{text_mark}[\d,]+", item) for item in values)


def test_the_hint_for_counting_claude_appears_once_and_only_in_reports(ctxtrim: Run) -> None:
    hint = "on Python 3.12 or newer ctok counts them"
    session = FIXTURES / "claude-code.jsonl"
    for words in (("count", session, session), ("check", "--verbose", session)):
        assert ctxtrim(*words).out.decode().count(hint) == (not available())
    assert hint not in ctxtrim("count", "--tokenizer", "claude-v3-bound", session).out.decode()
    assert hint not in ctxtrim("trim", session).err
    assert hint not in ctxtrim("count", FIXTURES / "agent.jsonl").out.decode()
    (row,) = report(ctxtrim("count", "--json", session).out)["transcripts"]
    assert [
        finding["severity"] for finding in row["findings"] if finding["code"] == "claude-bounded"
    ] == ["info"] * (not available())


@pytest.mark.parametrize("has_code", [False, True])
def test_a_local_folder_named_ctok_is_not_the_package(
    process: Run, tmp_path: Path, has_code: bool
) -> None:
    """An empty folder does not hide the package; a folder with code does, and the bound remains."""
    (tmp_path / "ctok").mkdir()
    if has_code:
        (tmp_path / "ctok" / "__init__.py").write_text("token_count = None\n")
    ran = process(
        "count", "--json", FIXTURES / "claude-code.jsonl", cwd=tmp_path, PYTHONPATH=str(ROOT)
    )
    assert ran.code == 0
    (row,) = report(ran.out)["transcripts"]
    is_reconstructed = available() and not has_code
    assert row["exactness"] == ("reconstructed" if is_reconstructed else "bounded")
    assert [finding["code"] for finding in row["findings"]].count("claude-bounded") == (
        not is_reconstructed
    )


# the error: the arguments, and the required content of the line
USAGE = {
    "stage unknown": (("run", "-s", "trin"), ("trin", "trim")),
    "setting unknown": (("run", "-s", "truncate:max-ag=5"), ("max-ag", "max-age")),
    "setting without value": (("run", "-s", "truncate:max-age"), ("key=value", "max-age")),
    "setting of the run": (("run", "-s", "truncate:budget=5"), ("whole run", "pass --budget")),
    "setting of the wrong type": (
        ("run", "-s", "truncate:max-age=old"),
        ("max-age", "whole number", "old"),
    ),
    "setting too small": (("run", "-s", "truncate:max-age=-1"), ("max-age", "0")),
    "settings no JSON": (("run", "-s", "truncate:{max-age: 5}"), ("JSON",)),
    "budget 0": (("trim", "--budget", "0"), ("--budget 0",)),
    "budget no number": (("trim", "--budget", "much"), ("--budget",)),
    "safety below 1": (("trim", "--safety", "0.5"), ("--safety 0.5",)),
    "safety no number": (("trim", "--safety", "nan"), ("--safety",)),
    "reserve above window": (
        ("trim", "--context-window", "8000", "--reserve", "8000"),
        ("8,000", "a smaller reserve"),
    ),
    "window 0": (("count", "--context-window", "0"), ("--context-window 0",)),
    "format unknown": (("count", "--format", "codex9"), ("codex9", "openai-chat")),
    "tokenizer unknown": (("count", "--tokenizer", "o201k"), ("o201k", "o200k_base")),
    "report format unknown": (("count", "--report-format", "xml"), ("xml", "jsonl")),
    "report ending unknown": (("count", "--report", "r.yaml"), ("r.yaml", ".sarif", ".md")),
    "JSON and transcript": (("truncate", "--json"), ("-o",)),
    "report and transcript": (("trim", "--report", "-"), ("-o",)),
    "report format and transcript": (("run", "--report-format", "json"), ("-o",)),
    "in place with stdin": (("trim", "--in-place"), ("--in-place",)),
    "in place and output": (("trim", "--in-place", "-o", "x", "a.jsonl"), ("--in-place", "-o")),
    "stdin twice": (("run", "-", "-"), ("twice",)),
    "option unknown": (("trim", "--bugdet", "5"), ("--bugdet",)),
    "command unknown": (("trin",), ("trin",)),
    "overflow choice unknown": (("trim", "--on-overflow", "cry"), ("--on-overflow", "keep")),
}


@pytest.mark.parametrize("name", USAGE)
def test_wrong_usage_exits_with_2_and_names_the_expected_value(
    ctxtrim: Run, tmp_path: Path, name: str
) -> None:
    words, named = USAGE[name]
    ran = ctxtrim(*words, stdin=line(chat()), cwd=tmp_path)
    assert (ran.code, ran.out) == (2, b"")
    assert all(word in ran.err.splitlines()[-1] for word in named), ran.err
    assert not list(tmp_path.iterdir())
