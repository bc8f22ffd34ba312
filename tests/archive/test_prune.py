"""`archive list` and `archive prune`: old runs are removed, and the others can be undone."""

import itertools
import json
import os
from errno import EACCES
from pathlib import Path
from typing import Any, BinaryIO

import pytest
from conftest import Ran, run
from old_archives import make_older, old_archive
from samples import chat, line, messages, oversized_chat, shortened, step_text

from ctxtrim.archive.blobs import open_regular
from ctxtrim.archive.index import Archive
from ctxtrim.archive.pack import Pack
from ctxtrim.archive.prune import Pruning, plan_pruning
from ctxtrim.archive.recorder import Recording
from ctxtrim.errors import OutputError
from ctxtrim.io.replacement import InPlace

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

    def prune(self, time: str) -> Pruning:
        archive = Archive(self.folder / "ctxtrim" / "archive", makes=False)
        pruning = plan_pruning(archive, time)
        pruning.remove()
        archive.close()
        return pruning

    @property
    def packs(self) -> list[Path]:
        return sorted(self.folder.rglob("packs/*"))

    def named_in(self, data: bytes) -> list[Path]:
        """The separate files that a transcript refers to."""
        return [path for path in self.objects if f"{path.parent.name}{path.name}".encode() in data]

    @property
    def objects(self) -> list[Path]:
        return sorted(self.folder.rglob("objects/??/*"))


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
    assert ran.out == b"0 runs removed; there is no archive\n"
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
    third = edited.listed()[-1]["time"]
    edited.prune(third)
    assert [entry["time"] for entry in edited.listed()] == [third]
    assert edited.objects == edited.named_in(edited.states[2]) != []
    assert edited.restore() == edited.states[2]
    edited.prune("9")
    assert edited.listed() == []
    assert edited.objects == []


def test_a_file_is_removed_if_a_later_stage_of_its_run_dropped_the_result(tmp_path: Path) -> None:
    stages = ("-s", "truncate:spill-above=100,max-age=4", "-s", "trim", "--budget", "400")
    edited = Edited(tmp_path, (("run", *stages),))
    objects, needed = edited.objects, edited.named_in(edited.states[1])
    for path in objects:
        os.utime(path, (0, 0))
    edited.prune(edited.listed()[0]["time"])
    assert edited.objects == needed
    assert 0 < len(needed) < len(objects)
    assert edited.restore() == edited.states[0]


def test_files_are_kept_if_lines_were_appended_between_the_runs(tmp_path: Path) -> None:
    edited = Edited(tmp_path, EDITS[:1])
    objects = edited.objects
    edited.file.write_bytes(edited.file.read_bytes() + line(chat()))
    edited.run("trim", "--budget", "400", "--in-place", *QUICK, "t.jsonl")
    _, second = (entry["time"] for entry in edited.listed())
    edited.prune(second)
    assert [entry["time"] for entry in edited.listed()] == [second]
    assert edited.objects == objects


def test_files_are_kept_for_a_pack_of_an_older_version(tmp_path: Path) -> None:
    edited = Edited(tmp_path, EDITS)
    third = edited.listed()[-1]
    for pack in edited.packs:
        make_older(pack)
    edited.prune(third["time"])
    assert [entry["time"] for entry in edited.listed()] == [third["time"]]
    assert edited.objects
    assert edited.restore() == edited.states[2]
    edited.prune("9")
    assert edited.objects == []


@pytest.mark.parametrize("harm", ["changed", "cut"])
def test_files_are_kept_for_a_damaged_pack(tmp_path: Path, harm: str) -> None:
    edited = Edited(tmp_path, EDITS)
    objects, newest = edited.objects, edited.listed()[-1]
    (pack,) = (pack for pack in edited.packs if pack.name.startswith(newest["output"]))
    pack.write_bytes(b"not a pack" if harm == "changed" else pack.read_bytes()[:-9])
    pruning = edited.prune(newest["time"])
    assert (pruning.removed, len(pruning.errors)) == (2, 1)
    assert edited.objects == objects
    assert edited.packs == [pack]


def test_a_file_that_no_run_refers_to_is_removed_when_it_is_old(tmp_path: Path) -> None:
    """The result is in a file, and nothing is written because the transcript does not fit."""
    edited = Edited(tmp_path, ())
    edited.file.write_bytes(line([*messages(), *oversized_chat()]))
    stages = ("-s", "truncate:spill-above=100,max-age=4", "-s", "trim")
    words = ("run", *stages, "--budget", "300", "--in-place", *QUICK, "t.jsonl")
    assert edited.run(*words).code == 3
    assert (edited.packs, len(edited.objects)) == ([], 5)
    edited.prune("2")
    assert len(edited.objects) == 5
    edited.prune("9")
    assert edited.objects == []


def test_files_are_kept_for_an_index_of_version_1(tmp_path: Path) -> None:
    folder, out = tmp_path / "a", shortened(line())
    old_archive(folder, line(), out, {"call_1": step_text(1)})
    for path in folder.glob("objects/??/*"):
        os.utime(path, (0, 0))
    assert run("archive", "prune", "--older-than", "0h", "--archive", folder).code == 0
    assert run("restore", "-", "--archive", folder, stdin=out).out == line()
    assert run("trace", "get", "call_1", "--archive", folder).out == step_text(1).encode()


