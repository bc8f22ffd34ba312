"""The log of prompts of Gemini CLI is counted, and never edited."""

from pathlib import Path

from conftest import Run
from harness import read, run

FIXTURE = Path("fixtures/gemini-prompts.json")


def test_the_prompts_of_each_session_are_a_transcript() -> None:
    data = FIXTURE.read_bytes()
    chunk = read(data)[0]
    assert chunk.format is not None
    assert chunk.format.name == "gemini-prompts"
    assert [
        (transcript.id, [message.parts[0].text for message in transcript.messages])
        for transcript in chunk.transcripts
    ] == [("s-1", ["Which lights are out?", "/clear"]), ("s-2", ["Order two bulbs."])]
    assert run(data).data == data


def test_an_edit_is_refused_with_the_reason(ctxtrim: Run, tmp_path: Path) -> None:
    log = tmp_path / "logs.json"
    log.write_bytes(FIXTURE.read_bytes().replace(b"Which", b"Which " + b"old " * 500))
    before = log.read_bytes()
    ran = ctxtrim("trim", "--budget", "60", "--in-place", log)
    assert ran.code == 1
    errors = [line for line in ran.err.splitlines() if "error:" in line]
    assert all("counted, never edited" in line for line in errors)
    assert len(errors) == 2
    assert "Traceback" not in ran.err
    assert log.read_bytes() == before
