"""Write the files that are made from the declarations of commands and options, and from a run.

Run it after a change of an option or a table: `python scripts/generated.py`. A test compares the
files.
"""

import json
from collections.abc import Callable
from pathlib import Path

from man_page import man_page
from terminal_svg import PICTURE, terminal_svg

from ctxtrim.config.schema import SCHEMA, schema

ROOT = Path(__file__).resolve().parents[1]


def _schema_text() -> str:
    return json.dumps(schema(), indent=1, ensure_ascii=False) + "\n"


FILES: dict[Path, Callable[[], str]] = {
    SCHEMA: _schema_text,
    ROOT / "man/ctxtrim.1": man_page,
    PICTURE: terminal_svg,
}
"""The functions that return the texts of the files, by path."""


if __name__ == "__main__":
    for path, text in FILES.items():
        path.write_text(text(), encoding="utf-8")
