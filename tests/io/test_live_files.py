"""Files that other programs write while ctxtrim replaces them in place: no byte they write is
lost.
"""

import json
import os
import resource
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from conftest import COMMAND, ENVIRONMENT, ROOT, Run, default_signals
from samples import chat, line, messages, shortened

from ctxtrim.errors import OutputError
from ctxtrim.io.outputs import Sink, in_place
from ctxtrim.io.replacement import ChangedError, ReplacedError
from ctxtrim.io.temporary import Temporary

QUICK = ("--tokenizer", "chars4", "--quiet")
APPENDS = """
import sys, time
path, pause, number = sys.argv[1], float(sys.argv[2]), 0
print(flush=True)
while True:
    with open(path, "ab") as file:
        file.write(b'{"role": "user", "content": "line %d"}\\n' % number)
    number += 1
    print(number, flush=True)
    time.sleep(pause)
"""


@contextmanager
def appending(path: Path, pause: float) -> Iterator[list[int]]:
    """A process that opens the file, appends a numbered line and closes it; at the end its number
    of lines.
    """
    process = subprocess.Popen(
        [sys.executable, "-c", APPENDS, str(path), str(pause)], stdout=subprocess.PIPE
    )
    assert process.stdout is not None
    process.stdout.readline()
    count: list[int] = []
    try:
        yield count
    finally:
        process.terminate()
        numbers = process.stdout.read().split()
        process.wait()
        process.stdout.close()
        count.append(int(numbers[-1]) if numbers else 0)


def lost(path: Path, count: int) -> set[int]:
    """The numbers of the appended lines that are missing in a file; every line must be complete."""
    names = {json.loads(text)["content"] for text in path.read_bytes().splitlines()}
    return {number for number in range(count) if f"line {number}" not in names}


def wait_until(is_done: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 30
    while not is_done():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.exhaustive
def test_killed_runs_leave_whole_files_and_appended_lines_are_never_lost() -> None:
    words = [sys.executable, ROOT / "scripts" / "kills.py", "--kills", "20", "--live", "10"]
    done = subprocess.run(words, capture_output=True, text=True, cwd=ROOT, env=ENVIRONMENT)
    assert done.returncode == 0, done.stdout + done.stderr
    for expected in ("0 partial targets", "0 temporary files after the next run", "0 lost steps"):
        assert expected in done.stdout


def test_lines_appended_to_a_long_session_while_it_is_edited_are_kept(
    ctxtrim: Run, tmp_path: Path
) -> None:
    path = tmp_path / "a.jsonl"
    session = [message for number in range(300) for message in messages(7)]
    path.write_bytes(b"".join(json.dumps(message).encode() + b"\n" for message in session))
    with appending(path, 0.1) as count:
        ran = ctxtrim("truncate", "--in-place", *QUICK, path)
    assert (ran.code, lost(path, count[0])) in ((0, set()), (1, set()))
    assert names(tmp_path) == ["a.jsonl"]


def test_lines_appended_around_the_rename_are_carried_over(tmp_path: Path) -> None:
    replaced = 0
    # a busy machine may replace no file between two fast appends
    for pause, attempts in ((0.0005, 400), (0.05, 40)):
        path = tmp_path / f"{pause}.jsonl"
        path.write_bytes(b"")
        with appending(path, pause) as count:
            for _ in range(attempts):
                sink = in_place(path)
                sink.write(path.read_bytes())
                try:
                    sink.commit()
                    replaced += 1
                except ChangedError:
                    continue
        assert lost(path, count[0]) == set()
    assert replaced
    assert names(tmp_path) == ["0.0005.jsonl", "0.05.jsonl"]


def late(monkeypatch: pytest.MonkeyPatch, act: Callable[[], object]) -> None:
    """Let another program act between the last check of a file and its replacement."""
    replace = Temporary.replace

    def acted(temporary: Temporary, target: Path) -> None:
        if target.name == "a.jsonl":
            monkeypatch.undo()
            act()
        replace(temporary, target)

    monkeypatch.setattr(Temporary, "replace", acted)


def edited(folder: Path) -> tuple[Path, Sink]:
    """A file, and its new content that is not in place yet."""
    path = folder / "a.jsonl"
    path.write_bytes(b"one\n")
    sink = in_place(path)
    sink.write(b"ONE\n")
    return path, sink


def test_a_line_that_is_appended_just_before_the_rename_is_carried_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, sink = edited(tmp_path)
    with path.open("rb") as former, ExitStack() as opened:

        def append() -> None:
            file = opened.enter_context(path.open("ab", buffering=0))
            file.write(b"two\n")

        late(monkeypatch, append)
        with pytest.raises(ReplacedError, match="still writes to the former file"):
            sink.commit()
        assert former.read() == b"one\ntwo\n"
    assert path.read_bytes() == b"ONE\ntwo\n"


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="opens a renamed file, on Linux")
def test_a_line_of_a_program_that_opens_the_former_file_after_the_rename_is_carried_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, sink = edited(tmp_path)
    with path.open("rb") as former:

        def append(_: float) -> None:
            assert path.read_bytes() == b"ONE\n"
            with Path(f"/proc/self/fd/{former.fileno()}").open("ab") as file:
                file.write(b"two\n")

        monkeypatch.setattr("ctxtrim.io.replacement.time.sleep", append)
        sink.commit()
        assert former.read() == b"one\ntwo\n"
    assert path.read_bytes() == b"ONE\ntwo\n"


