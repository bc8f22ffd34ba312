"""Commands as filters: bytes in on standard input, bytes out on standard output."""

import json
import select
import signal
import subprocess
import sys
import time
from pathlib import Path
from textwrap import dedent

import pytest
from conftest import COMMAND, ENVIRONMENT, FIXTURES, ROOT, Run, default_signals
from samples import chat, line, long_chat, oversized_chat, shortened

ALL = ("agent.jsonl", "claude-code.jsonl", "document.json", "messages.jsonl", "seven-steps.jsonl")
MANY = 2_000  # more conversations than format detection reads in advance
PATIENCE = 60  # seconds, after which a test would hang for ever


def test_run_without_stages_returns_the_same_bytes(ctxtrim: Run) -> None:
    for name in ("agent.jsonl", "claude-code.jsonl"):
        data = (FIXTURES / name).read_bytes()
        ran = ctxtrim("run", "--tokenizer", "chars4", stdin=data)
        assert (ran.code, ran.out) == (0, data)
        assert "nothing changes" in ran.err


@pytest.mark.parametrize("name", ALL)
def test_a_pipe_of_commands_equals_a_single_run(ctxtrim: Run, name: str) -> None:
    options = (
        "--model",
        "gpt-4o",
        "--budget",
        "900",
        *(() if name == "agent.jsonl" else ("--tokenizer", "chars4")),
    )
    first = ctxtrim("truncate", *options, stdin=(FIXTURES / name).read_bytes())
    piped = ctxtrim("trim", *options, stdin=first.out)
    at_once = ctxtrim(
        "run", *options, "-s", "truncate", "-s", "trim", "-s", "check", FIXTURES / name
    )
    assert (at_once.code, at_once.out) == (piped.code, piped.out)
    assert piped.out
    assert ctxtrim("check", *options, stdin=piped.out).code == at_once.code == 0


def test_a_line_that_fits_is_unchanged(ctxtrim: Run) -> None:
    lines = (FIXTURES / "agent.jsonl").read_bytes().splitlines(keepends=True)
    ran = ctxtrim("trim", "--budget", "1500", stdin=b"".join(lines))
    out = ran.out.splitlines(keepends=True)
    assert ran.code == 0
    assert len(out[0]) < len(lines[0])
    assert out[1:] == lines[1:]


def test_trim_and_truncate_need_only_a_file(ctxtrim: Run) -> None:
    path = FIXTURES / "seven-steps.jsonl"
    trimmed = ctxtrim("trim", path)
    truncated = ctxtrim("truncate", "--tokenizer", "chars4", "-", stdin=path.read_bytes())
    assert (trimmed.code, trimmed.out) == (0, path.read_bytes())
    assert truncated.code == 0
    assert (
        truncated.out.count(b"[content truncated - 6 steps ago]")
        == truncated.out.count(b"steps ago")
        == 1
    )


def test_an_option_of_no_stage_of_the_run_is_named(ctxtrim: Run) -> None:
    warning = "command line: warning: --max-age has no effect: it is a setting of"
    for stages, is_named in (("trim",), True), (("trim", "truncate"), False), ((), False):
        words = [word for stage in stages for word in ("-s", stage)]
        ran = ctxtrim("run", "--max-age", "2", *words, stdin=line())
        assert (ran.code, warning in ran.err) == (0, is_named)


