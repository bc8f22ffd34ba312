import gzip
import re
from pathlib import Path

import pytest
from conftest import Run
from samples import chat, line, messages, orphan, oversized_chat

WORDS = ("check", "--tokenizer=chars4", "--budget=300", "--report-format=github")


def test_annotations_have_file_line_and_title_and_are_one_line_each(
    ctxtrim: Run, tmp_path: Path
) -> None:
    (tmp_path / "50%, a:b.jsonl").write_bytes(line(oversized_chat()) + line(orphan()))
    ran = ctxtrim(*WORDS, "50%, a:b.jsonl", cwd=tmp_path)
    *annotations, total = ran.out.decode().splitlines()
    assert ran.code == 3
    file = "file=50%25%2C a%3Ab.jsonl"
    for shown, number, code in zip(
        annotations, (1, 2, 2), ("overflow", "tool-result", "call-without"), strict=True
    ):
        assert re.match(rf"::error {file},line={number},title=ctxtrim%3A {code}", shown)
    assert "%0A    " not in annotations[0]
    assert "%0Amessage 0 (user), line 1: ≈1,304 tokens%0A" in annotations[0]
    assert total.startswith("2 transcripts, ")


def test_a_transcript_cannot_add_a_workflow_command(ctxtrim: Run) -> None:
    data = line(orphan(), '"id": "x"').replace(b"call_0", b"call\\n::set-env name=A::B%0A")
    shown = ctxtrim(*WORDS, stdin=data).out.decode()
    assert "\n::set-env" not in shown
    assert "%250A" in shown


def test_the_summary_of_the_step_is_appended_for_this_report_only(
    ctxtrim: Run, tmp_path: Path
) -> None:
    summary = tmp_path / "summary.md"
    summary.write_text("of another program\n")
    data = line(oversized_chat()) + line(orphan())
    environment = {"GITHUB_STEP_SUMMARY": str(summary)}
    ctxtrim("check", "--budget=300", stdin=data, **environment)
    assert summary.read_text() == "of another program\n"
    ctxtrim(*WORDS, stdin=data, **environment)
    first, *others = summary.read_text().splitlines()
    assert first == "of another program"
    assert [item for item in others if item.startswith("| **")] == [
        "| **overflow** | \\<stdin\\>:1 | ≈1,307 of 300 tokens |",
        "| **malformed** | \\<stdin\\>:2 | at most 300 tokens |",
    ]


@pytest.mark.parametrize(
    ("name", "start"),
    [("r.sarif", b'{"version": "2.1.0"'), ("r.json", b"{"), ("r.csv.gz", b"path,"), ("r", b"for")],
)
def test_a_file_next_to_the_annotations_has_the_format_of_its_ending(
    ctxtrim: Run, tmp_path: Path, name: str, start: bytes
) -> None:
    (tmp_path / "a.jsonl").write_bytes(line(chat()) + line(orphan()))
    environment = {"GITHUB_STEP_SUMMARY": "summary.md"}
    annotated = ctxtrim(*WORDS, "a.jsonl", cwd=tmp_path, **environment)
    summary = (tmp_path / "summary.md").read_bytes()
    (tmp_path / "summary.md").unlink()
    ran = ctxtrim(*WORDS, "--report", name, "a.jsonl", cwd=tmp_path, **environment)
    assert ran == annotated and ran.out.startswith(b"::error file=a.jsonl,line=2,")
    assert (tmp_path / "summary.md").read_bytes() == summary
    file = tmp_path / name
    written = gzip.decompress(file.read_bytes()) if name.endswith(".gz") else file.read_bytes()
    assert written.startswith(start) and b"::error" not in written
    assert written.count(b"a.jsonl") > 1


def test_annotations_are_never_between_transcripts(ctxtrim: Run, tmp_path: Path) -> None:
    words = ("trim", *WORDS[1:], "--report", "r.sarif")
    ran = ctxtrim(*words, stdin=line(chat()), cwd=tmp_path)
    assert (ran.code, ran.out, list(tmp_path.iterdir())) == (2, b"", [])
    assert "standard output is used for the transcript" in ran.err


