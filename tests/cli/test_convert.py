"""The command convert: outputs, reports, exit codes."""

import json
from pathlib import Path

import pytest
from conftest import Run

from ctxtrim.formats.conversion import TARGETS

SYSTEM_ONLY = b'{"messages": [{"role": "system", "content": "Be brief."}]}\n'
TALK = b'{"model": "gpt-4o", "messages": [{"role": "user", "content": "Is berth 2 free?"}]}\n'
LOSSY = json.dumps({"messages": [
    {"role": "user", "content": "Is berth 2 free?"},
    {"role": "assistant", "content": None, "audio": {"id": "audio_1"}},
    {"role": "user", "content": "Is it?"},
]}).encode() + b"\n"  # fmt: skip
THINKING = json.dumps({"type": "thinking", "thinking": "Hm.", "signature": "c2ln"})
THOUGHT = (
    '{"messages": [{"role": "user", "content": "Is berth 2 free?"}, {"role": "assistant", '
    f'"content": [{THINKING}, {{"type": "text", "text": "Yes."}}]}}]}}\n'
).encode()


@pytest.mark.parametrize("to", TARGETS)
def test_every_transcript_is_one_line(ctxtrim: Run, to: str) -> None:
    ran = ctxtrim("convert", "--to", to, stdin=TALK + TALK)
    assert ran.code == 0
    assert [bool(json.loads(line)) for line in ran.out.splitlines()] == [True, True]
    assert f"converted to {to}: 2 transcripts" in ran.err


def test_the_model_can_be_set(ctxtrim: Run) -> None:
    assert json.loads(ctxtrim("convert", "--to=anthropic", stdin=TALK).out)["model"] == "gpt-4o"
    named = ctxtrim("convert", "--to=anthropic", "--model=claude-opus-4-6", stdin=TALK)
    assert json.loads(named.out)["model"] == "claude-opus-4-6"


def test_a_request_that_names_no_model_is_counted_for_that_of_the_transcript(
    ctxtrim: Run, tmp_path: Path
) -> None:
    """Requests of Gemini have the model in their address."""
    report = tmp_path / "r.json"
    assert ctxtrim("convert", "--to", "gemini", "--report", report, stdin=TALK).code == 0
    (row,) = json.loads(report.read_text())["transcripts"]
    assert (row["model"], row["tokenizer"]) == ("gpt-4o", "o200k_base")


def test_recorded_usage_counts_no_request(ctxtrim: Run) -> None:
    ran = ctxtrim("convert", "--to", "gemini", "--tokenizer", "usage", stdin=TALK)
    assert (ran.code, ran.out) == (2, b"")
    assert "--tokenizer usage: recorded usage cannot be used for convert" in ran.err


def test_documents_share_standard_output(ctxtrim: Run) -> None:
    files = ("fixtures/document.json", "fixtures/opencode.json", "fixtures/kimi.jsonl")
    ran = ctxtrim("convert", "--to", "openai-chat", *files)
    assert ran.code == 0
    assert all(json.loads(line)["messages"] for line in ran.out.splitlines())
    checked = ctxtrim("check", "--profile", "openai", "--as", "request", stdin=ran.out)
    assert checked.code == 0


def test_a_folder_of_outputs_has_json_lines(ctxtrim: Run, tmp_path: Path) -> None:
    files = ("fixtures/document.json", "fixtures/agent.jsonl")
    assert ctxtrim("convert", "--to", "gemini", *files, "-o", tmp_path / "out").code == 0
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "agent.jsonl", "document.jsonl"
    ]  # fmt: skip
    lines = (tmp_path / "out" / "document.jsonl").read_text().splitlines()
    assert [list(json.loads(line))[-1] for line in lines] == ["contents", "contents", "contents"]


def test_losses_are_in_one_line_for_each_file_and_in_the_report(
    ctxtrim: Run, tmp_path: Path
) -> None:
    report = ("--report", tmp_path / "report.json")
    ran = ctxtrim("convert", "--to", "openai-responses", *report, stdin=THOUGHT + THOUGHT)
    assert ran.err.splitlines()[0] == "<stdin>: info: lost: 2 reasoning texts"
    value = json.loads((tmp_path / "report.json").read_text())
    assert value["losses"] == {"lost": {"reasoning text": 2}}
    (finding,) = [each for each in value["transcripts"][1]["findings"] if each["code"] == "lost"]
    assert (finding["line"], finding["message_index"], finding["severity"]) == (2, 1, "warning")
    assert finding["kind"] == "reasoning text"


def test_the_text_report_lists_every_loss(ctxtrim: Run, tmp_path: Path) -> None:
    report = tmp_path / "report.txt"
    ctxtrim("convert", "--to=openai-responses", "--report", report, stdin=THOUGHT + THOUGHT)
    text = report.read_text()
    assert text.count("message 1: reasoning without a signature") == 2
    assert "lost  reasoning text       2" in text


