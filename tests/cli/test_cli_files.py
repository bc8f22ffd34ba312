"""Commands on files: the destination of the bytes, and the checks before the first write."""

import os
import stat
import subprocess
from pathlib import Path

import pytest
from conftest import COMMAND, ENVIRONMENT, FIXTURES, Run
from samples import chat, line, long_chat, oversized_chat, shortened

QUICK = ("--tokenizer", "chars4")
TIGHT = (*QUICK, "--budget", "300")


def state(path: Path) -> tuple[int, int, bytes]:
    """The state that changes if a process writes a file."""
    return path.stat().st_ino, path.stat().st_mtime_ns, path.read_bytes()


def names(folder: Path) -> list[str]:
    """Every file below a folder, hidden ones as well."""
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if not path.is_dir())


def test_in_place_writes_only_changed_files(ctxtrim: Run, tmp_path: Path) -> None:
    old, young, link = tmp_path / "old.jsonl", tmp_path / "young.jsonl", tmp_path / "link.jsonl"
    old.write_bytes(line() + line(chat()))
    old.chmod(0o640)
    young.write_bytes(line(chat()))
    target = tmp_path / "elsewhere"
    target.write_bytes(line())
    link.symlink_to(target)
    before = state(young)
    ran = ctxtrim("truncate", "--in-place", *QUICK, old, young, link)
    assert ran.code == 0
    assert old.read_bytes() == shortened(line()) + line(chat())
    assert stat.S_IMODE(old.stat().st_mode) == 0o640
    assert state(young) == before
    assert link.is_symlink()
    assert target.read_bytes() == shortened(line())
    assert names(tmp_path) == ["elsewhere", "link.jsonl", "old.jsonl", "young.jsonl"]


def test_in_place_keeps_a_file_with_an_overflow_unchanged(ctxtrim: Run, tmp_path: Path) -> None:
    mixed, other = tmp_path / "mixed.jsonl", tmp_path / "other.jsonl"
    mixed.write_bytes(line(long_chat()) + line(oversized_chat()))
    other.write_bytes(line(long_chat()))
    before = state(mixed)
    ran = ctxtrim("trim", "--in-place", *TIGHT, tmp_path)
    assert ran.code == 3
    assert state(mixed) == before
    assert len(other.read_bytes()) < len(line(long_chat()))
    assert names(tmp_path) == ["mixed.jsonl", "other.jsonl"]
    kept = ctxtrim("trim", "--in-place", "--on-overflow", "keep", *TIGHT, mixed)
    assert kept.code == 3
    assert mixed.read_bytes() == other.read_bytes() + line(oversized_chat())


def test_a_document_with_an_overflow_is_left_whole(ctxtrim: Run, tmp_path: Path) -> None:
    path = tmp_path / "document.json"
    path.write_bytes(b"[\n" + line(long_chat()) + b",\n" + line(oversized_chat()) + b"]\n")
    before = state(path)
    assert ctxtrim("trim", "--in-place", *TIGHT, path).code == 3
    ran = ctxtrim("trim", *TIGHT, path)
    assert (ran.code, ran.out) == (3, b"")
    assert state(path) == before
    assert "ctxtrim: trim: 2 transcripts, " in ran.err
    assert "1 overflowing, 2 not written\n" in ran.err


def test_the_findings_of_the_first_transcripts_are_printed_and_the_others_counted(
    ctxtrim: Run, tmp_path: Path
) -> None:
    path, report = tmp_path / "a.jsonl", tmp_path / "r.csv"
    path.write_bytes(line(oversized_chat()) * 23)
    ran = ctxtrim("trim", *TIGHT, path, "--report", report)
    assert ran.code == 3
    assert ran.err.count("Cannot fit request") == 20
    assert "… and 3 transcripts more; --report has all of them\n" in ran.err
    assert len(report.read_text().splitlines()) == 1 + 23


