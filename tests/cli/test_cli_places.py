"""Inputs and outputs of a command are different files; other things in a walked folder are
ignored.
"""

import json
import os
import socket
import subprocess
import sys
from itertools import combinations
from pathlib import Path

import pytest
from conftest import COMMAND, ENVIRONMENT, Run
from samples import line, shortened
from test_cli_files import names

QUICK = ("--tokenizer", "chars4")
OUTPUTS = ("-o", "--report", "--log", "--events", "--summary-store")


def refusal(ctxtrim: Run, folder: Path, *words: object, **more: bytes) -> str:
    """The message of a usage error, before which nothing was made or changed."""
    before = {
        str(path): (path.lstat().st_mtime_ns, path.lstat().st_size) for path in folder.rglob("*")
    }
    ran = ctxtrim("run", "-s", "truncate", *QUICK, *words, **more)
    assert ran.code == 2, ran
    assert len(ran.err.splitlines()) == 1
    assert {
        str(path): (path.lstat().st_mtime_ns, path.lstat().st_size) for path in folder.rglob("*")
    } == before
    return ran.err


@pytest.mark.parametrize("option", OUTPUTS)
@pytest.mark.parametrize("way", ["same", "dots", "link", "hardlink"])
def test_an_output_is_never_an_input(ctxtrim: Run, tmp_path: Path, option: str, way: str) -> None:
    path, other = tmp_path / "a.jsonl", tmp_path / "b"
    path.write_bytes(line())
    if way == "link":
        other.symlink_to("a.jsonl")
    elif way == "hardlink":
        other.hardlink_to(path)
    named = {"same": path, "dots": f"{tmp_path}/../{tmp_path.name}/a.jsonl"}.get(way, other)
    words = () if option == "-o" else ("-o", tmp_path / "out")
    err = refusal(ctxtrim, tmp_path, path, *words, option, named)
    assert f"{option} {named} and the input {path} are the same file" in err
    assert ("--in-place" in err) == (option == "-o"), "only a transcript can replace its input"


@pytest.mark.parametrize("words", [("count",), ("convert", "--to", "anthropic")])
def test_commands_without_in_place_do_not_advise_it(
    ctxtrim: Run, tmp_path: Path, words: tuple[str, ...]
) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(line())
    option = "--report" if words == ("count",) else "-o"
    ran = ctxtrim(*words, option, path, path)
    text = f"ctxtrim: {option} {path} and the input {path} are the same file; give another path\n"
    assert (ran.code, ran.err) == (2, text)


