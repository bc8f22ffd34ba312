"""The pytest plugin and the snapshots, in small suites that pytest runs in a child process."""

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from conftest import ENVIRONMENT, ROOT
from sessions import openai_session

ENTRY_POINTS = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["entry-points"]
SESSION = json.dumps({"model": "gpt-4o", "messages": openai_session(6)}) + "\n"


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    """A folder for a suite with a transcript, and the metadata of an installed ctxtrim."""
    (tmp_path / "fixtures").mkdir()
    (tmp_path / "fixtures/a.jsonl").write_text(SESSION)
    (tmp_path / "pytest.ini").write_text("[pytest]\naddopts = --strict-markers\n")
    installed = tmp_path / "site/installed-1.dist-info"
    installed.mkdir(parents=True)
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: installed\nVersion: 1\n")
    rows = "".join(f"{name} = {home}\n" for name, home in ENTRY_POINTS["pytest11"].items())
    (installed / "entry_points.txt").write_text(f"[pytest11]\n{rows}")
    return tmp_path


def run(suite: Path, text: str, *words: str, loads_others: bool = True) -> tuple[int, str]:
    """The exit code and the output of pytest on a module of tests, without the plugins of other
    packages if `loads_others` is false.
    """
    alone = {} if loads_others else {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    words += () if loads_others else ("-p", *ENTRY_POINTS["pytest11"])
    (suite / "test_suite.py").write_text(text)
    path = os.pathsep.join((str(suite / "site"), str(ROOT)))
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *words],
        capture_output=True,
        text=True,
        cwd=suite,
        env=ENVIRONMENT | {"PYTHONPATH": path, "COLUMNS": "200", "PYTEST_ADDOPTS": ""} | alone,
    )
    return done.returncode, done.stdout + done.stderr


def test_a_failed_assertion_says_where_the_tokens_are(suite: Path) -> None:
    code, out = run(
        suite,
        "import ctxtrim\n"
        "def test_good(): assert ctxtrim.fits('fixtures/a.jsonl', model='gpt-4o')\n"
        "def test_bad(): assert ctxtrim.fits('fixtures/a.jsonl', model='gpt-4o', budget=300)\n",
    )
    assert code == 1
    assert "1 failed, 1 passed" in out
    assert "assert <fixtures/a.jsonl: " in out
    _, _, section = out.partition("--- ctxtrim: where the tokens are ---")
    assert "of 300 tokens" in section
    assert "    by role: tool " in section
    assert "    largest messages: " in section


def test_the_marker_has_defaults_of_the_fixture(suite: Path) -> None:
    code, out = run(
        suite,
        "import pytest\n"
        "pytestmark = pytest.mark.ctxtrim(model='gpt-4o', budget=300)\n"
        "def test_module(transcript_fits):\n"
        "    assert not transcript_fits('fixtures/a.jsonl')\n"
        "    assert transcript_fits('fixtures/a.jsonl', budget=90_000)\n"
        "@pytest.mark.ctxtrim(budget=90_000)\n"
        "def test_closest(transcript_fits, tmp_path, monkeypatch):\n"
        "    monkeypatch.chdir(tmp_path)\n"
        "    (row,) = transcript_fits('fixtures/a.jsonl').rows\n"
        "    assert (row.model, row.budget.available) == ('gpt-4o', 90_000)\n"
        "def test_list(transcript_fits):\n"
        "    assert transcript_fits([{'role': 'user', 'content': 'Hello.'}])\n"
        "def test_bad(transcript_fits): assert transcript_fits('fixtures')\n",
    )
    assert "1 failed, 3 passed" in out, out
    assert out.count("--- ctxtrim: where the tokens are ---") == 1
    assert code == 1
    assert "@pytest.mark.ctxtrim(" in run(suite, "", "--markers")[1]


def test_a_window_of_a_closer_marker_replaces_a_budget(suite: Path) -> None:
    code, out = run(
        suite,
        "import pytest\n"
        "pytestmark = pytest.mark.ctxtrim(model='gpt-4o', budget=300, maxContextTokens=50_000)\n"
        "def available(verdict): return verdict.rows[0].budget.available\n"
        "@pytest.mark.ctxtrim(context_window=6000, reserve=3000)\n"
        "def test_marker(transcript_fits):\n"
        "    assert available(transcript_fits('fixtures/a.jsonl')) == 3000\n"
        "    assert available(transcript_fits('fixtures/a.jsonl', reserve=1000)) == 5000\n"
        "    assert available(transcript_fits('fixtures/a.jsonl', budget=700)) == 700\n"
        "def test_call(transcript_fits):\n"
        "    assert available(transcript_fits('fixtures/a.jsonl')) == 300\n"
        "    assert available(transcript_fits('fixtures/a.jsonl', reserve=1000)) == 49_000\n",
    )
    assert code == 0, out