def test_a_quiet_run_prints_errors_alone(ctxtrim: Run) -> None:
    data = line(chat(), '"model": "gull-9"')
    assert "model gull-9 is unknown" in ctxtrim("trim", stdin=data).err
    assert ctxtrim("trim", "--quiet", stdin=data).err == ""
    ran = ctxtrim("trim", "--quiet", *TIGHT, stdin=data + line(oversized_chat()))
    assert all(": error: " in text or text[:1] == " " for text in ran.err.splitlines())
    assert (ran.code, "Cannot fit request" in ran.err) == (3, True)


def test_o_always_creates_its_file(ctxtrim: Run, tmp_path: Path) -> None:
    ran = ctxtrim(
        "truncate", *QUICK, FIXTURES / "messages.jsonl", "-o", tmp_path / "new" / "out.jsonl"
    )
    assert ran.code == 0
    assert (tmp_path / "new" / "out.jsonl").read_bytes() == (
        FIXTURES / "messages.jsonl"
    ).read_bytes()
    assert names(tmp_path) == ["new/out.jsonl"]


@pytest.mark.parametrize("name", ["a" * 249, "码" * 83])
def test_the_longest_names_are_written(ctxtrim: Run, tmp_path: Path, name: str) -> None:
    path = tmp_path / f"{name}.jsonl"
    assert ctxtrim("truncate", *QUICK, "-o", path, stdin=line()).code == 0
    path.write_bytes(line())
    assert ctxtrim("truncate", *QUICK, "--in-place", path).code == 0
    assert path.read_bytes() == shortened(line())
    assert names(tmp_path) == [path.name]


def test_a_file_that_o_replaces_keeps_its_mode_and_link(ctxtrim: Run, tmp_path: Path) -> None:
    out, link = tmp_path / "out.jsonl", tmp_path / "link.jsonl"
    out.write_bytes(b"as it was")
    out.chmod(0o640)
    link.symlink_to("out.jsonl")
    assert ctxtrim("truncate", *QUICK, "-o", link, stdin=line()).code == 0
    assert (out.read_bytes(), link.is_symlink()) == (shortened(line()), True)
    assert stat.S_IMODE(out.stat().st_mode) == 0o640


def test_o_creates_no_file_if_no_transcript_remains(ctxtrim: Run, tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    words = ("trim", *TIGHT, "-o", out)
    assert ctxtrim(*words, stdin=line(oversized_chat())).code == 3
    assert names(tmp_path) == []
    out.write_bytes(b"as it was")
    assert ctxtrim(*words, stdin=line(oversized_chat())).code == 3
    assert out.read_bytes() == b"as it was"
    ran = ctxtrim(*words, stdin=line(oversized_chat()) + line(chat()))
    assert (ran.code, out.read_bytes()) == (3, line(chat()))
    assert "Cannot fit request within context limit." in ran.err


def test_a_folder_keeps_its_paths_and_skips_the_output_and_loops(
    ctxtrim: Run, tmp_path: Path
) -> None:
    (tmp_path / "in" / "deep").mkdir(parents=True)
    for name in ("a.jsonl", "deep/a.jsonl"):
        (tmp_path / "in" / name).write_bytes(line())
    (tmp_path / "in" / "note.txt").write_bytes(b"no transcript")
    (tmp_path / "in" / "loop").symlink_to(tmp_path / "in")
    for _ in range(2):  # the second time the output is there already
        assert ctxtrim("truncate", *QUICK, tmp_path / "in", "-o", tmp_path / "in" / "out").code == 0
        assert names(tmp_path / "in" / "out") == ["a.jsonl", "deep/a.jsonl"]
    assert (tmp_path / "in" / "out" / "deep" / "a.jsonl").read_bytes() == shortened(line())


@pytest.mark.parametrize(("output", "made"), [("out", "out/a.jsonl"), ("out.jsonl", "out.jsonl")])
def test_the_output_of_a_folder_with_one_file_is_a_folder_unless_it_is_named_as_a_file(
    ctxtrim: Run, tmp_path: Path, output: str, made: str
) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.jsonl").write_bytes(line())
    assert ctxtrim("truncate", *QUICK, "in", "-o", output, cwd=tmp_path).code == 0
    assert names(tmp_path) == ["in/a.jsonl", made]


def test_inputs_with_the_same_name_are_an_error_before_any_write(
    ctxtrim: Run, tmp_path: Path
) -> None:
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "a.jsonl").write_bytes(line())
    (tmp_path / "one" / "b.jsonl").write_bytes(line())
    ran = ctxtrim("run", tmp_path / "one", tmp_path / "two" / "a.jsonl", "-o", tmp_path / "out")
    assert ran.code == 2
    assert "a.jsonl" in ran.err
    assert not (tmp_path / "out").exists()


