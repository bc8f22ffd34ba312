from pathlib import Path

from conftest import Run
from samples import chat, line, oversized_chat


def test_every_transcript_has_a_row_and_no_text_has_markup(ctxtrim: Run, tmp_path: Path) -> None:
    (tmp_path / "a|_b_.jsonl").write_bytes(line(chat()) + line(oversized_chat()))
    words = ("check", "--tokenizer=chars4", "--budget=300", "a|_b_.jsonl", "--report", "r.md")
    assert ctxtrim(*words, cwd=tmp_path).code == 3
    text = (tmp_path / "r.md").read_text()
    rows = [item for item in text.splitlines() if item.startswith("|")]
    assert rows[2:] == [
        r"| fits | a\|\_b\_.jsonl:1 | at most 300 tokens |",
        r"| **overflow** | a\|\_b\_.jsonl:2 | ≈1,307 of 300 tokens |",
    ]
    assert r"- a\|\_b\_.jsonl:2: error: Cannot fit request" in text
    assert "  - message 0 (user), line 2: ≈1,304 tokens" in text