def test_files_that_are_used_again_count_as_new(tmp_path: Path) -> None:
    edited = Edited(tmp_path, EDITS[:1])
    for path in edited.objects:
        os.utime(path, (0, 0))
    edited.restore()
    edited.run(*EDITS[0], "--in-place", *QUICK, "t.jsonl")
    assert all(path.stat().st_mtime for path in edited.objects)


def test_a_run_that_still_writes_keeps_its_pack_and_all_files(tmp_path: Path) -> None:
    edited = Edited(tmp_path, EDITS[:1])
    objects = edited.objects
    archive = Archive(edited.folder / "ctxtrim" / "archive")
    recording = Recording(archive, "-", "truncate")
    recording.chunk(line(), b"")
    recording.sync()
    assert [run["running"] for run in edited.listed()] == [False, True]
    assert b"truncate (running)" in edited.run("archive", "list", COLUMNS="300").out
    ran = edited.run("archive", "prune", "--older-than", "0h")
    assert (ran.code, ran.out.endswith(b", 1 kept\n")) == (0, True)
    assert edited.objects == objects
    recording.finish()
    archive.close()
    assert edited.run("restore", "-", stdin=b"").out == line()
    edited.prune("9")
    assert (edited.packs, edited.objects) == ([], [])


def test_the_pack_of_a_killed_run_is_removed(tmp_path: Path) -> None:
    edited = Edited(tmp_path, EDITS[:1])
    archive = Archive(edited.folder / "ctxtrim" / "archive")
    recording = Recording(archive, "-", "truncate")
    recording.chunk(line(), b"")
    recording.sync()
    recording.discard()
    archive.close()
    assert b"truncate (killed)" in edited.run("archive", "list", COLUMNS="300").out
    edited.prune("9")
    assert (edited.packs, edited.objects) == ([], [])


def test_a_pack_that_another_process_removes_is_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    edited = Edited(tmp_path, EDITS[1:])
    gone = Pack(edited.packs[0].with_name(f"{'0' * 64}-{'1' * 64}"))
    packs = Archive.packs
    monkeypatch.setattr(Archive, "packs", lambda archive: [gone, *packs(archive)])
    for words in (("archive", "list"), ("trace", "list"), ("trace", "verify")):
        assert edited.run(*words).code == 0, words
    assert edited.prune("9").removed == 2


def test_a_pack_that_cannot_be_read_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    edited = Edited(tmp_path, EDITS)
    objects, secret = edited.objects, edited.packs[0]

    def refuse(path: Path) -> BinaryIO:
        if path == secret:
            raise PermissionError(EACCES, os.strerror(EACCES))
        return open_regular(path)

    monkeypatch.setattr("ctxtrim.archive.pack.open_regular", refuse)
    ran = edited.run("archive", "list", COLUMNS="300")
    assert (ran.code, b"2 runs, " in ran.out) == (1, True)
    assert f"{secret}: cannot be read: permission denied" in ran.err
    ran = edited.run("archive", "prune", "--older-than", "0h")
    assert (ran.code, ran.out.startswith(b"2 runs removed")) == (1, True)
    assert (edited.packs, edited.objects) == ([secret], objects)


def test_a_file_that_cannot_be_replaced_has_no_run_to_undo(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    edited = Edited(tmp_path, EDITS[1:2])

    def refuse(sink: InPlace) -> None:
        raise OutputError("somebody writes it")

    monkeypatch.setattr(InPlace, "commit", refuse)
    assert edited.run(*EDITS[2], "--in-place", *QUICK, "t.jsonl").code == 1
    assert len(edited.listed()) == 1


def test_a_file_that_cannot_be_replaced_again_keeps_the_earlier_run(tmp_path: Path) -> None:
    edited = Edited(tmp_path, EDITS[1:2])
    assert edited.restore() == edited.states[0]
    with edited.file.open("ab"):
        assert edited.run(*EDITS[1], "--in-place", *QUICK, "t.jsonl").code == 1
    assert edited.run("restore", "-", stdin=edited.states[1]).out == edited.states[0]


def test_the_age_has_a_unit_and_a_dry_run_removes_nothing(tmp_path: Path) -> None:
    edited = Edited(tmp_path, EDITS[1:])
    for age in ("1h", "30d", "2w", "30", "9" * 25):
        ran = edited.run("archive", "prune", "--older-than", age)
        assert (ran.code, ran.out) == (0, b"0 runs removed (0 bytes), 2 kept\n")
    ran = edited.run("archive", "prune", "--older-than", "0d", "--dry-run")
    assert ran.out.startswith(b"2 runs would be removed (")
    assert len(edited.listed()) == 2
    assert edited.run("archive", "prune", "--older-than", "0d").out.startswith(b"2 runs removed (")
    assert edited.listed() == []
    ran = edited.run("archive", "prune", "--older-than", "soon")
    assert ran.code == 2
    assert "--older-than soon: expected a whole number, with or without a unit (d, h, w)" in ran.err


def test_a_damaged_pack_is_reported_and_stays(tmp_path: Path) -> None:
    edited = Edited(tmp_path, EDITS[1:])
    damaged, _ = sorted(edited.folder.rglob("packs/*"))
    damaged.write_bytes(b"not a pack")
    for words in (("list",), ("list", "--json"), ("prune", "--older-than", "0d")):
        ran = edited.run("archive", *words)
        assert (ran.code, "the pack has been changed" in ran.err) == (1, True)
    assert sorted(edited.folder.rglob("packs/*")) == [damaged]
