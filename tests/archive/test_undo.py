"""Undo by default: a file that is replaced in place can be restored without an option."""

import itertools
import json
import random
import signal
import subprocess
import time
from pathlib import Path

import pytest
from builders import conversation, steps
from conftest import COMMAND, ENVIRONMENT, Ran, run
from samples import chat, line, oversized_chat

QUICK = ("--tokenizer", "chars4")
DAMAGED = json.dumps(
    {"messages": [{"role": "user", "content": "go"}, {"role": "tool", "tool_call_id": "x"}]}
).encode()
TRUNCATE = ("truncate", "--in-place", *QUICK)
TRIM = ("trim", "--in-place", "--budget", "200", *QUICK)


class Home:
    """A user with an empty data folder, and a transcript."""

    def __init__(self, folder: Path) -> None:
        self.data = folder / "data"
        self.file = folder / "work" / "t.jsonl"
        self.file.parent.mkdir()
        self.file.write_bytes(line())

    def run(self, *words: object) -> Ran:
        return run(*words, cwd=self.file.parent, XDG_DATA_HOME=str(self.data))

    @property
    def packs(self) -> list[Path]:
        return sorted(self.data.rglob("packs/*"))


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


def test_an_edit_in_place_is_undone_by_the_printed_command(home: Home) -> None:
    ran = home.run(*TRUNCATE, "t.jsonl")
    assert (ran.code, ran.out) == (0, b"")
    assert home.file.read_bytes() != line()
    undo = ran.err.splitlines()[-1]
    assert undo == "undo: ctxtrim restore t.jsonl --in-place"
    assert home.run("restore", "t.jsonl").out == line()
    assert home.file.read_bytes() != line()
    undone = home.run(*undo.removeprefix("undo: ctxtrim ").split())
    assert (undone.code, undone.out) == (0, b"")
    assert home.file.read_bytes() == line()
    assert undone.err.startswith("ctxtrim: t.jsonl: undid truncate of 2")
    assert f" → {len(line()):,} bytes" in undone.err


def test_a_repair_in_place_is_undone(home: Home) -> None:
    home.file.write_bytes(DAMAGED)
    ran = home.run("check", "--fix", *QUICK, "t.jsonl")
    assert "undo: ctxtrim restore t.jsonl --in-place\n" in ran.err
    assert home.file.read_bytes() != DAMAGED
    assert home.run("restore", "--in-place", "t.jsonl").code == 0
    assert home.file.read_bytes() == DAMAGED


def test_runs_in_a_row_are_undone_from_the_last_to_the_first(home: Home) -> None:
    states = [home.file.read_bytes()]
    for words in (TRUNCATE, TRIM, TRUNCATE, TRIM):  # the last two change nothing
        home.run(*words, "t.jsonl")
        states.append(home.file.read_bytes())
    assert len(home.packs) == len(set(states)) - 1 == 2
    first, second = (home.run("restore", "--in-place", "t.jsonl") for _ in range(2))
    assert "restore it again to undo truncate of 2" in first.err
    assert "restore it again" not in second.err
    assert home.file.read_bytes() == states[0]
    third = home.run("restore", "--in-place", "t.jsonl")
    assert (third.code, home.file.read_bytes()) == (1, states[0])
    assert "it is the original" in third.err


def test_the_last_run_on_this_file_is_undone_if_several_inputs_gave_its_output(home: Home) -> None:
    other = home.file.with_name("other.jsonl")
    texts = [conversation(steps(1, text) + steps(5, "b")) for text in ("one " * 500, "two " * 500)]
    for file, text in zip((home.file, other), texts, strict=True):
        file.write_bytes(text)
        home.run("trim", "--in-place", "--budget", "100", *QUICK, file)
    assert home.file.read_bytes() == other.read_bytes()
    for file, text in zip((home.file, other), texts, strict=True):
        assert home.run("restore", "--in-place", file).code == 0
        assert file.read_bytes() == text


