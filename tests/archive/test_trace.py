"""Originals that are missing, damaged, of older versions, or shortened by several runs."""

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from builders import conversation, step, user
from conftest import Run
from old_archives import old_archive, records, write_records
from samples import chat, line, shortened, step_text

QUICK = ("--tokenizer", "chars4", "--quiet")
SPILL = ("truncate", "--spill-above", "100", *QUICK)


def only(folder: Path) -> Path:
    """The one pack of an archive."""
    (pack,) = (folder / "packs").iterdir()
    return pack


def test_verify_reports_a_missing_separate_file(ctxtrim: Run, tmp_path: Path) -> None:
    archive = ("--archive", tmp_path / "a")
    ctxtrim(*SPILL, *archive, stdin=line())
    assert ctxtrim("trace", "verify", *archive).code == 0
    file = next(tmp_path.glob("a/objects/??/*"))
    file.unlink()
    ran = ctxtrim("trace", "verify", *archive)
    assert (ran.code, f"the original {file.parent.name}{file.name} is missing" in ran.err) == (
        1,
        True,
    )


@pytest.mark.parametrize("added", [b"", line(chat())], ids=["same file", "with appended lines"])
def test_a_result_that_two_runs_shortened_has_one_original(
    ctxtrim: Run, tmp_path: Path, added: bytes
) -> None:
    archive = ("--archive", tmp_path / "a")
    placeholder = ("--placeholder", "[see the notes]", "--max-age", "1")
    first = ctxtrim("truncate", *placeholder, *QUICK, *archive, stdin=line()).out
    second = ctxtrim("trim", "--budget", "300", *QUICK, *archive, stdin=first + added).out
    ctxtrim("trim", "--budget", "100", *QUICK, *archive, stdin=second)
    assert ctxtrim("trace", "list", *archive).out.count(b"call_2") > 1
    ran = ctxtrim("trace", "get", "call_2", *archive)
    assert (ran.code, ran.out) == (0, step_text(2).encode())


def test_a_damaged_pack_leaves_the_others_in_the_list(ctxtrim: Run, tmp_path: Path) -> None:
    archive = ("--archive", tmp_path / "a")
    ctxtrim("truncate", *QUICK, *archive, stdin=line())
    damaged = only(tmp_path / "a")
    ctxtrim("truncate", "--max-age", "1", *QUICK, *archive, stdin=line())
    damaged.write_bytes(b"not a pack")
    ran = ctxtrim("trace", "list", *archive)
    assert (ran.code, b"call_5" in ran.out) == (1, True)
    assert f"{damaged}: the pack has been changed" in ran.err
    assert ctxtrim("trace", "get", "call_5", *archive).out == step_text(5).encode()
    assert "the pack has been changed" in ctxtrim("trace", "get", "call_9", *archive).err


def test_runs_of_a_version_1_archive_are_listed(ctxtrim: Run, tmp_path: Path) -> None:
    archive = ("--archive", tmp_path / "a")
    old_archive(tmp_path / "a", line(), shortened(line()), {"call_1": step_text(1)})
    ctxtrim("truncate", *QUICK, *archive, stdin=line(chat()) + line())
    old, new = json.loads(ctxtrim("archive", "list", "--json", *archive).out)["runs"]
    assert (old["path"], old["pipeline"], old["bytes"]) == ("t.jsonl", "truncate", None)
    assert new["bytes"] > 0
    table = ctxtrim("archive", "list", *archive).out.decode().splitlines()
    assert table[1].split() == ["2025-01-31", "12:00", "truncate", "-", "t.jsonl"]
    assert table[-1].startswith("2 runs, ")