@pytest.mark.parametrize(
    ("words", "warnings"),
    [
        ("trim --llm-command cat", ["--llm-command has no effect without --summarize"]),
        ("trim --llm-command cat --summarize", []),
        ("trim --summary-tokens 50", ["--summary-tokens has no effect without --summarize"]),
        (
            "run -s truncate -s trim --llm-model x",
            ["--llm-model has no effect without --summarize"],
        ),
        ("run -s count --llm-model x", ["--llm-model has no effect: it is a setting of cutoff,"]),
        ("run -s trim -s cutoff --llm-command cat", []),
        ("truncate --clock none --max-age 3", ["--max-age has no effect with --clock none"]),
        ("truncate --current-turn 3", ["--current-turn has no effect without --clock turns"]),
        ("truncate --clock turns --current-turn 3 --current-step 1", []),
        ("truncate --head-lines 2", ["--head-lines has no effect without --replace head"]),
        ("truncate --pointer x --tool bash:replace=head", []),
        (
            "truncate --replace stub --placeholder gone",
            ["--placeholder has no effect with --replace stub"],
        ),
        ("run --preset retention --pointer gone", []),
    ],
)
def test_an_option_without_an_effect_next_to_the_others_is_named(
    ctxtrim: Run, words: str, warnings: list[str]
) -> None:
    ran = ctxtrim(*words.split(), "--no-archive", stdin=line())
    named = [text for text in ran.err.splitlines() if "has no effect" in text]
    assert ran.code == 0
    assert len(named) == len(warnings)
    for text, warning in zip(named, warnings, strict=True):
        assert text.startswith(f"command line: warning: {warning}")


def test_stages_run_in_order_and_their_own_settings_take_precedence(ctxtrim: Run) -> None:
    words = ("--tokenizer", "chars4", "--max-age", "0", "--json", "--dry-run", "-s", "trim", "-s")
    pipeline = json.loads(ctxtrim("run", *words, "truncate:max-age=5", stdin=line()).out)[
        "pipeline"
    ]
    assert [stage["stage"] for stage in pipeline] == ["trim", "truncate"]
    assert pipeline[1]["settings"]["max-age"] == 5
    ran = ctxtrim(
        "run",
        *words[:4],
        "-s",
        'truncate:{"placeholder": "gone, {age} steps, (sic)"}',
        stdin=line(),
    )
    assert ran.out.count(b"gone, 6 steps, (sic)") == 1
    assert ran.out.count(b"gone, ") == 6


@pytest.mark.parametrize("on_overflow", ["fail", "keep"])
def test_an_overflow_is_left_out_or_passed_on_unchanged(ctxtrim: Run, on_overflow: str) -> None:
    data = line(chat()) + line(oversized_chat()) + line(long_chat())
    ran = ctxtrim(
        "trim", "--tokenizer", "chars4", "--budget", "300", "--on-overflow", on_overflow, stdin=data
    )
    out = ran.out.splitlines(keepends=True)
    assert ran.code == 3
    assert "<stdin>:2: error: Cannot fit request within context limit. Current: " in ran.err
    assert "Max: 300 tokens. Please narrow the scope or start a new session." in ran.err
    assert out[0] == line(chat())
    assert out[1:-1] == ([line(oversized_chat())] if on_overflow == "keep" else [])
    assert 0 < len(out[-1]) < len(line(long_chat()))


def test_a_filter_after_an_overflow_never_succeeds(ctxtrim: Run) -> None:
    first = ctxtrim("trim", "--tokenizer", "chars4", "--budget", "50", stdin=line(oversized_chat()))
    assert (first.code, first.out) == (3, b"")
    assert ctxtrim("check", stdin=first.out).code == 1
    assert ctxtrim("truncate", stdin=first.out).code == 1


def test_trim_never_exceeds_its_budget_in_the_reported_count(ctxtrim: Run) -> None:
    for options in (("--model", "claude-sonnet-4-5"), ("--tokenizer", "chars4")):
        out = ctxtrim("trim", *options, "--budget", "420", stdin=line(long_chat())).out
        row = json.loads(ctxtrim("check", *options, "--budget", "420", "--json", stdin=out).out)[
            "transcripts"
        ][0]
        assert row["tokens"] <= row["budget"]["available"] == 420