def test_a_summary_that_cannot_be_written_is_an_error_next_to_the_report(
    ctxtrim: Run, tmp_path: Path
) -> None:
    file = tmp_path / "r.csv"
    words = (*WORDS, "--report", file)
    ran = ctxtrim(*words, stdin=line(orphan()), GITHUB_STEP_SUMMARY=str(tmp_path))
    shown = ran.out.decode()
    assert ran.code == 1 and "title=ctxtrim%3A not-written::cannot be written: " in shown
    assert shown.count("1 transcript, ") == 1
    assert ",error,cannot be written: " in file.read_text()


def test_a_file_name_is_no_workflow_command(ctxtrim: Run, tmp_path: Path) -> None:
    name = "::stop-commands::x ##[add-mask]y.jsonl"
    (tmp_path / name).write_bytes(line(orphan()) + b'{"messages": [{"ro\n')
    (tmp_path / "ctxtrim.toml").write_text('llm-command = "cat"\n')
    for words in (WORDS, WORDS[:-1], (*WORDS[:-1], "--report", "r")):
        ran = ctxtrim(*words, name, cwd=tmp_path, GITHUB_ACTIONS="true")
        commands = [item for item in ran.out.decode().splitlines() if item.startswith("::")]
        assert all(item.startswith(("::error file=", "::warning file=")) for item in commands)
        assert bool(commands) is (words is WORDS)
        others = [item for item in ran.out.decode().splitlines() if item not in commands]
        for item in (*others, *ran.err.splitlines()):
            assert not item.lstrip().startswith("::") and "##[" not in item
        assert ran.code == 1 and (ran.err == "") is (words is WORDS)
    assert r"\x3a:stop-commands::x \x23#[add-mask]y.jsonl:2: error: " in ran.err
    assert name in ctxtrim(*WORDS[:-1], name, cwd=tmp_path).err


def test_quiet_leaves_out_warnings_and_totals(ctxtrim: Run, tmp_path: Path) -> None:
    (tmp_path / "ctxtrim.toml").write_text('llm-command = "cat"\n')
    (tmp_path / "a.jsonl").write_bytes(line(messages(2)[:-1]) + line(orphan()))
    words = ("check", "--report-format=github", "--model=gpt-4o", "a.jsonl")
    loud, quiet = (ctxtrim(*words, *more, cwd=tmp_path) for more in ((), ("--quiet",)))
    shown = loud.out.decode().splitlines()
    assert "::warning " in loud.out.decode() and shown[-1].startswith("2 transcripts, ")
    assert quiet.out.decode().splitlines() == [item for item in shown if item[:7] == "::error"]
    assert (loud.code, quiet.code, loud.err, quiet.err) == (4, 4, "", "")


def test_explained_messages_are_on_standard_error(ctxtrim: Run) -> None:
    ran, other = (
        ctxtrim("check", "--explain", f"--report-format={form}", stdin=line(chat()))
        for form in ("github", "json")
    )
    assert ran.err == other.err and "messages of <stdin>:1" in ran.err
    assert ran.out.decode().startswith("1 transcript, ")


def test_the_summary_is_as_long_as_github_accepts(ctxtrim: Run, tmp_path: Path) -> None:
    summary, most = tmp_path / "summary.md", 1 << 20
    call = {"id": "€" * 3000, "type": "function", "function": {"name": "f", "arguments": "{}"}}
    broken = [{"role": "assistant", "tool_calls": [call]}, {"role": "user", "content": "And?"}]
    environment = {"GITHUB_STEP_SUMMARY": str(summary)}
    sizes = (0, most - 50_000, most - 100, most + 1)
    for size in sizes:
        summary.write_bytes(b"x" * size)
        ctxtrim(*WORDS, stdin=line(broken) * 300, **environment)
        written = summary.read_bytes()[size:]
        if size < most - 100:
            last = written.decode().splitlines()[-1]
            assert most - 10_000 < size + len(written) <= most
            number = int(re.fullmatch(r"… and (\d+) more", last)[1])  # type: ignore[index]
            whole = written.decode().count("has no result")
            assert number == 300 - whole > 0
        else:
            assert written == b""