def test_several_inputs_share_standard_output_line_by_line(ctxtrim: Run, tmp_path: Path) -> None:
    first, second = tmp_path / "first.jsonl", tmp_path / "second.jsonl"
    first.write_bytes(line(end=""))
    second.write_bytes(line(chat(), end=""))
    ran = ctxtrim("truncate", *QUICK, first, second, first)
    whole = shortened(line())
    assert (ran.code, ran.out) == (0, whole + line(chat()) + whole.removesuffix(b"\n"))


@pytest.mark.parametrize("name", ["claude-code.jsonl", "messages.jsonl", "document.json"])
@pytest.mark.parametrize("by_stdin", [False, True])
def test_documents_do_not_share_standard_output(ctxtrim: Run, name: str, by_stdin: bool) -> None:
    data = (FIXTURES / name).read_bytes() if by_stdin else b""
    ran = ctxtrim(
        "run", *QUICK, FIXTURES / "agent.jsonl", "-" if by_stdin else FIXTURES / name, stdin=data
    )
    assert (ran.code, ran.out) == (2, b"")
    assert "-o" in ran.err


def test_inputs_that_can_be_read_only_once_lose_nothing(tmp_path: Path) -> None:
    reads = []
    for data in (line(), line(chat())):
        read, write = os.pipe()
        os.write(write, data)
        os.close(write)
        reads.append(read)
    words = [*COMMAND, "truncate", *QUICK, *(f"/dev/fd/{read}" for read in reads)]
    done = subprocess.run(words, capture_output=True, pass_fds=reads, env=ENVIRONMENT, cwd=tmp_path)
    for read in reads:
        os.close(read)
    assert done.stdout == shortened(line()) + line(chat())
    assert done.returncode == 0