@pytest.mark.parametrize("texts", list(itertools.permutations(("one ", "two ", "three "))))
def test_the_last_of_several_runs_with_one_output_is_undone(
    home: Home, texts: tuple[str, ...]
) -> None:
    for text in texts:
        data = conversation(steps(1, text * 500) + steps(5, "b"))
        home.file.write_bytes(data)
        home.run("trim", "--in-place", "--budget", "100", *QUICK, home.file)
    assert home.run("restore", home.file).out == data


def test_every_copy_of_an_output_can_be_restored_after_an_append(home: Home) -> None:
    copies = [home.file.with_name(name) for name in ("a.jsonl", "b.jsonl")]
    for copy in copies:
        home.run("truncate", *QUICK, "--archive", "archive", home.file, "-o", copy)
    for copy in copies:
        copy.write_bytes(copy.read_bytes() + LINES[0])
        assert home.run("restore", "--archive", "archive", copy).out == line() + LINES[0]


def test_every_file_with_the_same_bytes_can_be_restored_after_an_append(home: Home) -> None:
    files = [home.file, home.file.with_name("copy.jsonl")]
    files[1].write_bytes(line())
    home.run(*TRUNCATE, *files)
    for file in files:
        file.write_bytes(file.read_bytes() + LINES[0])
    ran = home.run("restore", "--in-place", *files)
    assert (ran.code, [file.read_bytes() for file in files]) == (0, [line() + LINES[0]] * 2)


def test_a_pack_of_an_older_version_has_no_paths_in_its_name(home: Home) -> None:
    home.run(*TRUNCATE, "t.jsonl")
    (pack,) = home.packs
    pack.rename(pack.with_name(pack.name.rpartition("-")[0]))
    assert home.run("restore", "t.jsonl").out == line()


def test_several_files_are_restored_in_place_and_one_error_stops_no_other(home: Home) -> None:
    others = [home.file.with_name(name) for name in ("a.jsonl", "b.jsonl")]
    for file in others:
        file.write_bytes(line())
        home.run(*TRUNCATE, file)
    ran = home.run("restore", "--in-place", others[0], home.file, others[1])
    assert ran.code == 1
    assert f"{home.file}: no run in " in ran.err
    assert {file.read_bytes() for file in (*others, home.file)} == {line()}
    assert home.run("restore", *others).code == 2


def test_lines_that_a_program_appended_since_are_kept(home: Home) -> None:
    home.run(*TRUNCATE, "t.jsonl")
    with home.file.open("ab") as file:
        file.write(b'{"messages": []}\n{"cut')
    home.run(*TRIM, "t.jsonl")
    ran = home.run("restore", "--in-place", "t.jsonl")
    assert ran.code == 0, ran.err
    ran = home.run("restore", "--in-place", "t.jsonl")
    assert home.file.read_bytes() == line() + b'{"messages": []}\n{"cut'
    assert "2 appended lines are kept" in ran.err


@pytest.mark.parametrize(
    ("added", "kept"),
    [
        (b'\n{"messages": []}', b'\n{"messages": []}'),
        (b'\n{"messages": []}\n', b'\n{"messages": []}\n'),
        (b'{"messages": []}\n', b'\n{"messages": []}\n'),
        (b"\n", b"\n"),
    ],
    ids=["no line break at the end", "own lines", "glued", "line break"],
)
def test_a_file_without_a_final_line_break_is_undone_after_an_append(
    home: Home, added: bytes, kept: bytes
) -> None:
    data = line() + line(end="")
    home.file.write_bytes(data)
    home.run(*TRUNCATE, "t.jsonl")
    assert home.file.read_bytes() != data
    with home.file.open("ab") as file:
        file.write(added)
    ran = home.run("restore", "--in-place", "t.jsonl")
    assert (ran.code, home.file.read_bytes()) == (0, data + kept)
    assert ("1 appended line is kept" in ran.err) == (added != b"\n")