def test_a_file_that_nothing_writes_is_replaced_without_a_pause(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b"one\n")
    os.utime(path, ns=(1, 1))
    sink = in_place(path)
    sink.write(b"ONE\n")
    monkeypatch.delattr("ctxtrim.io.replacement.time.sleep")
    sink.commit()
    assert path.read_bytes() == b"ONE\n"


def test_a_version_that_is_written_just_before_the_rename_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, sink = edited(tmp_path)
    late(monkeypatch, lambda: path.write_bytes(b"another version\n"))
    with pytest.raises(ReplacedError, match=r"that version is in .*-kept: compare the two"):
        sink.commit()
    (copy,) = tmp_path.glob("*-kept")
    assert (path.read_bytes(), copy.read_bytes()) == (b"ONE\n", b"another version\n")
    assert len(names(tmp_path)) == 2


def test_lines_that_do_not_fit_on_the_disk_after_the_rename_are_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, sink = edited(tmp_path)
    former = resource.getrlimit(resource.RLIMIT_FSIZE)

    def append() -> None:
        with path.open("ab") as file:
            file.write(b"two\n")
        resource.setrlimit(resource.RLIMIT_FSIZE, (4, former[1]))  # the new file has 4 bytes

    late(monkeypatch, append)
    try:
        with pytest.raises(ReplacedError, match=r"replaced, but lines .* cannot be added: file"):
            sink.commit()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, former)
    assert path.read_bytes() == b"ONE\n"
    assert names(tmp_path) == ["a.jsonl"]


def test_a_run_that_replaced_a_file_but_not_its_new_version_is_undone(
    ctxtrim: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, archive = tmp_path / "a.jsonl", ("--archive", tmp_path / "archive")
    path.write_bytes(line())
    late(monkeypatch, lambda: path.write_bytes(line(chat())))
    ran = ctxtrim("truncate", "--in-place", *QUICK, *archive, path)
    assert (ran.code, path.read_bytes()) == (1, shortened(line()))
    assert ctxtrim("restore", *archive, path).out == line()


def test_a_file_that_grew_while_it_was_read_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b"one\n")
    sink = in_place(path)
    sink.write(b"ONE\n")
    with path.open("ab") as file:
        file.write(b"two\n")
    with pytest.raises(
        ChangedError, match=r"a\.jsonl: changed 5 times while it was edited; end the program"
    ):
        sink.commit()
    assert path.read_bytes() == b"one\ntwo\n"
    assert names(tmp_path) == ["a.jsonl"]


@pytest.mark.parametrize("change", ["rewritten", "replaced", "touched"])
def test_a_file_that_changed_in_another_way_is_not_replaced(tmp_path: Path, change: str) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b"one\n")
    sink = in_place(path)
    sink.write(b"ONE\n")
    if change == "rewritten":
        path.write_bytes(b"two\n")
    elif change == "replaced":
        (tmp_path / "new").write_bytes(b"one\n")
        os.utime(tmp_path / "new", ns=(path.stat().st_mtime_ns, path.stat().st_mtime_ns))
        (tmp_path / "new").replace(path)
    os.utime(path, ns=(1, 1)) if change == "touched" else None
    before = path.read_bytes()
    with pytest.raises(ChangedError):
        sink.commit()
    assert path.read_bytes() == before


def test_a_file_that_another_process_has_open_for_writing_is_refused(
    ctxtrim: Run, tmp_path: Path
) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(line())
    with path.open("ab"):
        ran = ctxtrim("truncate", "--in-place", *QUICK, path)
    assert ran.code == 1
    assert (
        f"process {os.getpid()} has it open for writing; end that process first, or write a copy"
        in ran.err
    )
    assert len(ran.err.splitlines()) == 1
    assert path.read_bytes() == line()
    with path.open("rb"):
        assert ctxtrim("truncate", "--in-place", *QUICK, path).code == 0
    assert path.read_bytes() == shortened(line())


