"""A user without a home folder has no settings, no archive and no sessions; everything else works.

The user has an id without an entry, as in containers. A relative HOME is as good as none.
"""

import json
import pwd
from pathlib import Path
from typing import NoReturn

import pytest
from conftest import Ran, Run
from samples import line

NO_HOME = {"HOME": "nowhere", "XDG_CONFIG_HOME": "", "XDG_DATA_HOME": ""}
TALK = [{"role": "user", "content": f"berth {number} is free"} for number in range(9)]
TRIM = ("trim", "--tokenizer", "chars4", "-b", "40")


class Guest:
    """A user without a home folder, in a folder with a file."""

    def __init__(self, run: Run, folder: Path) -> None:
        self._run, self.folder = run, folder
        self.file = folder / "a.jsonl"
        self.file.write_bytes(line(TALK))

    def run(self, *words: object, **environment: str) -> Ran:
        """Run a command. It makes no folder with the name of the missing one."""
        ran = self._run(*words, cwd=self.folder, **(NO_HOME | environment))
        assert not (self.folder / "~").exists()
        assert not (self.folder / "nowhere").exists()
        assert "bug" not in ran.err, ran.err
        return ran


def _no_entry(number: int) -> NoReturn:
    raise KeyError(number)


@pytest.fixture
def guest(ctxtrim: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Guest:
    monkeypatch.setattr(pwd, "getpwuid", _no_entry)  # only root can start a process of such a user
    return Guest(ctxtrim, tmp_path)


@pytest.mark.parametrize(
    "words",
    [
        ("count", "a.jsonl"),
        ("check", "."),
        (*TRIM, "a.jsonl", "-o", "b.jsonl"),
        (*TRIM, "a.jsonl", "--in-place", "--no-archive"),
        ("config", "show"),
        ("rolling-context", "status"),
        ("archive", "list"),
    ],
)
@pytest.mark.parametrize("variable", ["XDG_CONFIG_HOME", "XDG_DATA_HOME", None])
def test_commands_work_without_a_home_folder(
    guest: Guest, words: tuple[str, ...], variable: str | None
) -> None:
    known = {} if variable is None else {variable: str(guest.folder / "own")}
    ran = guest.run(*words, **known)
    assert (ran.code, "error" in ran.err) == (0, False), ran.err


def test_a_named_archive_needs_no_home_folder(guest: Guest) -> None:
    before = guest.file.read_bytes()
    ran = guest.run(*TRIM, "a.jsonl", "--in-place", "--archive", "kept")
    assert (ran.code, guest.file.read_bytes() == before) == (0, False), ran.err
    assert "undo: ctxtrim restore a.jsonl --in-place --archive kept" in ran.err
    ran = guest.run("restore", "a.jsonl", "--in-place", "--archive", "kept")
    assert (ran.code, guest.file.read_bytes() == before) == (0, True), ran.err


_NO_ARCHIVE = "there is no home folder for the archive; set HOME, "


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            (*TRIM, "a.jsonl", "--in-place"),
            f"{_NO_ARCHIVE}name a folder with --archive, or use --no-archive",
        ),
        (("restore", "a.jsonl"), f"{_NO_ARCHIVE}or name a folder with --archive"),
        (
            ("rolling-context", "on"),
            "there is no home folder for the preference; set HOME, or use --enabled",
        ),
        (
            ("sessions",),
            "there is no home folder to look for sessions; set HOME, or a variable such as "
            "CODEX_HOME",
        ),
        (
            ("--install-completion", "bash"),
            "completion cannot be installed: there is no home folder; set HOME, or use "
            "--show-completion",
        ),
    ],
)
def test_what_needs_a_home_folder_says_so(
    guest: Guest, words: tuple[str, ...], message: str
) -> None:
    before = guest.file.read_bytes()
    ran = guest.run(*words)
    assert (ran.code, ran.out, ran.err) == (1, b"", f"ctxtrim: {message}\n")
    assert guest.file.read_bytes() == before


def test_sessions_in_a_folder_of_a_variable_are_found(guest: Guest) -> None:
    session = guest.folder / "own/projects/quay/1.jsonl"
    session.parent.mkdir(parents=True)
    session.write_bytes(line(TALK))
    ran = guest.run("sessions", "--json", CLAUDE_CONFIG_DIR="own", CODEX_HOME="~/codex")
    assert (ran.code, ran.err) == (0, "")
    assert [found["path"] for found in json.loads(ran.out)["sessions"]] == [
        "own/projects/quay/1.jsonl"
    ]