def test_a_dry_run_reports_and_writes_nothing(ctxtrim: Run, tmp_path: Path) -> None:
    ran = ctxtrim("convert", "--to=gemini", "--dry-run", "--json", "-o", tmp_path / "x", stdin=TALK)
    assert json.loads(ran.out)["totals"]["transcripts"] == 1
    assert not (tmp_path / "x").exists()


@pytest.mark.parametrize("data", [b"\xff\xfe\xfd\n", b"", b'{"tide": "low"}\n'])
def test_an_input_without_a_transcript_leaves_the_output_as_it_was(
    ctxtrim: Run, tmp_path: Path, data: bytes
) -> None:
    output = tmp_path / "requests.jsonl"
    assert ctxtrim("convert", "--to=gemini", "-o", output, stdin=data).code == 1
    assert not output.exists()
    output.write_bytes(TALK)
    assert ctxtrim("convert", "--to=gemini", "-o", output, stdin=data).code == 1
    assert output.read_bytes() == TALK


def test_an_empty_input_that_is_accepted_gives_an_empty_output(
    ctxtrim: Run, tmp_path: Path
) -> None:
    output = tmp_path / "requests.jsonl"
    ran = ctxtrim("convert", "--to=gemini", "--allow-empty", "-o", output, stdin=b"")
    assert (ran.code, output.read_bytes()) == (0, b"")


def test_a_transcript_that_cannot_be_converted_is_left_out(ctxtrim: Run, tmp_path: Path) -> None:
    ran = ctxtrim("convert", "--to", "anthropic", stdin=TALK + SYSTEM_ONLY + TALK)
    assert (ran.code, len(ran.out.splitlines())) == (1, 2)
    assert "<stdin>:2: error: cannot be converted: no user or assistant message" in ran.err
    output = tmp_path / "out.jsonl"
    assert ctxtrim("convert", "--to=anthropic", "-o", output, stdin=SYSTEM_ONLY).code == 1
    assert not output.exists()


def test_the_totals_are_those_of_the_requests(ctxtrim: Run, tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    ran = ctxtrim("convert", "--to", "openai-responses", "--report", report, stdin=LOSSY)
    counted = json.loads(ctxtrim("count", "--json", stdin=ran.out).out)["transcripts"][0]
    (row,) = json.loads(report.read_text())["transcripts"]
    assert (row["messages_read"], row["messages"]) == (3, 2)
    assert row["tokens"] == counted["tokens"] < row["tokens_read"]
    assert f"3 → 2 messages, ≈{row['tokens_read']:,} → ≈{row['tokens']:,} tokens" in ran.err


def test_messages_of_unknown_roles_and_broken_lines_are_lost(ctxtrim: Run) -> None:
    odd = b'{"messages": [{"role": "user", "content": "Ahoy."}, {"role": "gull", "content": "x"}]}'
    ran = ctxtrim("convert", "--to", "openai-chat", stdin=odd + b"\nbroken{\n" + TALK)
    assert ran.code == 1
    assert "kept unchanged" not in ran.err
    assert "lost: 1 message of an unknown role" in ran.err
    assert "the line is lost and not counted" in ran.err


def test_one_message_is_singular(ctxtrim: Run) -> None:
    assert "1 transcript, 1 message, " in ctxtrim("convert", "--to=openai-chat", stdin=TALK).err


def test_a_missing_or_unknown_target_and_options_without_effect_are_refused(ctxtrim: Run) -> None:
    missing = ctxtrim("convert", stdin=TALK)
    assert (missing.code, missing.out) == (2, b"")
    assert "--to is missing; expected one of openai-chat, anthropic, gemini" in missing.err
    unknown = ctxtrim("convert", "--to", "cohere", stdin=TALK)
    assert (unknown.code, unknown.out) == (2, b"")
    assert "--to cohere: expected one of openai-chat, anthropic" in unknown.err
    assert ctxtrim("convert", "--to=gemini", "--in-place", "fixtures/agent.jsonl").code == 2
    report = ctxtrim("convert", "--to=gemini", "--json", stdin=TALK)
    assert report.code == 2
    assert ctxtrim("convert", "--to=gemini", stdin=b"no JSON\n").code == 1


def test_a_conversion_stores_nothing(ctxtrim: Run, tmp_path: Path) -> None:
    environment = {"CTXTRIM_ARCHIVE": str(tmp_path / "a"), "CTXTRIM_EVENTS": str(tmp_path / "e")}
    assert ctxtrim("convert", "--to", "gemini", stdin=TALK, **environment).code == 0
    assert [*tmp_path.iterdir()] == []


def test_reasoning_can_be_dropped(ctxtrim: Run) -> None:
    ran = ctxtrim("convert", "--to=anthropic", "--reasoning=drop", stdin=THOUGHT)
    assert (ran.code, b"thinking" in ran.out) == (0, False)
