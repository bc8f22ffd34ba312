"""Other processes find the lines of a piece in its file."""

import gzip
import json
import pickle
from pathlib import Path

import pytest
from conftest import run_process

from ctxtrim.cli.workers.pieces import LinesPiece, PlacedLines
from ctxtrim.errors import InputError

TALK = {"messages": [{"role": "user", "content": "When is high tide?"}]}
LINES = tuple(
    json.dumps(TALK | {"id": number}).encode() + end
    for number, end in enumerate((b"\n", b"\r\n", b"\n", b""))
)


def sent(path: Path, start: int | None) -> object:
    """What another process gets of the lines after the first."""
    piece = LinesPiece(str(path), "openai-chat", tuple(enumerate(LINES, 1))[1:], start)
    return pickle.loads(pickle.dumps(piece))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    file = tmp_path / "talks.jsonl"
    file.write_bytes(b"".join(LINES))
    return file


def test_lines_are_read_at_their_place(path: Path) -> None:
    placed = sent(path, len(LINES[0]))
    assert isinstance(placed, PlacedLines)
    assert placed.read() == sent(path, None)


@pytest.mark.parametrize("data", [b"", b"\n" + b"".join(LINES), b"".join(LINES[:-1])])
def test_other_lines_at_the_place_are_refused(path: Path, data: bytes) -> None:
    placed = sent(path, len(LINES[0]))
    path.write_bytes(data)
    assert isinstance(placed, PlacedLines)
    with pytest.raises(InputError):
        placed.read()


@pytest.mark.parametrize("start", [b"", b"\xef\xbb\xbf", b"\n \n"])
@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_no_line_is_lost(tmp_path: Path, start: bytes, pack: type) -> None:
    path = tmp_path / "talks.jsonl"
    long = json.dumps(TALK | {"notes": "a" * 8000}).encode() + b"\n"  # for pieces of few lines
    many = (b"".join(LINES[:3]) + long) * 400
    path.write_bytes(pack(start + many + LINES[3]))
    expected, found = (run_process("count", path, "--json", "--jobs", jobs) for jobs in (1, 3))
    assert found == expected
    assert json.loads(found.out)["totals"]["transcripts"] == 1601
