"""Archives and spill folders that others can reach, or that were tampered with: refused before
anything is edited.
"""

import json
import os
import sqlite3
from pathlib import Path

import pytest
from builders import contents, conversation, step, user
from conftest import Run
from old_archives import old_archive
from samples import line, messages, shortened, step_text

from ctxtrim.text.hashing import sha256

QUICK = ("--tokenizer", "chars4", "--quiet")
NAME = sha256(step_text(1).encode())
SPILLED_NAME = sha256(step_text(2).encode())
SPILLS = f"ai_tool_outputs-{os.geteuid()}"


SPILL = ("truncate", "--spill-above", "100", *QUICK)


def stored(folder: Path, name: str = SPILLED_NAME) -> Path:
    """The file of the second, spilled result in an archive."""
    return folder / "objects" / name[:2] / name[2:]


def old(folder: Path) -> bytes:
    """Make an archive of version 1; the output that it restores."""
    old_archive(folder, line(), shortened(line()), {"call_1": step_text(1)})
    return shortened(line())


def refusal(ctxtrim: Run, folder: Path, tmp_path: Path) -> str:
    """The one-line error for a refused archive; the transcript and all other files are
    unchanged.
    """
    path = tmp_path / "t.jsonl"
    path.write_bytes(line())
    before = sorted((str(file), file.lstat().st_mtime_ns) for file in folder.rglob("*"))
    ran = ctxtrim("truncate", "--in-place", *QUICK, "--archive", folder, path)
    assert (ran.code, path.read_bytes()) == (1, line())
    assert len(ran.err.splitlines()) == 1
    assert sorted((str(file), file.lstat().st_mtime_ns) for file in folder.rglob("*")) == before
    return ran.err


@pytest.mark.parametrize("mode", [0o700, 0o750, 0o755])
def test_an_existing_archive_folder_keeps_its_mode(ctxtrim: Run, tmp_path: Path, mode: int) -> None:
    folder = tmp_path / "a"
    folder.mkdir()
    folder.chmod(mode)
    assert ctxtrim("truncate", *QUICK, "--archive", folder, stdin=line()).code == 0
    assert folder.stat().st_mode & 0o777 == mode
    assert all(path.stat().st_mode & 0o077 == 0 for path in folder.rglob("*"))


@pytest.mark.parametrize("inside", ["", "objects", "index.sqlite3", "packs"])
@pytest.mark.parametrize("mode", [0o777, 0o770, 0o1777])
def test_an_archive_that_others_can_write_to_is_refused(
    ctxtrim: Run, tmp_path: Path, mode: int, inside: str
) -> None:
    folder = tmp_path / "a"
    old(folder)
    ctxtrim("truncate", *QUICK, "--archive", folder, stdin=line())
    (folder / inside).chmod(mode)
    err = refusal(ctxtrim, folder, tmp_path)
    assert f"{folder / inside}: others can write to it (mode {mode:04o})" in err
    assert "chmod go-w" in err
    assert ctxtrim("restore", "-", "--archive", folder, stdin=shortened(line())).code == 1


@pytest.mark.parametrize("part", ["objects", "packs", "index.sqlite3", "index.sqlite3-wal"])
def test_links_inside_an_archive_are_refused(ctxtrim: Run, tmp_path: Path, part: str) -> None:
    folder, elsewhere = tmp_path / "a", tmp_path / "elsewhere"
    old(folder)
    ctxtrim("truncate", *QUICK, "--archive", folder, stdin=line())
    if (folder / part).exists():
        (folder / part).rename(elsewhere)
    (folder / part).symlink_to(elsewhere)
    assert f"{folder / part}: is a symbolic link" in refusal(ctxtrim, folder, tmp_path)


def test_a_link_to_a_folder_of_the_user_is_an_archive(ctxtrim: Run, tmp_path: Path) -> None:
    (tmp_path / "real").mkdir(mode=0o700)
    (tmp_path / "a").symlink_to("real")
    out = ctxtrim("truncate", *QUICK, "--archive", tmp_path / "a", stdin=line()).out
    assert ctxtrim("restore", "-", "--archive", tmp_path / "real", stdin=out).out == line()


