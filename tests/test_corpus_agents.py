"""The promises over real files of Antigravity, Windsurf, Kiro, ADK's evaluation sets, tau2's voice
simulations and SWE-agent's web page.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from conftest import Run
from harness import run
from test_corpus import FILES, files, needs_corpus, orphans, transcripts

from ctxtrim.tokenizers import tokenizer

KINDS = {
    "antigravity": ("",),
    "windsurf": ("",),
    "kiro": ("",),
    "google-adk": (".test.",),
    "tau2-bench": ("voice-sim",),
    "swe-agent-traj": ("web_trajs",),
}
MINE = [
    path for path in FILES if any(word in path.name for word in KINDS.get(path.parent.name, ()))
]
SENT = {
    "antigravity": ("content", "thinking", "arguments"),
    "windsurf": ("content", "text"),
    "kiro": ("content", "Prompt", "Text"),
    "google-adk": ("text",),
    "tau2-bench": ("content", "text"),
    "swe-agent-traj": (
        *("thought", "action", "output_terminal", "output_editor", "narration", "issue_text"),
    ),
}
"""The members that contain a text that is sent, by folder."""


def texts(value: Any, sent: tuple[str, ...], key: str = "") -> Iterator[str]:
    """The texts of a plain reader: strings under some members, and calls as JSON."""
    is_call = key == "tool_uses" and isinstance(value, dict)
    is_expected = is_call and "orig_name" not in value  # not Kiro's
    if key == "args" or is_expected:
        yield json.dumps(value, separators=(",", ":"))
    elif isinstance(value, dict):
        for name, inner in value.items():
            yield from texts(inner, sent, name)
    elif isinstance(value, list):
        for inner in value:
            yield from texts(inner, sent, key)
    elif isinstance(value, str) and key in sent:
        yield value


@needs_corpus
@files(MINE)
def test_the_count_is_that_of_a_plain_reader(path: Path) -> None:
    data = path.read_bytes()
    values = [json.loads(line) for line in data.splitlines()] if path.suffix == ".jsonl" else []
    encoding = tokenizer("o200k_base")
    found = sum(map(encoding.count, texts(values or json.loads(data), SENT[path.parent.name])))
    rows = run(data, tokenizer="o200k_base").rows
    counted = sum(row.count.tokens - row.count.framing for row in rows)
    assert abs(counted - found) <= max(3 * sum(row.messages for row in rows), found // 20)


@needs_corpus
@files(MINE)
def test_trim_fits_without_new_orphans_and_a_second_run_changes_nothing(path: Path) -> None:
    data = path.read_bytes()
    assert run(data).data == data
    for budget in (100, 500, 2000, 8000):
        ran = run(data, [("truncate", {"max_tokens": 200}), ("trim", {})], limit=budget)
        assert all(row.fits or row.overflows for row in ran.rows)
        assert all(finding.code != "self-check" for finding in ran.findings)
        if ran.data is None:
            continue
        for before, after in zip(transcripts(data), transcripts(ran.data), strict=False):
            assert orphans(after) <= orphans(before)
        again = [("truncate", {"max_tokens": 200}), ("trim", {})]
        assert run(ran.data, again, limit=budget).data == ran.data


@needs_corpus
@files(MINE)
def test_restore_gives_back_the_original(ctxtrim: Run, path: Path, tmp_path: Path) -> None:
    file = tmp_path / path.name
    file.write_bytes(path.read_bytes())
    kept = ("--archive", tmp_path / "kept")
    ctxtrim("run", "-struncate", "-strim", "--budget", "2000", "--in-place", *kept, file)
    if file.read_bytes() != path.read_bytes():
        assert ctxtrim("restore", file, *kept, "-o", file).code == 0
    assert file.read_bytes() == path.read_bytes()
