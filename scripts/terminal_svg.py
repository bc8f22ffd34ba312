"""A picture of a terminal as SVG: the commands of `COMMANDS` with the output of a real run.

Python and no other program is needed. The picture has one palette for light and one for dark pages.
"""

import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from xml.sax.saxutils import escape

ROOT = Path(__file__).resolve().parents[1]
PICTURE = ROOT / "docs/terminal.svg"
COMMANDS = (
    "ctxtrim count --by tool fixtures/agent.jsonl",
    "ctxtrim trim --budget 2k fixtures/agent.jsonl -o trimmed.jsonl",
    "ctxtrim check --budget 2k --verbose trimmed.jsonl",
)
COLUMNS = 80
ADVANCE, HEIGHT, MARGIN = 8.4, 18, 16  # of a character, a line and the frame, in pixels
STYLE = re.compile(r"\x1b\[([0-9;]*)m")
WORDS = re.compile(r"\S+(?: \S+)*")
CLASSES = {"1": "b", "31": "r", "32": "g", "33": "y", "2": "d"}
CSS = """\
rect{fill:#f6f8fa;stroke:#d0d7de}
text{font:14px ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;fill:#1f2328}
.b{font-weight:bold}.r{fill:#b3261e}.g{fill:#116329}.y{fill:#7d4e00}.d{fill:#59636e}
@media (prefers-color-scheme:dark){
rect{fill:#0d1117;stroke:#3d444d}
text{fill:#e6edf3}
.r{fill:#ff7b72}.g{fill:#56d364}.y{fill:#e3b341}.d{fill:#9198a1}
}"""


def terminal_svg() -> str:
    """The text of the picture."""
    lines = list(_lines())[:-1]
    width = round(COLUMNS * ADVANCE + 2 * MARGIN)
    height = len(lines) * HEIGHT + 2 * MARGIN
    rows = [row for number, line in enumerate(lines) for row in _row(number, line)]
    return "\n".join(
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
            f'width="{width}" height="{height}" role="img">',
            "<title>ctxtrim counts, trims and checks a recorded conversation</title>",
            f"<style>\n{CSS}\n</style>",
            f'<rect x="0.5" y="0.5" width="{width - 1}" height="{height - 1}" rx="8"/>',
            *rows,
            "</svg>\n",
        )
    )


def _lines() -> Iterator[str]:
    """The lines of the terminal, with ANSI codes."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "fixtures").symlink_to(ROOT / "fixtures")
        for command in COMMANDS:
            yield f"\x1b[2m$\x1b[0m \x1b[1m{command}\x1b[0m"
            for line in _output(command, folder).splitlines():
                if len(line) <= COLUMNS or "\x1b" in line:
                    yield line
                else:
                    yield from (line[at : at + COLUMNS] for at in range(0, len(line), COLUMNS))
            yield ""


def _output(command: str, folder: str) -> str:
    """Standard output and standard error of a command, as a terminal shows them."""
    ours = {name: text for name, text in os.environ.items() if not name.startswith("CTXTRIM_")}
    ours.pop("NO_COLOR", None)
    done = subprocess.run(
        [sys.executable, "-m", *shlex.split(command), "--color", "always"],
        cwd=folder,
        env=ours
        | {
            "COLUMNS": str(COLUMNS),
            "PYTHONPATH": str(ROOT),
            "XDG_CONFIG_HOME": f"{folder}/config",
            "XDG_DATA_HOME": f"{folder}/data",
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        check=True,
    )
    return done.stdout


def _row(number: int, line: str) -> Iterator[str]:
    """The elements of a line: each piece at its column, so that every font keeps the columns."""
    y = MARGIN + number * HEIGHT + 13
    for column, text, style in _pieces(line):
        x, width = MARGIN + column * ADVANCE, len(text) * ADVANCE
        colored = f' class="{style}"' if style else ""
        size = f'textLength="{width:.1f}" lengthAdjust="spacingAndGlyphs"'
        yield f'<text x="{x:.1f}" y="{y}" {size}{colored}>{escape(text)}</text>'


def _pieces(line: str) -> Iterator[tuple[int, str, str]]:
    """The texts of a line between wide gaps, with their columns and classes."""
    column, style = 0, ""
    for position, part in enumerate(STYLE.split(line)):
        if position % 2:
            style = " ".join(CLASSES[code] for code in part.split(";") if code in CLASSES)
            continue
        for words in WORDS.finditer(part):
            yield column + words.start(), words.group(), style
        column += len(part)


if __name__ == "__main__":
    PICTURE.write_text(terminal_svg())