def test_an_output_inside_a_file_names_the_file(ctxtrim: Run, tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(b"")
    ran = ctxtrim("truncate", "-o", "a.jsonl/x.jsonl", stdin=line(), cwd=tmp_path)
    assert ran.code == 1
    assert "a.jsonl/x.jsonl: cannot be written: a.jsonl is not a folder\n" in ran.err


@pytest.mark.parametrize(("option", "other"), list(combinations(OUTPUTS, 2)))
@pytest.mark.parametrize("exists", [True, False])
def test_two_outputs_are_never_the_same_file(
    ctxtrim: Run, tmp_path: Path, option: str, other: str, exists: bool
) -> None:
    path, link = tmp_path / "out", tmp_path / "link"
    if exists:
        path.write_bytes(b"")
    link.symlink_to("out")
    words = () if option == "-o" else ("-o", tmp_path / "other")
    err = refusal(ctxtrim, tmp_path, *words, option, path, other, link, stdin=line())
    assert f"{option} {path} and {other} {link} are the same file; give each its own path" in err


@pytest.mark.parametrize("option", OUTPUTS)
def test_no_output_is_inside_the_archive(ctxtrim: Run, tmp_path: Path, option: str) -> None:
    archive = tmp_path / "a"
    path = archive / "objects" / "out"
    words = () if option == "-o" else ("-o", tmp_path / "out")
    err = refusal(ctxtrim, tmp_path, "--archive", archive, *words, option, path, stdin=line())
    assert (
        f"{option} {path} is inside the archive {archive}; give a path outside the archive" in err
    )


def test_no_input_is_inside_the_archive(ctxtrim: Run, tmp_path: Path) -> None:
    archive = tmp_path / "a"
    ctxtrim("truncate", *QUICK, "--archive", archive, stdin=line())
    (pack,) = (archive / "packs").iterdir()
    assert f"{pack} is inside the archive" in refusal(
        ctxtrim, tmp_path, "--in-place", "--archive", archive, pack
    )


def test_files_of_an_output_folder_are_checked(ctxtrim: Run, tmp_path: Path) -> None:
    for folder in ("in", "out"):
        (tmp_path / folder).mkdir()
    for name in ("a.jsonl", "b.jsonl"):
        (tmp_path / "in" / name).write_bytes(line())
    (tmp_path / "out" / "b.jsonl").symlink_to(tmp_path / "in" / "a.jsonl")
    err = refusal(ctxtrim, tmp_path, tmp_path / "in", "-o", tmp_path / "out")
    assert f"-o {tmp_path}/out/b.jsonl and the input {tmp_path}/in/a.jsonl are the same file" in err
    err = refusal(
        ctxtrim,
        tmp_path,
        tmp_path / "in",
        "-o",
        tmp_path / "new",
        "--log",
        tmp_path / "new" / "b.jsonl",
    )
    assert f"-o {tmp_path}/new/b.jsonl and --log {tmp_path}/new/b.jsonl are the same file" in err


def test_a_file_is_replaced_in_place_once(ctxtrim: Run, tmp_path: Path) -> None:
    path, link = tmp_path / "a.jsonl", tmp_path / "link.jsonl"
    path.write_bytes(line())
    link.symlink_to("a.jsonl")
    err = refusal(ctxtrim, tmp_path, "--in-place", path, link)
    assert f"{path} and {link} are the same file; name it once" in err
    (tmp_path / "in").mkdir()
    path.rename(tmp_path / "in" / "a.jsonl")
    err = refusal(ctxtrim, tmp_path, "--in-place", tmp_path / "in", tmp_path / "in")
    assert "are the same file; name it once" in err


@pytest.mark.parametrize("command", ["count", "check"])
def test_a_file_that_is_named_twice_is_counted_once(
    ctxtrim: Run, tmp_path: Path, command: str
) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.jsonl").write_bytes(line())
    (tmp_path / "link.jsonl").symlink_to("in/a.jsonl")
    ran = ctxtrim(command, "--json", "in", "./in/a.jsonl", "link.jsonl", cwd=tmp_path)
    assert json.loads(ran.out)["totals"]["transcripts"] == 1
    assert ran.err.splitlines() == [
        f"{name}: info: skipped: it is the same file as in/a.jsonl"
        for name in ("./in/a.jsonl", "link.jsonl")
    ]


@pytest.mark.parametrize("option", ["-o", "--report"])
def test_an_output_is_named_once(ctxtrim: Run, tmp_path: Path, option: str) -> None:
    words = () if option == "-o" else ("-o", tmp_path / "out")
    err = refusal(ctxtrim, tmp_path, *words, option, tmp_path / "x", option, tmp_path / "y")
    name = {"-o": "--output"}.get(option, option)
    assert err == f"ctxtrim: {name} is given twice; give it once, or run twice\n"


def test_standard_input_is_not_replaced_by_another_name(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(line())
    words = [*COMMAND, "truncate", *QUICK, "--in-place", "/dev/stdin"]
    with path.open("rb") as source:
        done = subprocess.run(words, stdin=source, capture_output=True, env=ENVIRONMENT)
    assert (done.returncode, path.read_bytes()) == (2, line())
    assert b"--in-place needs files; /dev/stdin cannot be replaced" in done.stderr


def test_redirected_standard_streams_are_checked(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(line())
    words = [*COMMAND, "truncate", *QUICK]
    with path.open("rb") as source:
        done = subprocess.run(
            [*words, "-o", str(path)], stdin=source, capture_output=True, env=ENVIRONMENT
        )
    assert (done.returncode, path.read_bytes()) == (2, line())
    with path.open("ab") as target:
        done = subprocess.run(
            [*words, str(path)], stdout=target, stderr=subprocess.PIPE, env=ENVIRONMENT
        )
    assert (done.returncode, path.read_bytes()) == (2, line())
    assert b"standard output and the input " in done.stderr


@pytest.mark.parametrize("words", [("count", "--json"), ("check", "--json"), ("truncate",)])
def test_the_file_of_standard_output_is_no_input_of_its_folder(
    tmp_path: Path, words: tuple[str, ...]
) -> None:
    (tmp_path / "a.jsonl").write_bytes(line())
    with (tmp_path / "out.json").open("wb") as target:
        command = [*COMMAND, *words, *QUICK, "."]
        done = subprocess.run(
            command, cwd=tmp_path, stdout=target, stderr=subprocess.PIPE, env=ENVIRONMENT
        )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "out.json").stat().st_size > 0


def test_a_device_accepts_several_outputs(ctxtrim: Run, tmp_path: Path) -> None:
    words = ("-o", "/dev/null", "--report", "/dev/null", "--log", "/dev/null")
    assert ctxtrim("truncate", *QUICK, *words, stdin=line()).code == 0


def test_walking_a_folder_yields_only_files(ctxtrim: Run, tmp_path: Path) -> None:
    folder, outside = tmp_path / "in", tmp_path / "outside"
    (folder / "deep").mkdir(parents=True)
    outside.mkdir()
    for path in (folder / "a.jsonl", folder / "deep" / "b.jsonl", outside / "c.jsonl"):
        path.write_bytes(line())
    (folder / "link.jsonl").symlink_to(outside / "c.jsonl")
    (folder / "away").symlink_to(outside)
    os.mkfifo(folder / "pipe.jsonl")
    os.mkfifo(folder / "pipe")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(folder / "deep" / "socket.json"))
    ran = ctxtrim("truncate", "--in-place", *QUICK, folder)
    assert ran.code == 0
    assert (outside / "c.jsonl").read_bytes() == line()
    assert (folder / "deep" / "b.jsonl").read_bytes() == shortened(line())
    assert ran.err.splitlines()[:3] == [
        f"{folder}/link.jsonl: info: skipped: links in a folder are not followed; name "
        "the file to read it",
        f"{folder}/pipe.jsonl: info: skipped: it is a pipe, a socket or "
        "a device; name it to read it",
        f"{folder}/deep/socket.json: info: skipped: it is a pipe, a socket or a device; "
        "name it to read it",
    ]
    assert "2 transcripts," in ran.err
    assert (folder / "pipe.jsonl").is_fifo()
    ran = ctxtrim("truncate", *QUICK, folder / "link.jsonl")
    assert ran.out == shortened(line())
    ran = ctxtrim("truncate", "--quiet", *QUICK, folder, "-o", tmp_path / "out")
    assert ran.err == ""
    assert names(tmp_path / "out") == ["a.jsonl", "deep/b.jsonl"]


def in_bash(shell: str, folder: Path) -> "subprocess.CompletedProcess[bytes]":
    """A command line in which `$0` is Python."""
    words = ["bash", "-c", shell, COMMAND[0]]
    environment = ENVIRONMENT | {"PYTHONPATH": str(Path(__file__).parents[2])}
    return subprocess.run(words, capture_output=True, cwd=folder, env=environment)


def test_named_pipes_are_read(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(line())
    shell = 'exec "$0" -m ctxtrim truncate --tokenizer chars4 <(cat a.jsonl) <(gzip -c a.jsonl)'
    assert in_bash(shell, tmp_path).stdout == shortened(line()) * 2


def test_a_device_or_socket_is_read_or_refused_in_one_line(ctxtrim: Run, tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "socket"))
    for path in ("/dev/null", tmp_path / "socket"):
        ran = ctxtrim("count", path)
        assert ran.code == 1
        assert len(ran.err.splitlines()) == 1


def test_a_report_is_written_to_a_process_of_the_shell(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(line())
    shell = '"$0" -m ctxtrim count --tokenizer chars4 -q a.jsonl --report >(cat >&2)'
    done = in_bash(shell, tmp_path)
    assert done.returncode == 0
    assert done.stderr.splitlines()[-1].startswith(b"1 transcript, ")


def test_a_report_is_written_though_nobody_reads_the_output(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(line() * 3000)
    shell = '"$0" -m ctxtrim truncate --tokenizer chars4 -q a.jsonl --report r.json | head -c 10'
    assert in_bash(shell, tmp_path).returncode == 0
    assert json.loads((tmp_path / "r.json").read_bytes())["totals"]["transcripts"] > 0


@pytest.mark.parametrize("option", ["--report", "--log", "GITHUB_STEP_SUMMARY"])
@pytest.mark.parametrize("way", ["same", "link"])
@pytest.mark.parametrize("read", ["input", "--baseline", "--config", "found", "--tokenizer"])
def test_no_output_of_check_replaces_a_file_that_it_reads(
    ctxtrim: Run, tmp_path: Path, tokenizer_path: str, option: str, way: str, read: str
) -> None:
    (tmp_path / "a.jsonl").write_bytes(line())
    (tmp_path / "b.json").write_text('{"version": 1, "transcripts": []}')
    (tmp_path / "c.toml").write_text("reserve = 5000\n")
    (tmp_path / "ctxtrim.toml").write_text("reserve = 6000\n")
    (tmp_path / "t.json").write_bytes(Path(tokenizer_path).read_bytes())
    own = {"input": "a.jsonl", "--baseline": "b.json", "--config": "c.toml"}
    name = {**own, "found": "ctxtrim.toml", "--tokenizer": "t.json"}[read]
    target = name
    if way == "link":
        target = "link.json"
        (tmp_path / target).symlink_to(name)
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    words = [read, name] if read.startswith("--") else []
    words += [] if option.isupper() else [option, target]
    environment = {option: target} if option.isupper() else {}
    form = "json" if option == "--report" else "github"
    words += ["--report-format", form]
    ran = ctxtrim("check", "a.jsonl", *words, cwd=tmp_path, **environment)
    assert (ran.code, ran.out) == (2, b"")
    assert f"{option} {target} and " in ran.err and f"{name} are the same file" in ran.err
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


@pytest.mark.skipif(sys.platform == "win32", reason="the system keeps folders that are in use")
def test_a_deleted_working_directory_matters_only_for_relative_paths(tmp_path: Path) -> None:
    code = "import os, sys; os.rmdir(os.getcwd()); os.execv(sys.executable, sys.argv[1:])"
    (tmp_path / "a.jsonl").write_bytes(line())

    def ran(*words: object) -> tuple[int, str]:
        gone = tmp_path / "gone"
        gone.mkdir()
        done = subprocess.run(
            [sys.executable, "-c", code, *COMMAND, *map(str, words)],
            capture_output=True,
            text=True,
            cwd=gone,
            env=ENVIRONMENT,
        )
        return done.returncode, done.stderr.strip()

    assert ran("count", tmp_path / "a.jsonl") == (0, "")
    assert ran("truncate", "--in-place", "--quiet", tmp_path / "a.jsonl") == (0, "")
    assert (tmp_path / "a.jsonl").read_bytes() == shortened(line())
    why = "the working directory was deleted; change to another one"
    assert ran("count", "b.jsonl") == (1, f"b.jsonl: error: cannot be read: {why}")
    assert ran("truncate", tmp_path / "a.jsonl", "-o", "b.jsonl") == (1, f"ctxtrim: {why}")
