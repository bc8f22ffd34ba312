"""A short run loads little: what a command does not use is not imported.

Imports are most of the time of a run on a small file. The limits are numbers of modules, because
seconds depend on the machine. What the interpreter itself loads does not count: distributions and
environment variables add to it.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ENVIRONMENT

MOST = {"check": (219, 347), "count": (212, 340)}
"""The most modules of ctxtrim, and of all, that a command may load; lower them when you can. New
versions of libraries and of Python may load a few more."""
UNUSED = (
    "ctxtrim.api.options",
    "ctxtrim.archive.index",
    "ctxtrim.clipping.clipper",
    "ctxtrim.formats.conversion.dialogue",
    "ctxtrim.evidence.key_info",
    "ctxtrim.stages.placement",
    "ctxtrim.stages.trim",
    "ctxtrim.stages.truncate",
    "ctxtrim.summaries.facts",
    "ctxtrim.summaries.redaction",
    "ctxtrim.summarizers",
    "difflib",
    "gigatoken",
    "hashlib",
    "importlib.metadata",
    "numpy",
    "openai",
    "pickle",
    "pydantic",
    "regex",
    "rich",
    "sqlite3",
    "tiktoken",
    "tomllib",
    "zipfile",
)
CODE = """
import sys
before = {*sys.modules}
from ctxtrim.__main__ import main
try:
    main()
finally:
    print(*(sys.modules.keys() - before), file=sys.stderr)
"""


@pytest.mark.parametrize("command", MOST)
def test_a_short_run_loads_few_modules(command: str, tmp_path: Path) -> None:
    talk = [
        {"role": "user", "content": "Which berths are free? " * 200},
        {"role": "assistant", "content": "Berths 2 and 4. " * 200},
    ]
    path = tmp_path / "talk.jsonl"
    path.write_text(json.dumps({"messages": talk, "model": "gpt-4o"}) + "\n")
    bare = {
        name: value for name, value in ENVIRONMENT.items() if not name.startswith(("COV", "PYTHON"))
    }
    done = subprocess.run(
        [sys.executable, "-c", CODE, command, str(path)],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env=bare | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )
    assert done.returncode == 0, done.stderr[-300:]
    modules = done.stderr.splitlines()[-1].split()
    own = [name for name in modules if name.partition(".")[0] == "ctxtrim"]
    assert [name for name in modules if name in UNUSED] == []
    assert len(own) <= MOST[command][0], len(own)
    assert len(modules) <= MOST[command][1], len(modules)
