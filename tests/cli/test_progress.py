"""The progress bar of long runs, on a pseudo-terminal."""

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

LINES = 40
WATCH = """
import sys, time
from ctxtrim.cli.progress import progress_bar
from ctxtrim.io.inputs import inputs, reading
sources = inputs(sys.argv[2:]).inputs
with progress_bar(sources, enabled=True, fills_stdout=sys.argv[1] == "fills", patience=0) as watch:
    for source in sources:
        with reading(source, 1 << 20) as lines:
            for line in watch.lines(lines):
                time.sleep(0.03)
    time.sleep(0.3)
print("done")
"""


def watched(
    *words: object, stdout: bool = False, code: str = WATCH, columns: int = 110
) -> tuple[str, str]:
    """Standard output and standard error, which is a terminal; `stdout`: so is standard output."""
    outer, inner = pty.openpty()
    environment = os.environ | {
        "TERM": "xterm",
        "COLUMNS": str(columns),
        "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
    }
    child = subprocess.Popen(
        [sys.executable, "-c", code, *map(str, words)],
        stdin=subprocess.DEVNULL,
        stdout=inner if stdout else subprocess.PIPE,
        stderr=inner,
        env=environment,
    )
    os.close(inner)
    shown = b""
    while True:
        try:
            block = os.read(outer, 1 << 16)
        except OSError:  # the terminal is closed
            break
        if not block:
            break
        shown += block
    out, _ = child.communicate()
    os.close(outer)
    assert child.returncode == 0, shown.decode()
    return (out or b"").decode(), shown.decode()


def talks(folder: Path, *names: str) -> list[Path]:
    """Files with one conversation per line."""
    for name in names:
        message = {"role": "user", "content": "Which berths are free? " * 300}
        (folder / name).write_text((json.dumps({"messages": [message]}) + "\n") * LINES)
    return [folder / name for name in names]


def test_one_file_has_a_rate_and_a_remaining_time(tmp_path: Path) -> None:
    out, shown = watched("frees", *talks(tmp_path, "big.jsonl"))
    assert out == "done\n"
    assert "reading" in shown
    assert "kB/s" in shown or "MB/s" in shown
    assert "remaining 0:00:0" in shown
    assert "working" in shown  # after the last byte
    assert "file 1" not in shown


def test_many_files_have_a_number_each(tmp_path: Path) -> None:
    _, shown = watched("frees", *talks(tmp_path, "a.jsonl", "b.jsonl"))
    assert "file 1 of 2" in shown
    assert "file 2 of 2" in shown


def test_the_bar_is_removed_at_the_end(tmp_path: Path) -> None:
    _, shown = watched("frees", *talks(tmp_path, "big.jsonl"))
    assert shown.endswith("\r\x1b[2K")


@pytest.mark.parametrize("columns", [30, 60, 80])
def test_the_line_fits_the_terminal(tmp_path: Path, columns: int) -> None:
    _, shown = watched("frees", *talks(tmp_path, "a.jsonl", "b.jsonl"), columns=columns)
    lines = shown.split("\r\x1b[2K")
    assert max(map(len, lines)) < columns
    assert "reading, file 1 of 2" in shown
    assert "\n" not in shown


def test_a_bar_is_never_among_transcripts_on_the_same_terminal(tmp_path: Path) -> None:
    files = talks(tmp_path, "big.jsonl")
    assert watched("fills", *files, stdout=True) == ("", "done\r\n")
    out, shown = watched("fills", *files)  # standard output is a pipe
    assert (out, "B/s" in shown) == ("done\n", True)


def test_a_short_run_and_a_quiet_run_show_no_bar(tmp_path: Path) -> None:
    code = "from ctxtrim.__main__ import main; main()"
    files = talks(tmp_path, "small.jsonl")
    for option in ("--no-progress", "--quiet"):
        _, shown = watched("count", option, *files, code=code)
        assert "B/s" not in shown