def test_dry_run_writes_nothing(ctxtrim: Run, tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(line())
    before = state(path)
    for words in (("--in-place",), ("-o", tmp_path / "out.jsonl"), ("-o", f"{tmp_path}/out/")):
        ran = ctxtrim("truncate", *QUICK, "--dry-run", *words, path)
        assert ran.code == 0
        assert b'"messages"' not in ran.out
    ran = ctxtrim("truncate", *QUICK, "--dry-run", path)
    assert b"a.jsonl:1" in ran.out
    assert b'"messages"' not in ran.out
    compact = ("run", "-s", "compact", *QUICK, "--budget", "400", path)
    store = ("--summary-store", tmp_path / "summaries.json")
    assert ctxtrim(*compact, "--dry-run", *store, "--events", tmp_path / "events").code == 0
    assert state(path) == before
    assert names(tmp_path) == ["a.jsonl"]


@pytest.mark.parametrize("report", ["a.jsonl/report.json", "folder", "loop/report.json"])
def test_an_unwritable_report_is_reported_before_any_edit(
    ctxtrim: Run, tmp_path: Path, report: str
) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(line())
    (tmp_path / "folder").mkdir()
    (tmp_path / "loop").symlink_to("loop")
    before = state(path)
    ran = ctxtrim("truncate", *QUICK, "--in-place", path, "--report", tmp_path / report)
    assert ran.code == 1
    assert f"{tmp_path / report}: cannot be written: " in ran.err
    assert len(ran.err.splitlines()) == 1
    assert state(path) == before


def test_missing_folders_of_a_report_are_created(ctxtrim: Run, tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(line())
    words = ("--report", "reports/all/r.xml", "a.jsonl")
    assert ctxtrim("check", *QUICK, *words, cwd=tmp_path).code == 0
    assert (tmp_path / "reports" / "all" / "r.xml").read_bytes().startswith(b"<?xml")


@pytest.mark.parametrize("out", ["a.jsonl/out.jsonl", "loop", "loop/out.jsonl"])
def test_an_unwritable_output_exits_with_1(ctxtrim: Run, tmp_path: Path, out: str) -> None:
    (tmp_path / "a.jsonl").write_bytes(line())
    (tmp_path / "loop").symlink_to("loop")
    ran = ctxtrim("truncate", *QUICK, tmp_path / "a.jsonl", "-o", tmp_path / out)
    assert ran.code == 1
    assert "cannot be written: " in ran.err
    assert (tmp_path / "a.jsonl").read_bytes() == line()
    assert names(tmp_path) == ["a.jsonl", "loop"]


def test_the_total_says_how_many_files_are_not_written(ctxtrim: Run, tmp_path: Path) -> None:
    for name in ("a.jsonl", "b.jsonl", "c.jsonl"):
        (tmp_path / name).write_bytes(line())
        (tmp_path / "full" / name).mkdir(parents=True)
    (tmp_path / "full" / "b.jsonl").rmdir()
    words = ("a.jsonl", "b.jsonl", "c.jsonl", "-o", "full")
    ran = ctxtrim("truncate", *QUICK, *words, cwd=tmp_path)
    assert (ran.code, ran.err.splitlines()[-1]) == (
        1,
        "ctxtrim: truncate: 1 transcript, 15 messages, ≈1,214 → ≈1,075 tokens, 2 files not written",
    )
    ran = ctxtrim("truncate", *QUICK, "a.jsonl", "-o", "b.jsonl/a.jsonl", cwd=tmp_path)
    assert ran.code == 1
    assert ran.err.endswith("truncate: 0 transcripts, 0 messages, 0 tokens, 1 file not written\n")


@pytest.mark.parametrize("name", ["out.jsonl", "out.json", "out.jsonl.gz"])
def test_several_inputs_make_no_folder_with_the_name_of_a_file(
    ctxtrim: Run, tmp_path: Path, name: str
) -> None:
    for file in ("a.jsonl", "b.jsonl"):
        (tmp_path / file).write_bytes(line())
    ran = ctxtrim("truncate", "a.jsonl", "b.jsonl", "-o", name, cwd=tmp_path)
    remedy = f"expected a folder for several inputs; name one, or write {name}/"
    assert (ran.code, ran.err) == (2, f"ctxtrim: -o {name}: {remedy}\n")
    assert ctxtrim("truncate", "a.jsonl", "b.jsonl", "-o", f"{name}/", cwd=tmp_path).code == 0
    assert names(tmp_path / name) == ["a.jsonl", "b.jsonl"]
    assert ctxtrim("truncate", "a.jsonl", "b.jsonl", "-o", "v1.2", cwd=tmp_path).code == 0


def test_a_report_never_overwrites_an_input_or_output(ctxtrim: Run, tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(line())
    out = ctxtrim("truncate", *QUICK, path, "--report", path)
    assert (out.code, path.read_bytes()) == (2, line())
    both = ctxtrim("truncate", *QUICK, path, "-o", tmp_path / "b", "--report", tmp_path / "b")
    assert both.code == 2
    assert names(tmp_path) == ["a.jsonl"]


def test_only_regular_files_are_replaced(ctxtrim: Run, tmp_path: Path) -> None:
    for words in (
        ("-o", tmp_path / "pipe"),
        ("-o", tmp_path / "out.jsonl", "--report", tmp_path / "pipe"),
    ):
        pipe = tmp_path / "pipe"
        os.mkfifo(pipe)
        reader = os.open(pipe, os.O_RDWR | os.O_NONBLOCK)
        ctxtrim("run", *QUICK, FIXTURES / "messages.jsonl", *words)
        os.close(reader)
        assert pipe.is_fifo()
        pipe.unlink()