def test_safety_makes_the_budget_smaller_for_estimates_only(ctxtrim: Run, tmp_path: Path) -> None:
    words = ("trim", "--budget", "600", "--safety", "2")
    estimated = ctxtrim(*words, "--tokenizer", "chars4", stdin=line(long_chat())).out
    tokens = json.loads(ctxtrim("count", "--tokenizer", "chars4", "--json", stdin=estimated).out)[
        "totals"
    ]["tokens"]
    assert 0 < tokens <= 300
    exact = ctxtrim(
        *words, "--model", "gpt-4o", "-o", tmp_path / "out.jsonl", "--json", stdin=line(long_chat())
    ).out
    assert 300 < json.loads(exact)["totals"]["tokens"] <= 600


def test_a_reader_that_closes_the_pipe_early_is_not_an_error(tmp_path: Path) -> None:
    path = tmp_path / "many.jsonl"
    path.write_bytes(line(chat()) * MANY)
    for words in (("run", path), ("count", "--report-format", "jsonl", path)):
        command = [*COMMAND, *map(str, words), "--tokenizer", "chars4"]
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=ENVIRONMENT
        ) as process:
            assert process.stdout is not None
            assert process.stderr is not None
            assert process.stdout.read(10)
            process.stdout.close()
            assert process.stderr.read() == b""
            assert process.wait() == 0


def test_a_transcript_is_written_before_the_input_ends() -> None:
    command = [*COMMAND, "truncate", "--tokenizer", "chars4"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=ENVIRONMENT
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for _ in range(100):
            process.stdin.write(line(chat()))
        process.stdin.flush()
        is_out = bool(select.select([process.stdout], [], [], PATIENCE)[0])
        first = process.stdout.readline() if is_out else b""
        process.stdin.write(line())
        process.stdin.close()
        rest = process.stdout.read()
    assert first == line(chat())
    assert rest == line(chat()) * 99 + shortened(line())


def test_ctrl_c_ends_with_130_and_leaves_no_half_written_file(tmp_path: Path) -> None:
    (tmp_path / "out.jsonl").write_bytes(b"as it was\n")
    command = [
        *COMMAND,
        "truncate",
        "--tokenizer",
        "chars4",
        "-o",
        "out.jsonl",
        "--report",
        "report.json",
    ]
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=ENVIRONMENT,
        cwd=tmp_path,
        preexec_fn=default_signals,
    ) as process:
        assert process.stdin is not None
        assert process.stderr is not None
        process.stdin.write(line() * 100)
        process.stdin.flush()
        until = time.monotonic() + PATIENCE
        while (
            len(list(tmp_path.iterdir())) < 3 and time.monotonic() < until
        ):  # both files are being written
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE) == 130
        assert b"Traceback" not in process.stderr.read()
    assert [path.name for path in tmp_path.iterdir()] == ["out.jsonl"]
    assert (tmp_path / "out.jsonl").read_bytes() == b"as it was\n"


def _watched(event: str, *words: str) -> list[str]:
    """The first argument of every audit event with this prefix during a run."""
    code = f"""
        import runpy, sys
        seen = []
        def hook(name, args):
            if name.startswith({event!r}):
                seen.append(str(args[:1]))
        sys.addaudithook(hook)
        sys.argv = ["ctxtrim", *{words!r}]
        try:
            runpy.run_module("ctxtrim", run_name="__main__")
        except SystemExit as end:
            assert end.code == 0, end.code
        print(*seen, sep="\\n", file=sys.stderr)
    """
    done = subprocess.run(
        [sys.executable, "-c", dedent(code)], capture_output=True, env=ENVIRONMENT, cwd=ROOT
    )
    assert done.returncode == 0, done.stderr.decode()
    return done.stderr.decode().splitlines()


def test_no_command_opens_a_socket() -> None:
    for words in (("count",), ("run", "-s", "truncate", "-s", "trim", "--dry-run", "--json")):
        assert not [
            error
            for error in _watched("socket.", *words, "fixtures/agent.jsonl")
            if error.startswith("(")
        ]


def test_a_short_transcript_is_checked_without_a_vocabulary() -> None:
    def vocabularies(*words: str) -> bool:
        return any(
            "vocabularies" in error for error in _watched("open", *words, "fixtures/agent.jsonl")
        )

    assert not vocabularies("check")
    assert vocabularies("check", "--budget", "6000", "--json")


