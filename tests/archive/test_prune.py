"""`archive list` and `archive prune`: old runs are removed, and the others can be undone."""

import itertools
import json
from pathlib import Path
from typing import Any

import pytest
from conftest import Ran, run
from samples import line

from ctxtrim.archive.index import Archive
from ctxtrim.archive.prune import plan_pruning

QUICK = ("--tokenizer", "chars4")
EDITS = (
    ("truncate", "--spill-above", "100", "--max-age", "4"),
    ("trim", "--budget", "400"),
    ("trim", "--budget", "250"),
)


class Edited:
    """A file after several runs: `states` are its bytes before and after each."""

    def __init__(self, folder: Path, edits: tuple[tuple[str, ...], ...]) -> None:
        self.folder, self.file = folder / "data", folder / "t.jsonl"
        self.file.write_bytes(line())
        self.states = [line()]
        for words in edits:
            assert self.run(*words, "--in-place", *QUICK, "t.jsonl").code == 0
            self.states.append(self.file.read_bytes())
        assert len(set(self.states)) == len(self.states)

    def run(self, *words: object, **environment: str) -> Ran:
        variables = {"XDG_DATA_HOME": str(self.folder)} | environment
        return run(*words, cwd=self.file.parent, **variables)

    def listed(self) -> list[dict[str, Any]]:
        return list(json.loads(self.run("archive", "list", "--json").out)["runs"])

    def restore(self) -> bytes:
        assert self.run("restore", "--in-place", "t.jsonl").code == 0
        return self.file.read_bytes()

    def prune(self, time: str) -> None:
        plan_pruning(Archive(self.folder / "ctxtrim" / "archive", makes=False), time).remove()


def test_runs_are_listed_with_time_stages_size_and_file(tmp_path: Path) -> None:
    edited = Edited(tmp_path, EDITS)
    runs = edited.listed()
    assert [entry["pipeline"] for entry in runs] == ["truncate", "trim", "trim"]
    assert {entry["path"] for entry in runs} == {str(edited.file)}
    for before, after in itertools.pairwise(runs):
        assert before["output"] == after["input"]
    table = edited.run("archive", "list", COLUMNS="300").out.decode().splitlines()
    assert table[0].split() == ["time", "stages", "bytes", "file"]
    assert table[-1].startswith("3 runs, ")
    for row, entry in zip(table[1:], runs, strict=False):
        assert row.split() == [
            *entry["time"].replace("T", " ")[:16].split(),
            entry["pipeline"],
            f"{entry['bytes']:,}",
            entry["path"],
        ]


@pytest.mark.parametrize("width", [60, 80])
def test_lists_fit_the_terminal(tmp_path: Path, width: int) -> None:
    edited = Edited(tmp_path, EDITS)
    for words in (("archive", "list"), ("trace", "list")):
        table = edited.run(*words, COLUMNS=str(width)).out.decode().splitlines()
        assert len(table) > 2
        assert max(map(len, table)) <= width


def test_prune_needs_an_age_and_shows_how_to_give_it(tmp_path: Path) -> None:
    ran = Edited(tmp_path, ()).run("archive", "prune")
    assert (ran.code, "--older-than 30d" in ran.err) == (2, True)


def test_a_quiet_restore_prints_nothing(tmp_path: Path) -> None:
    edited = Edited(tmp_path, EDITS)
    ran = edited.run("restore", "--in-place", "--quiet", "t.jsonl")
    assert (ran.code, ran.out, ran.err) == (0, b"", "")


def test_without_an_archive_the_list_is_empty_and_nothing_is_removed(tmp_path: Path) -> None:
    edited, prune = Edited(tmp_path, ()), ("archive", "prune", "--older-than", "30d")
    ran = edited.run("archive", "list")
    assert (ran.code, ran.out, ran.err) == (0, b"0 runs, 0 bytes\n", "")
    ran = edited.run(*prune)
    assert (ran.code, ran.err) == (0, "")
    assert ran.out == b"0 runs removed; the user's data folder has no archive\n"
    assert not edited.folder.exists()
    for words in (("archive", "list"), prune):
        assert edited.run(*words, "--archive", "elsewhere").code == 1


@pytest.mark.parametrize("number", [1, 2])
def test_after_pruning_every_newer_run_is_undone(tmp_path: Path, number: int) -> None:
    edited = Edited(tmp_path, EDITS[1:])
    edited.prune(edited.listed()[number]["time"] if number < 2 else "9")
    assert len(edited.listed()) == 2 - number
    for state in edited.states[-2 : number - 1 : -1]:
        assert edited.restore() == state
    assert edited.run("restore", "--in-place", "t.jsonl").code == 1


def test_files_that_a_newer_run_refers_to_are_kept(tmp_path: Path) -> None:
    edited = Edited(tmp_path, EDITS)
    objects = sorted(edited.folder.rglob("objects/??/*"))
    assert objects
    first, second, third = (entry["time"] for entry in edited.listed())
    edited.prune(third)  # the first run stored files, the second did not
    assert [entry["time"] for entry in edited.listed()] == [first, third]
    assert sorted(edited.folder.rglob("objects/??/*")) == objects
    edited.prune("9")
    assert edited.listed() == []
    assert not list(edited.folder.rglob("objects/??/*"))
    assert second


def test_the_age_has_a_unit_and_a_dry_run_removes_nothing(tmp_path: Path) -> None:
    edited = Edited(tmp_path, EDITS[1:])
    for age in ("1h", "30d", "2w", "30"):
        ran = edited.run("archive", "prune", "--older-than", age)
        assert (ran.code, ran.out) == (0, b"0 runs removed (0 bytes), 2 kept\n")
    ran = edited.run("archive", "prune", "--older-than", "0d", "--dry-run")
    assert ran.out.startswith(b"2 runs would be removed (")
    assert len(edited.listed()) == 2
    assert edited.run("archive", "prune", "--older-than", "0d").out.startswith(b"2 runs removed (")
    assert edited.listed() == []
    ran = edited.run("archive", "prune", "--older-than", "soon")
    assert ran.code == 2
    assert "--older-than soon: expected a whole number, or one with d, h, w" in ran.err


def test_a_damaged_pack_is_reported_and_stays(tmp_path: Path) -> None:
    edited = Edited(tmp_path, EDITS[1:])
    damaged, _ = sorted(edited.folder.rglob("packs/*"))
    damaged.write_bytes(b"not a pack")
    for words in (("list",), ("prune", "--older-than", "0d")):
        ran = edited.run("archive", *words)
        assert (ran.code, "the pack has been changed" in ran.err) == (1, True)
    assert sorted(edited.folder.rglob("packs/*")) == [damaged]
