"""The files that are made from the declarations of options, and from a run, are up to date and
valid.
"""

import shutil
import subprocess
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from generated import FILES
from terminal_svg import COMMANDS, PICTURE

PAGE = Path(__file__).resolve().parents[1] / "man/ctxtrim.1"


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_a_generated_file_is_up_to_date(path: Path) -> None:
    assert path.read_text(encoding="utf-8") == FILES[path](), "run python scripts/generated.py"


def test_groff_accepts_the_man_page() -> None:
    text = PAGE.read_text()
    assert text.startswith(".TH CTXTRIM 1 ")
    assert text.isascii()
    groff = shutil.which("groff")
    if groff is not None:
        command = [groff, "-man", "-Tutf8", "-ww", "-rLL=80n", str(PAGE)]
        done = subprocess.run(command, capture_output=True, check=False)
        assert (done.returncode, done.stderr) == (0, b"")
        assert "--budget" in done.stdout.decode().replace("\b-", "")


def test_the_picture_of_the_terminal_is_a_small_svg_with_the_commands_and_their_output() -> None:
    texts = [element.text or "" for element in ET.parse(PICTURE).iter() if element.text]
    assert PICTURE.stat().st_size < 30_000
    assert set(COMMANDS) <= set(texts)
    assert "ctxtrim: trim: 3 transcripts, 45 messages, ≤5,875 → ≤2,489 tokens" in texts