@pytest.mark.parametrize("redirection", [">/dev/full", ">&-", "<&-"])
@pytest.mark.parametrize("command", ["run", "count"])
def test_a_closed_or_full_stream_exits_with_1_and_one_clear_line(
    command: str, redirection: str
) -> None:
    words = [
        *COMMAND,
        command,
        "--tokenizer",
        "chars4",
        *(["fixtures/agent.jsonl"] if ">" in redirection else []),
    ]
    done = subprocess.run(
        ["sh", "-c", f'exec "$@" {redirection}', "sh", *words],
        stderr=subprocess.PIPE,
        env=ENVIRONMENT,
        cwd=ROOT,
    )
    assert b"Traceback" not in done.stderr
    assert done.returncode == 1
    assert b"standard " in done.stderr


def test_an_ascii_terminal_shows_the_report(ctxtrim: Run) -> None:
    ran = ctxtrim(
        "count",
        "fixtures/agent.jsonl",
        "--tokenizer",
        "chars4",
        PYTHONIOENCODING="ascii",
        PYTHONUTF8="0",
    )
    assert ran.code == 0
    assert b"fixtures/agent.jsonl:1" in ran.out


def test_an_ascii_terminal_shows_the_symbols_of_reports_and_messages(process: Run) -> None:
    ascii_only = {"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    ran = process("trim", "fixtures/agent.jsonl", "--budget", "2k", "--dry-run", **ascii_only)
    assert b"<=5,376 -> <=" in ran.out
    assert "45 messages, <=5,875 -> <=" in ran.err
    shares = process("count", "fixtures/agent.jsonl", **ascii_only).out
    assert b"%  ===" in shares
    assert b"\\u" not in shares


@pytest.mark.parametrize(
    "words",
    [
        ("count", "--json", "."),
        ("check", "--report-format", "junit", "."),
        ("check", "--report-format", "csv", "."),
        ("config", "show", "--json"),
    ],
)
def test_what_programs_read_is_utf_8_whatever_the_terminal_reads(
    process: Run, ctxtrim: Run, tmp_path: Path, words: tuple[str, ...]
) -> None:
    (tmp_path / "café ☃.jsonl").write_bytes(line())
    (tmp_path / "ctxtrim.toml").write_text('model = "gpt-4o"\nreserve = 7\n')
    ran = process(*words, cwd=tmp_path, PYTHONIOENCODING="latin-1", PYTHONUTF8="0")
    assert ran == ctxtrim(*words, cwd=tmp_path)


def test_a_minus_is_standard_output_for_the_transcript_too(ctxtrim: Run, tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(line())
    trim = ("truncate", "--max-age", "0", "--archive", "kept", "a.jsonl")
    ran = ctxtrim(*trim, "-o", "-", cwd=tmp_path)
    assert (ran.code, ran.out) == (0, ctxtrim(*trim, cwd=tmp_path).out)
    assert ctxtrim(*trim, "-o", "-", "--json", cwd=tmp_path).code == 2  # not two things at once
    restored = ctxtrim("restore", "-", "--archive", "kept", "-o", "-", stdin=ran.out, cwd=tmp_path)
    assert restored.out == line()
    assert not (tmp_path / "-").exists()


@pytest.mark.parametrize("ending", [".bz2", ".xz", ".ZIP"])
def test_an_ending_of_another_compression_is_refused(
    ctxtrim: Run, tmp_path: Path, ending: str
) -> None:
    (tmp_path / "a.jsonl").write_bytes(b'{"messages": [{"role": "user", "content": "hi"}]}\n')
    ran = ctxtrim("trim", "--budget", "100", "a.jsonl", "-o", f"b.jsonl{ending}", cwd=tmp_path)
    assert ran.code == 2
    assert f"{ending} files are not written; use the ending .gz or .zst" in ran.err
    assert not list(tmp_path.glob("b*"))