@pytest.mark.parametrize("part", ["", "objects", "packs", "index.sqlite3"])
def test_an_archive_member_of_the_wrong_type_is_refused(
    ctxtrim: Run, tmp_path: Path, part: str
) -> None:
    folder = tmp_path / "a"
    if part:
        folder.mkdir(mode=0o700)
    os.mkfifo(folder / part)
    expected = "file" if part == "index.sqlite3" else "folder"
    err = refusal(ctxtrim, folder, tmp_path)
    assert (
        f"{folder / part}: is a special file where a {expected} is expected; remove it or "
        "name another folder" in err
    )


def damage(file: Path, harm: str, other: Path) -> None:
    """Change a file of an archive, or replace it."""
    if harm == "changed":
        file.write_bytes(file.read_bytes().upper())
    elif harm == "empty":
        file.write_bytes(b"")
    else:
        file.unlink()
        os.mkfifo(file) if harm == "pipe" else file.symlink_to(other)


@pytest.mark.parametrize("part", ["objects", "packs"])
@pytest.mark.parametrize("harm", ["changed", "empty", "link", "pipe"])
def test_a_damaged_stored_original_is_replaced(
    ctxtrim: Run, tmp_path: Path, harm: str, part: str
) -> None:
    folder, other = tmp_path / "a", tmp_path / "other"
    first = ctxtrim(*SPILL, "--archive", folder, stdin=line())
    file = stored(folder) if part == "objects" else next((folder / part).iterdir())
    other.write_bytes(b"something else")
    damage(file, harm, other)
    ran = ctxtrim("trace", "verify", "--archive", folder)
    assert ran.code == 1
    assert (str(file) if part == "packs" else SPILLED_NAME) in ran.err
    again = ctxtrim(*SPILL, "--archive", folder, stdin=line())
    assert (again.code, again.out) == (0, first.out)
    assert stored(folder).read_bytes() == step_text(2).encode()
    assert not file.is_symlink()
    assert other.read_bytes() == b"something else"
    assert ctxtrim("restore", "-", "--archive", folder, stdin=again.out).out == line()
    assert ctxtrim("trace", "verify", "--archive", folder).code == 0


def test_a_stored_original_that_others_can_change_is_replaced(ctxtrim: Run, tmp_path: Path) -> None:
    folder = tmp_path / "a"
    for _ in range(2):
        assert ctxtrim(*SPILL, "--archive", folder, stdin=line()).code == 0
        file = stored(folder)
        assert file.stat().st_mode & 0o777 == 0o600
        file.chmod(0o666)


def test_a_pack_that_cannot_be_replaced_leaves_standard_output_empty(
    ctxtrim: Run, tmp_path: Path
) -> None:
    folder = tmp_path / "a"
    ctxtrim("truncate", *QUICK, "--archive", folder, stdin=line())
    (pack,) = (folder / "packs").iterdir()
    pack.unlink()
    pack.mkdir()
    ran = ctxtrim("truncate", *QUICK, "--archive", folder, stdin=line())
    assert (ran.code, ran.out, len(ran.err.splitlines())) == (1, b"", 1)
    assert f"{folder}: originals cannot be stored here" in ran.err


def test_a_result_stays_if_its_damaged_original_cannot_be_replaced(
    ctxtrim: Run, tmp_path: Path
) -> None:
    folder = tmp_path / "a"
    ctxtrim(*SPILL, "--archive", folder, stdin=line())
    stored(folder).unlink()
    stored(folder).mkdir()
    ran = ctxtrim(*SPILL, "--archive", folder, stdin=line())
    assert (ran.code, ran.out) == (1, line())
    assert "the transcript is unchanged" in ran.err