def test_only_verdicts_in_a_failed_assertion_have_a_section(suite: Path) -> None:
    _, out = run(
        suite,
        "import ctxtrim, unittest\n"
        "def verdict(): return ctxtrim.fits('fixtures/a.jsonl', model='gpt-4o', budget=300)\n"
        "def test_other_assertion():\n"
        "    bad = verdict()\n"
        "    assert not bad\n"
        "    assert 1 == 2\n"
        "def test_other_error():\n"
        "    bad = verdict()\n"
        "    raise ValueError(repr(bad))\n"
        "def test_good(): assert not ctxtrim.fits('fixtures/a.jsonl', budget=90_000)\n",
    )
    assert "3 failed" in out
    assert "ctxtrim: where" not in out
    _, out = run(
        suite,
        "import ctxtrim, unittest\n"
        "def verdict(): return ctxtrim.fits('fixtures/a.jsonl', model='gpt-4o', budget=300)\n"
        "def test_name():\n"
        "    bad, other = verdict(), ctxtrim.fits('fixtures/a.jsonl', budget=200)\n"
        "    assert bad, 'too long'\n"
        "def test_both(): assert verdict() or ctxtrim.fits('fixtures/a.jsonl', budget=200)\n"
        "class TestCase(unittest.TestCase):\n"
        "    def test_method(self): self.assertTrue(verdict())\n",
    )
    assert "3 failed" in out
    assert out.count("--- ctxtrim: where the tokens are ---") == 4
    assert out.count("    largest messages: ") == 4


def test_an_option_of_the_marker_needs_a_name(suite: Path) -> None:
    code, out = run(
        suite,
        "import pytest\n"
        "@pytest.mark.ctxtrim(100, 'gpt-4o')\n"
        "def test_bad(transcript_fits):\n"
        "    assert transcript_fits([{'role': 'user', 'content': 'Hello.'}])\n",
    )
    assert code == 1
    assert (
        "UsageError: marker ctxtrim(100, 'gpt-4o'): expected options with names, such as "
        "budget=30_000"
    ) in out


def test_a_run_without_the_plugin_in_use_loads_nothing(suite: Path) -> None:
    code, out = run(
        suite,
        "import sys\n"
        "def test_modules():\n"
        "    ours = {name for name in sys.modules if name.split('.')[0] == 'ctxtrim'}\n"
        "    light = {'ctxtrim', 'ctxtrim.api', 'ctxtrim.version'}\n"
        "    assert ours == light | {'ctxtrim.testing', 'ctxtrim.testing.plugin'}\n"
        "    assert {'msgspec', 'orjson', 'tiktoken'}.isdisjoint(sys.modules)\n"
        "def test_other_failures(): assert 1 == 2\n",
        loads_others=False,  # which may load the same modules
    )
    assert "1 failed, 1 passed" in out, out
    assert code == 1
    assert "ctxtrim: where" not in out


SNAPSHOTS = """
import ctxtrim, json
from ctxtrim.testing.snapshots import TranscriptSnapshot
def test_file(snapshot):
    assert "fixtures/a.jsonl" == snapshot(extension_class=TranscriptSnapshot)
def test_iterator(snapshot):
    assert ctxtrim.read("fixtures/a.jsonl") == snapshot(extension_class=TranscriptSnapshot)
def test_transcript(snapshot):
    (transcript,) = ctxtrim.read("fixtures/a.jsonl")
    assert transcript == snapshot(extension_class=TranscriptSnapshot)
def test_list(snapshot):
    messages = json.loads(open("fixtures/a.jsonl").read())["messages"]
    snapshot = snapshot.use_extension(TranscriptSnapshot)
    assert ctxtrim.trim_conversation(messages, 600) == snapshot
"""


def test_snapshots_have_a_line_for_each_message_and_part(suite: Path) -> None:
    code, out = run(suite, SNAPSHOTS, "--snapshot-update")
    assert code == 0, out
    (path,) = (suite / "__snapshots__").rglob("test_file*.transcript")
    for name in ("test_iterator", "test_transcript"):
        (other,) = (suite / "__snapshots__").rglob(f"{name}*.transcript")
        assert other.read_text() == path.read_text()
    messages = json.loads(SESSION)["messages"]
    lines = path.read_text().splitlines()
    assert lines[0] == "transcript model=gpt-4o"
    heads = [line for line in lines[1:] if not line.startswith(" ")]
    assert heads == [message["role"] for message in messages]
    assert f"  text {json.dumps(messages[0]['content'])}" in lines
    assert run(suite, SNAPSHOTS)[0] == 0


def test_a_changed_message_is_a_diff_of_its_lines(suite: Path) -> None:
    run(suite, SNAPSHOTS, "--snapshot-update")
    value = json.loads(SESSION)
    value["messages"].insert(2, {"role": "user", "content": "And the fog horn,\nplease."})
    (suite / "fixtures/a.jsonl").write_text(json.dumps(value) + "\n")
    code, out = run(suite, SNAPSHOTS, "-k", "test_file")
    assert code == 1
    added = [line for line in out.splitlines() if line.startswith("E         +")]
    assert [line.removeprefix("E         +").strip() for line in added] == [
        "user",
        r'text "And the fog horn,\nplease."',
    ]
    assert not [line for line in out.splitlines() if line.startswith("E         -")]
