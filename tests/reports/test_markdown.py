from pathlib import Path

import pytest
from conftest import Run
from samples import chat, line, orphan, oversized_chat


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


@pytest.mark.parametrize("name", ["1. x.jsonl", "23) x.jsonl", "- x.jsonl", "+ x.jsonl"])
def test_a_file_name_begins_no_list(ctxtrim: Run, tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(line(orphan()))
    assert ctxtrim("check", f"./{name}", "--report", "r.md", cwd=tmp_path).code == 4
    assert ctxtrim("check", ".", "--report", "r.md", cwd=tmp_path).code == 4
    items = [item for item in (tmp_path / "r.md").read_text().splitlines() if item[:2] == "- "]
    mark = name.partition(" ")[0]
    assert len(items) == 2
    assert all(item.startswith(f"- {mark[:-1]}\\{mark[-1]} x.jsonl:1: error") for item in items)