def test_check_fix_detects_other_writers(ctxtrim: Run, tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    orphan = [
        {"role": "user", "content": "Look."},
        {"role": "tool", "tool_call_id": "x", "content": "nobody asked"},
    ]
    path.write_bytes(line(orphan))
    with path.open("ab"):
        ran = ctxtrim("check", "--fix", path)
    assert ran.code == 1
    assert path.read_bytes() == line(orphan)


def test_a_read_only_or_hard_linked_file_is_refused_with_the_reason(
    ctxtrim: Run, tmp_path: Path
) -> None:
    path, other = tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    path.write_bytes(line())
    path.chmod(0o444)
    ran = ctxtrim("truncate", "--in-place", *QUICK, path)
    assert (ran.code, path.read_bytes()) == (1, line())
    assert "a.jsonl: error: is read-only; make it writable, or write a copy with -o" in ran.err
    path.chmod(0o644)
    other.hardlink_to(path)
    ran = ctxtrim("truncate", "--in-place", *QUICK, path)
    assert (ran.code, path.read_bytes()) == (1, line())
    reason = "has 2 hard links, and only this one would be replaced; write a copy with -o"
    assert f"a.jsonl: error: {reason}" in ran.err
    assert path.samefile(other)
    assert names(tmp_path) == ["a.jsonl", "b.jsonl"]


@pytest.mark.parametrize("words", [("trim",), ("check", "--fix")])
def test_a_read_only_or_hard_linked_file_that_stays_as_it_is_is_no_error(
    ctxtrim: Run, tmp_path: Path, words: tuple[str, ...]
) -> None:
    path, other = tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    path.write_bytes(line())
    other.hardlink_to(path)
    path.chmod(0o444)
    in_place = ("--in-place",) if words == ("trim",) else ()
    ran = ctxtrim(*words, *in_place, path)
    assert (ran.code, "error" in ran.err) == (0, False), ran.err
    assert names(tmp_path) == ["a.jsonl", "b.jsonl"]


def test_hard_links_in_a_folder_are_refused_alone(ctxtrim: Run, tmp_path: Path) -> None:
    for name in ("a.jsonl", "c.jsonl"):
        (tmp_path / name).write_bytes(line())
    (tmp_path / "b.jsonl").hardlink_to(tmp_path / "a.jsonl")
    ran = ctxtrim("truncate", "--in-place", *QUICK, tmp_path)
    assert (ran.code, (tmp_path / "c.jsonl").read_bytes()) == (1, shortened(line()))
    for name in ("a.jsonl", "b.jsonl"):
        assert f"{name}: error: has 2 hard links" in ran.err
        assert (tmp_path / name).read_bytes() == line()


def test_a_folder_of_files_that_cannot_be_replaced_has_transcripts(
    ctxtrim: Run, tmp_path: Path
) -> None:
    (tmp_path / "a.jsonl").write_bytes(line())
    (tmp_path / "b.jsonl").hardlink_to(tmp_path / "a.jsonl")
    ran = ctxtrim("truncate", "--in-place", *QUICK, tmp_path)
    assert (ran.code, ran.err.count("error: has 2 hard links")) == (1, 2)
    assert "no file in the folder" not in ran.err


def test_a_file_that_cannot_be_replaced_costs_no_summary(ctxtrim: Run, tmp_path: Path) -> None:
    path, store, called = tmp_path / "a.jsonl", tmp_path / "store.json", tmp_path / "called"
    path.write_bytes(line())
    path.chmod(0o444)
    command = f"touch {called}; cat"
    words = ("--summarize", "--llm-command", command, "--summary-store", store)
    ran = ctxtrim("trim", "--budget", "60", "--tokenizer", "chars4", "--in-place", *words, path)
    assert (ran.code, called.exists(), store.exists()) == (1, False, False)
    assert "is read-only" in ran.err
    words = ("--summarize", "--summary-store", store)
    ran = ctxtrim("trim", "--budget", "400", "--tokenizer", "chars4", "--in-place", *words, path)
    assert (ran.code, store.exists()) == (1, False)


def test_mode_and_extended_attributes_are_kept(ctxtrim: Run, tmp_path: Path) -> None:
    path, link = tmp_path / "a.jsonl", tmp_path / "link.jsonl"
    path.write_bytes(line())
    if os.geteuid() == 0:
        os.chown(path, 1, 1)
    path.chmod(0o2640)
    link.symlink_to("a.jsonl")
    has_attributes = hasattr(os, "setxattr")
    if has_attributes:
        try:
            os.setxattr(path, "user.note", b"mine")
        except OSError:  # a file system without them
            has_attributes = False
    before = path.stat()
    assert ctxtrim("truncate", "--in-place", *QUICK, link).code == 0
    after = path.stat()
    assert path.read_bytes() == shortened(line())
    assert after.st_ino != before.st_ino
    assert (after.st_mode, after.st_uid, after.st_gid) == (
        before.st_mode,
        before.st_uid,
        before.st_gid,
    )
    assert stat.S_IMODE(after.st_mode) == 0o2640
    assert link.is_symlink()
    if has_attributes:
        assert os.getxattr(path, "user.note") == b"mine"


def test_new_files_have_the_mode_of_the_mask_which_stays(ctxtrim: Run, tmp_path: Path) -> None:
    former = os.umask(0o027)
    try:
        for name in ("a.jsonl", "b.jsonl"):
            assert ctxtrim("truncate", *QUICK, "-o", tmp_path / name, stdin=line()).code == 0
            assert stat.S_IMODE((tmp_path / name).stat().st_mode) == 0o640
    finally:
        os.umask(former)


def test_a_pipe_cannot_be_replaced_in_place(ctxtrim: Run, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    ran = ctxtrim("truncate", "--in-place", *QUICK, tmp_path / "pipe")
    assert ran.code == 1
    assert (
        "pipe: error: is not a regular file, so it cannot be replaced; write a copy with -o"
        in ran.err
    )


@pytest.mark.parametrize("words", [("truncate", "--in-place", *QUICK), ("check", "--fix")])
def test_a_pipe_without_a_name_cannot_be_replaced_in_place(words: tuple[str, ...]) -> None:
    reads, writes = os.pipe()
    os.close(writes)
    ran = subprocess.run(
        [*COMMAND, *words, f"/dev/fd/{reads}"],
        pass_fds=(reads,),
        capture_output=True,
        env=ENVIRONMENT,
        text=True,
    )
    os.close(reads)
    assert ran.returncode == 1
    assert ran.stderr.startswith(
        f"/dev/fd/{reads}: error: is not a regular file, so it cannot be replaced; "
    )


def test_a_file_that_was_deleted_meanwhile_stays_deleted(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b"one\n")
    sink = in_place(path)
    sink.write(b"ONE\n")
    path.unlink()
    with pytest.raises(OutputError, match="was deleted while it was edited; nothing was written"):
        sink.commit()
    assert names(tmp_path) == []


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_run_that_is_ended_leaves_no_temporary_file(tmp_path: Path, sent: signal.Signals) -> None:
    out = tmp_path / "out.jsonl"
    process = subprocess.Popen(
        [*COMMAND, "truncate", *QUICK, "-", "-o", str(out)],
        stdin=subprocess.PIPE,
        env=ENVIRONMENT,
        preexec_fn=default_signals,
    )
    assert process.stdin is not None
    process.stdin.write(line() + line(chat()))
    process.stdin.flush()
    wait_until(lambda: any(tmp_path.iterdir()))
    process.send_signal(sent)
    assert process.wait(20) == 128 + sent
    process.stdin.close()
    assert names(tmp_path) == []


def test_the_next_run_removes_the_temporary_files_of_killed_runs_but_not_those_in_use(
    ctxtrim: Run, tmp_path: Path
) -> None:
    out = tmp_path / "out.jsonl"
    words = [*COMMAND, "truncate", *QUICK, "-", "-o", str(out)]
    killed, running = (
        subprocess.Popen(words, stdin=subprocess.PIPE, env=ENVIRONMENT) for _ in range(2)
    )
    assert killed.stdin is not None and running.stdin is not None
    for process in (killed, running):
        process.stdin.write(line() + line(chat()))
        process.stdin.flush()
    wait_until(lambda: len(names(tmp_path)) == 2)
    killed.kill()
    killed.wait()
    killed.stdin.close()
    (tmp_path / ".notes.ctxtrim-tmp").write_bytes(b"of somebody else")
    assert ctxtrim("truncate", *QUICK, "-o", tmp_path / "other.jsonl", stdin=line()).code == 0
    assert len(names(tmp_path)) == 3  # one of them belongs to the surviving run
    running.stdin.close()
    assert running.wait(20) == 0
    assert names(tmp_path) == [".notes.ctxtrim-tmp", "other.jsonl", "out.jsonl"]
    assert out.read_bytes() == shortened(line()) + line(chat())


@pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can make such files"
)
def test_temporary_files_of_another_user_stay(ctxtrim: Run, tmp_path: Path) -> None:
    other = tmp_path / f".out.jsonl.{'0' * 16}.ctxtrim-tmp"
    other.write_bytes(b"theirs")
    os.chown(other, 1, 1)
    assert ctxtrim("truncate", *QUICK, "-o", tmp_path / "out.jsonl", stdin=line()).code == 0
    assert names(tmp_path) == [other.name, "out.jsonl"]
