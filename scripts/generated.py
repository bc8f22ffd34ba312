"""Write the files that are made from the declarations of commands and options.

Run it after a change of an option: `python scripts/generated.py`. A test compares the files.
"""

import json
from pathlib import Path

from man_page import man_page

from ctxtrim.config.template import SCHEMA, schema

ROOT = Path(__file__).resolve().parents[1]


def files() -> dict[Path, str]:
    """The texts of the files by path."""
    return {
        SCHEMA: json.dumps(schema(), indent=1, ensure_ascii=False) + "\n",
        ROOT / "man/ctxtrim.1": man_page(),
    }


if __name__ == "__main__":
    for path, text in files().items():
        path.write_text(text)
