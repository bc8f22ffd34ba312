"""The files that are made from the declarations of options are up to date and valid."""

import shutil
import subprocess
from pathlib import Path

import pytest
from generated import files

PAGE = Path(__file__).resolve().parents[1] / "man/ctxtrim.1"


@pytest.mark.parametrize("path", files(), ids=lambda path: path.name)
def test_a_generated_file_is_up_to_date(path: Path) -> None:
    assert path.read_text() == files()[path], "run python scripts/generated.py"


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