def test_lines_that_a_run_left_out_are_not_appended_again(home: Home) -> None:
    """The output of the run is the start of its input."""
    small, large = line(chat()), line(oversized_chat())
    home.file.write_bytes(small + large)
    archive = ("--archive", home.file.parent / "x")
    ran = home.run("trim", "--budget", "200", *QUICK, *archive, "t.jsonl", "-o", "o.jsonl")
    assert (ran.code, (home.file.parent / "o.jsonl").read_bytes()) == (3, small)
    ran = home.run("restore", "--in-place", *archive, "t.jsonl")
    assert (ran.code, home.file.read_bytes()) == (1, small + large)
    assert "it is the original" in ran.err


LINES = [
    json.dumps(message).encode() + b"\n"
    for message in (
        {"role": "user", "content": "go " * 300},
        {"role": "assistant", "content": "well " * 200},
        {"role": "user", "content": "list"},
        {"role": "tool", "tool_call_id": "c9", "content": "nobody asked"},
        {"role": "assistant", "content": "done"},
    )
]


def test_a_file_that_begins_with_the_input_of_a_run_is_not_its_output(home: Home) -> None:
    """The output of the first run begins like its input, to which a line was appended."""
    home.file.write_bytes(b"".join(LINES[:4]))
    home.run("check", "--fix", *QUICK, "t.jsonl")
    assert home.file.read_bytes() == b"".join(LINES[:3])
    home.run("restore", "--in-place", "t.jsonl")
    home.file.write_bytes(b"".join(LINES))
    home.run(*TRIM, "t.jsonl")
    ran = home.run("restore", "--in-place", "t.jsonl")
    assert (home.file.read_bytes(), "restore it again" in ran.err) == (b"".join(LINES), False)
    ran = home.run("restore", "--in-place", "t.jsonl")
    assert (ran.code, home.file.read_bytes()) == (1, b"".join(LINES))
    assert "it is the original" in ran.err


def test_a_file_that_begins_like_an_output_of_another_file_is_refused(home: Home) -> None:
    home.file.write_bytes(b"".join(LINES[:4]))
    home.run("check", "--fix", *QUICK, "t.jsonl")
    other = home.file.with_name("other.jsonl")
    data = home.file.read_bytes() + LINES[4]
    other.write_bytes(data)
    other.write_bytes(home.file.read_bytes() + b"\n")  # what editors add
    assert home.run("restore", "other.jsonl").out == b"".join(LINES[:4]) + b"\n"
    other.write_bytes(data)
    ran = home.run("restore", "--in-place", "other.jsonl")
    assert (ran.code, other.read_bytes()) == (1, data)
    assert f"begins with the output of a run on {home.file}" in ran.err
    words = ran.err.split()[-2:]  # for a file that was moved
    assert words[0] == "--input"
    assert home.run("restore", "--in-place", *words, "other.jsonl").code == 0
    assert other.read_bytes() == b"".join(LINES)


def test_lines_appended_to_a_copy_are_kept(home: Home) -> None:
    archive = ("--archive", home.file.parent / "x")
    home.run("truncate", *QUICK, *archive, "t.jsonl", "-o", "copy.jsonl")
    copy = home.file.with_name("copy.jsonl")
    copy.write_bytes(copy.read_bytes() + LINES[0])
    assert home.run("restore", *archive, "copy.jsonl").out == line() + LINES[0]


def test_a_restored_file_is_not_written_into_the_archive(home: Home) -> None:
    home.run(*TRUNCATE, "t.jsonl")
    (pack,) = home.packs
    data = pack.read_bytes()
    ran = home.run("restore", "t.jsonl", "-o", pack)
    assert (ran.code, pack.read_bytes()) == (2, data)
    assert "is inside the archive" in ran.err


