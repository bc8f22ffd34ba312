import json
from pathlib import Path
from typing import Any

import pytest
from conftest import Run
from samples import chat, line, long_chat, messages, orphan, oversized_chat

TRIM = ("trim", "--tokenizer=chars4", "--budget=300")


def logged(ctxtrim: Run, folder: Path, data: bytes, *words: object) -> dict[str, Any]:
    ctxtrim(*words, "--log", "log", stdin=data, cwd=folder)
    return dict(json.loads((folder / "log").read_bytes().splitlines()[-1]))


def test_dropped_messages_are_counted_and_inserted_ones_are_not(
    ctxtrim: Run, tmp_path: Path
) -> None:
    repair = ("run", "-s", "repair:repair=synthesize")
    assert logged(ctxtrim, tmp_path, line(messages(2)[:-1] + chat()), *repair)["dropped"] == 0
    assert logged(ctxtrim, tmp_path, line(orphan()), *repair)["dropped"] == 1
    trimmed = ctxtrim(*TRIM, "--log", "log", stdin=line(long_chat()), cwd=tmp_path)
    entry = json.loads((tmp_path / "log").read_bytes().splitlines()[-1])
    assert entry["dropped"] == 24 - len(json.loads(trimmed.out)["messages"]) > 0


@pytest.mark.parametrize(
    ("words", "talk", "is_written"),
    [
        (TRIM, chat(), True),
        (TRIM, oversized_chat(), False),
        ((*TRIM, "--dry-run"), long_chat(), False),
        (("count",), chat(), False),
    ],
)
def test_the_log_says_whether_the_transcript_was_written(
    ctxtrim: Run, tmp_path: Path, words: tuple[str, ...], talk: Any, is_written: bool
) -> None:
    assert logged(ctxtrim, tmp_path, line(talk), *words)["written"] is is_written


def test_a_transcript_that_was_left_out_is_not_trimmed(ctxtrim: Run, tmp_path: Path) -> None:
    talk = [*long_chat(), *oversized_chat()]
    entry = logged(ctxtrim, tmp_path, line(talk), *TRIM)
    assert entry["max"] < entry["final"] < entry["original"]
    assert (entry["written"], entry["trimmed"], entry["dropped"]) == (False, False, 0)