@pytest.mark.parametrize("command", [("archive", "list"), ("trace", "list"), ("restore", "-")])
def test_an_index_that_is_not_utf8_is_refused(
    ctxtrim: Run, tmp_path: Path, command: tuple[str, ...]
) -> None:
    old_archive(tmp_path / "a", line(), shortened(line()), {"call_1": step_text(1)})
    with sqlite3.connect(tmp_path / "a" / "index.sqlite3") as index:
        for table in ("runs", "traces"):
            index.execute(f"UPDATE {table} SET path = ?", (b"\xff\xfe",))
    index.close()
    ran = ctxtrim(*command, "--archive", tmp_path / "a", stdin=shortened(line()))
    assert (ran.code, ran.out) == (1, b"")
    assert "the index of the archive cannot be used" in ran.err


CRAFTED: list[tuple[int, dict[str, Any]]] = [
    (0, {"size": 10**30}),
    (0, {"size": -1}),
    (0, {"size": None}),
    (0, {"time": 5}),
    (0, {"path": [1]}),
    (1, {"recipe": [[1, 2, 3]]}),
    (1, {"recipe": ["x"]}),
    (1, {"recipe": [[None, 1]]}),
    (1, {"recipe": "x"}),
    (1, {"traces": [["call_1", None, "trim", 1, [10**30]]]}),
    (1, {"traces": [["call_1", None, "trim", 1, [-1]]]}),
    (1, {"traces": [["call_1", None, "trim", 1, ["x"]]]}),
    (1, {"traces": [[{}, [], None, "x", [0]]]}),
    (1, {"traces": [["call_1"]]}),
    (1, {"objects": 1}),
    (1, {"objects": [1]}),
]


@pytest.mark.parametrize(("number", "values"), CRAFTED, ids=lambda value: json.dumps(value)[:40])
def test_a_crafted_pack_is_reported_as_changed(
    ctxtrim: Run, tmp_path: Path, number: int, values: dict[str, Any]
) -> None:
    archive = ("--archive", tmp_path / "a")
    out = ctxtrim("truncate", *QUICK, *archive, stdin=line()).out
    pack = only(tmp_path / "a")
    found = records(pack)
    head, data = found[number]
    found[number] = (head | values, data)
    write_records(pack, found)
    commands = [("trace", "list"), ("trace", "verify"), ("trace", "get", "call_1")]
    if number == 0:
        commands += [("restore", "-"), ("archive", "list")]
    for words in commands:
        ran = ctxtrim(*words, *archive, stdin=out)
        assert ran.code == 1, words
        assert f"{pack}: the pack has been changed" in ran.err


@pytest.mark.parametrize("name", ["a\x1bb", r"a\x1bb"], ids=["as it is", "as listed"])
def test_an_original_is_found_by_its_id_as_it_is_or_as_listed(
    ctxtrim: Run, tmp_path: Path, name: str
) -> None:
    archive = ("--archive", tmp_path / "a")
    talk = [user("go"), *step("a\x1bb", step_text(1)), *step("c", "short")]
    ctxtrim("truncate", "--max-age", "0", *QUICK, *archive, stdin=conversation(talk))
    assert rb"a\x1bb" in ctxtrim("trace", "list", *archive).out
    ran = ctxtrim("trace", "get", name, *archive)
    assert (ran.code, ran.out) == (0, step_text(1).encode())


def test_the_original_of_a_result_has_all_its_text_blocks(ctxtrim: Run, tmp_path: Path) -> None:
    archive = ("--archive", tmp_path / "a")
    blocks = [{"type": "text", "text": text} for text in ("alpha\n" * 100, "beta\n" * 100)]
    talk = [user("go"), *step("a", blocks), *step("b", "x"), *step("c", "x")]
    words = ("--max-age", "1", "--placeholder", "[{lines} lines]")
    ran = ctxtrim("truncate", *words, *QUICK, *archive, stdin=conversation(talk))
    assert b'"[201 lines]"' in ran.out
    original = ctxtrim("trace", "get", "a", *archive).out.decode()
    assert original == "alpha\n" * 100 + "\n" + "beta\n" * 100