@pytest.mark.parametrize("is_variable", [True, False])
def test_the_archive_of_the_configuration_is_read(home: Home, is_variable: bool) -> None:
    archive, folder = home.file.parent / "kept", home.file.parent.parent / "config"
    variables = {"XDG_DATA_HOME": str(home.data), "XDG_CONFIG_HOME": str(folder)}
    if is_variable:
        variables["CTXTRIM_ARCHIVE"] = str(archive)
    else:
        (folder / "ctxtrim").mkdir(parents=True)
        (folder / "ctxtrim" / "config.toml").write_text(f"archive = {json.dumps(str(archive))}\n")
    (home.file.parent / "ctxtrim.toml").write_text('archive = "elsewhere"\n')  # not trusted

    def ran(*words: str) -> Ran:
        return run(*words, cwd=home.file.parent, **variables)

    assert ran("archive", "list").out == b"0 runs, 0 bytes\n"
    assert ran(*TRUNCATE, "t.jsonl").code == 0
    assert (archive / "packs").exists()
    assert ran("trace", "get", "call_1").out.startswith(b"result 1")
    assert b"1 run, " in ran("archive", "list").out
    assert ran("restore", "t.jsonl", "--in-place").code == 0
    assert home.file.read_bytes() == line()
    assert ran("archive", "prune", "--older-than", "0h").out.startswith(b"1 run removed")


def test_a_run_that_changed_nothing_is_not_offered_for_undo(home: Home) -> None:
    archive = ("--archive", home.file.parent / "x")
    home.run("trim", "--budget", "100k", *QUICK, *archive, "t.jsonl", "-o", "o.jsonl")
    home.run(*TRUNCATE, *archive, "t.jsonl")
    home.run("trim", "--budget", "100k", *QUICK, *archive, "t.jsonl", "-o", "same.jsonl")
    assert home.run("restore", *archive, "same.jsonl").out == line()
    ran = home.run("restore", "--in-place", *archive, "t.jsonl")
    assert home.file.read_bytes() == line()
    assert "restore it again" not in ran.err


@pytest.mark.parametrize(
    "name", ["-x.jsonl", "a b.jsonl", "a'b.jsonl", "a\tb.jsonl", "a\xa0\\.jsonl", "a\udcff.jsonl"]
)
def test_the_printed_command_undoes_the_run_whatever_the_name(home: Home, name: str) -> None:
    file = home.file.parent / name
    file.write_bytes(line())
    ran = home.run("truncate", "--in-place", *QUICK, "--", name)
    undo = ran.err.splitlines()[-1].removeprefix("undo: ctxtrim ")
    assert undo.isprintable()
    words = ["bash", "-c", f'exec "$@" {undo}', "bash", *COMMAND]
    environment = ENVIRONMENT | {"XDG_DATA_HOME": str(home.data)}
    done = subprocess.run(words, cwd=file.parent, env=environment, capture_output=True)
    assert done.returncode == 0, done.stderr
    assert file.read_bytes() == line()


def test_a_change_inside_the_output_is_not_undone(home: Home) -> None:
    home.run(*TRUNCATE, "t.jsonl")
    data = home.file.read_bytes().replace(b"look", b"took")
    home.file.write_bytes(data)
    ran = home.run("restore", "--in-place", "t.jsonl")
    assert (ran.code, home.file.read_bytes()) == (1, data)
    assert "no run in" in ran.err


@pytest.mark.parametrize("words", [("--dry-run",), ("--no-archive", "--in-place"), ("-o", "o")])
def test_nothing_is_stored_unless_a_file_is_replaced(home: Home, words: tuple[str, ...]) -> None:
    ran = home.run("truncate", *words, *QUICK, "t.jsonl")
    assert ran.code == 0
    assert "undo" not in ran.err
    assert not home.data.exists()


@pytest.mark.parametrize("words", [TRIM, (*TRUNCATE, "--max-age", "90"), (*TRIM, "--quiet")])
def test_an_unchanged_file_has_no_run_to_undo(home: Home, words: tuple[str, ...]) -> None:
    data = line(oversized_chat()) if words == TRIM else home.file.read_bytes()
    home.file.write_bytes(data)
    ran = home.run(*words, "t.jsonl")
    assert "undo" not in ran.err
    assert (home.file.read_bytes() == data) == (not home.packs)


def test_without_a_writable_data_folder_the_file_stays_and_the_error_names_the_option(
    home: Home,
) -> None:
    home.data.write_bytes(b"not a folder")
    for words in (TRUNCATE, ("check", "--fix", *QUICK)):
        ran = home.run(*words, "t.jsonl")
        assert (ran.code, home.file.read_bytes()) == (1, line())
        assert "--no-archive" in ran.err
        assert "undo:" not in ran.err
    assert home.run(*TRUNCATE, "--no-archive", "t.jsonl").code == 0
    assert home.file.read_bytes() != line()