def test_an_archive_of_version_1_is_read_and_continued(ctxtrim: Run, tmp_path: Path) -> None:
    archive = ("--archive", tmp_path / "a")
    out = old(tmp_path / "a")
    new = line(messages(9))
    second = ctxtrim("truncate", *QUICK, *archive, stdin=new).out
    assert ctxtrim("restore", "-", *archive, stdin=out).out == line()
    assert ctxtrim("restore", "-", *archive, stdin=second).out == new
    assert ctxtrim("trace", "get", "call_1", *archive).out == step_text(1).encode()
    assert ctxtrim("trace", "get", "call_2", *archive).out == step_text(2).encode()
    assert ctxtrim("trace", "list", *archive).out.count(b"call_1") == 2
    assert ctxtrim("trace", "verify", *archive).code == 0
    stored(tmp_path / "a", NAME).write_bytes(b"something else")
    ran = ctxtrim("trace", "verify", *archive)
    assert (ran.code, f"the original {NAME} has been changed" in ran.err) == (1, True)


@pytest.mark.parametrize(
    "recipe", ["no recipe at all", '[["a", "b"]]', "[[]]", '"x"', "../../../../../../dev/zero"]
)
def test_an_index_entry_for_a_foreign_file_is_ignored(
    ctxtrim: Run, tmp_path: Path, recipe: str
) -> None:
    folder = tmp_path / "a"
    out = old(folder)
    name = sha256(recipe.encode())
    (folder / "objects" / name[:2]).mkdir(exist_ok=True, mode=0o700)
    (folder / "objects" / name[:2] / name[2:]).write_text(recipe)
    with sqlite3.connect(folder / "index.sqlite3") as index:
        index.execute("UPDATE runs SET recipe = ?", (recipe if "/" in recipe else name,))
    index.close()
    ran = ctxtrim("restore", "-", "--archive", folder, stdin=out)
    assert (ran.code, ran.out) == (1, b"")
    assert len(ran.err.splitlines()) == 1


LONG = "".join(f"entry {number} of the log\n" for number in range(9000))
SPILLED = conversation([user("go"), *step("a", LONG)])


def spilling(ctxtrim: Run, temporary: Path) -> tuple[int, bytes, str]:
    words = ("truncate", "--spill-above", "100000", "--max-tokens", "0", *QUICK)
    ran = ctxtrim(*words, stdin=SPILLED, TMPDIR=str(temporary))
    return ran.code, ran.out, ran.err


@pytest.mark.parametrize("squatter", ["link", "file", "pipe", "0770", "0750", "0705"])
def test_a_spill_folder_that_is_not_private_is_refused_and_nothing_is_lost(
    ctxtrim: Run, tmp_path: Path, squatter: str
) -> None:
    folder, elsewhere = tmp_path / SPILLS, tmp_path / "elsewhere"
    elsewhere.mkdir(mode=0o700)
    if squatter == "link":
        folder.symlink_to(elsewhere)
    elif squatter == "file":
        folder.write_bytes(b"")
    elif squatter == "pipe":
        os.mkfifo(folder)
    else:
        folder.mkdir()
        folder.chmod(int(squatter, 8))
    code, out, err = spilling(ctxtrim, tmp_path)
    assert (code, out) == (1, SPILLED)
    assert str(folder) in err
    expected = {"link": "is a symbolic link", "file": "is a file", "pipe": "is a special file"}
    assert expected.get(squatter, "others can") in err
    assert list(elsewhere.iterdir()) == []


def test_results_are_spilled_to_a_folder_of_the_user(ctxtrim: Run, tmp_path: Path) -> None:
    code, out, _ = spilling(ctxtrim, tmp_path)
    assert code == 0
    assert (tmp_path / SPILLS).stat().st_mode & 0o777 == 0o700
    (file,) = (path for path in (tmp_path / SPILLS).rglob("*") if path.is_file())
    assert file.read_text() == LONG
    assert str(file) in contents(out)[2]
    assert json.loads(out)