def test_contradicting_options_are_refused(home: Home) -> None:
    for words, expected in (
        ((*TRUNCATE, "--archive", "a", "--no-archive", "t.jsonl"), "--archive and --no-archive"),
        (("check", "--no-archive", "t.jsonl"), "--no-archive needs --fix"),
        (("check", "--repair", "synthesize", "t.jsonl"), "--repair needs --fix"),
        (("check", "--pin", "id:a", "t.jsonl"), "--pin needs --fix"),
        (("restore", "--in-place", "-o", "x", "t.jsonl"), "cannot be combined with -o"),
        (("restore", "--in-place", "-"), "cannot be combined with standard input"),
        (("restore", "t.jsonl", "u.jsonl"), "several files"),
        (("restore", "-o", "x", "t.jsonl", "u.jsonl"), "several files"),
    ):
        ran = home.run(*words)
        assert (ran.code, ran.out) == (2, b"")
        assert expected in ran.err


def test_the_error_for_a_report_of_fixed_standard_input_names_no_option_of_other_commands(
    home: Home,
) -> None:
    for words, advice in (
        (("check", "--fix"), "--report FILE"),
        (("trim",), "--report FILE or the transcript with -o"),
    ):
        ran = home.run(*words, "--json")
        assert (ran.code, ran.err.endswith(f"write the report with {advice}\n")) == (2, True)


def test_the_printed_command_names_the_archive_and_is_safe_in_a_shell(home: Home) -> None:
    file = home.file.rename(home.file.with_name("my talk.jsonl"))
    ran = home.run(*TRUNCATE, "--archive", "kept", file.name)
    undo = "undo: ctxtrim restore 'my talk.jsonl' --in-place --archive kept\n"
    assert ran.err.endswith(undo)
    assert not home.data.exists()


def test_many_files_have_a_bounded_list_of_commands_and_a_complete_report(home: Home) -> None:
    for number in range(13):
        (home.file.parent / f"{number}.jsonl").write_bytes(line())
    ran = home.run(*TRUNCATE, "--report", "r.json", ".")
    assert ran.err.count("undo: ctxtrim restore") == 10
    assert "… and 4 files more; ctxtrim archive list has all of them" in ran.err
    findings = json.loads((home.file.parent / "r.json").read_text())["findings"]
    assert [finding["code"] for finding in findings] == ["undo"] * 14


def test_the_archive_is_private_and_a_walk_skips_it(home: Home) -> None:
    home.run(*TRUNCATE, "t.jsonl")
    folder = home.data / "ctxtrim" / "archive"
    for path in [folder, *folder.rglob("*")]:
        assert path.stat().st_mode & 0o077 == 0, path
    assert "1 transcript," in home.run(*TRUNCATE, "..").err


@pytest.mark.exhaustive
def test_a_run_that_is_killed_at_any_moment_can_be_undone_or_changed_nothing(home: Home) -> None:
    data = b"".join(conversation(steps(9, f"result {number} " * 200)) for number in range(40))
    home.file.write_bytes(data)
    words = [*COMMAND, *TRUNCATE, "--max-age", "1", "--quiet", str(home.file)]
    environment = ENVIRONMENT | {"XDG_DATA_HOME": str(home.data)}
    start = time.monotonic()
    subprocess.run(words, check=True, env=environment)
    took, after = time.monotonic() - start, home.file.read_bytes()
    moments = random.Random(3)
    for _ in range(40):
        home.file.write_bytes(data)
        process = subprocess.Popen(words, env=environment)
        time.sleep(moments.uniform(0, took * 1.1))
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert home.file.read_bytes() in (data, after)
        if home.file.read_bytes() == after:
            assert home.run("restore", "--in-place", "t.jsonl").code == 0
            assert home.file.read_bytes() == data
