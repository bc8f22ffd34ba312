"""Numbers as people write them, from every source of settings."""

import json
from pathlib import Path

import pytest
from builders import conversation, says, user
from conftest import Ran, Run

from ctxtrim import trim_conversation
from ctxtrim.errors import UsageError

TALK = conversation([user("Good morning."), says("And a good one to you.")])


def budget(ran: Ran) -> dict[str, int]:
    assert ran.code == 0, ran.err
    return json.loads(ran.out)["transcripts"][0]["budget"]


@pytest.mark.parametrize("text", ["30k", "30K", "30_000", "30,000", "30000", "0.03M"])
def test_a_budget_is_the_same_from_every_source(ctxtrim: Run, tmp_path: Path, text: str) -> None:
    count = ("count", "--json")
    given = budget(ctxtrim(*count, "--budget", text, stdin=TALK, cwd=tmp_path))
    variable = budget(ctxtrim(*count, stdin=TALK, cwd=tmp_path, CTXTRIM_BUDGET=text))
    (tmp_path / "ctxtrim.toml").write_text(f'budget = "{text}"\n')
    file = budget(ctxtrim(*count, stdin=TALK, cwd=tmp_path))
    assert given == variable == file
    assert given["available"] == 30_000


@pytest.mark.parametrize("options", [(), ("--reserve", "4k"), ("--reserve", "90k")])
def test_a_share_is_of_the_window_before_the_reserve(ctxtrim: Run, options: tuple[str]) -> None:
    ran = ctxtrim("count", "--json", "--budget=80%", "--context-window=100k", *options, stdin=TALK)
    assert budget(ran)["available"] == 80_000


def test_a_share_is_of_the_window_of_each_model(ctxtrim: Run, tmp_path: Path) -> None:
    (tmp_path / "ctxtrim.toml").write_text('budget = "50%"\n')
    for model, window in (("gpt-4o", 128_000), ("gpt-4", 8192)):
        ran = ctxtrim("count", "--json", "--model", model, stdin=TALK, cwd=tmp_path)
        assert budget(ran)["available"] == window // 2
    shown = json.loads(ctxtrim("config", "show", "--json", cwd=tmp_path).out)["settings"]
    assert {"key": "budget", "value": "50%", "origin": "ctxtrim.toml: budget"} in shown


def test_a_setting_after_the_stage_name_may_have_a_letter(ctxtrim: Run) -> None:
    words = ("run", "-s", "truncate:max-tokens=1.5k,max-age=3", "--json", "--dry-run")
    stage = json.loads(ctxtrim(*words, stdin=TALK).out)["pipeline"][0]
    assert stage["settings"]["max-tokens"] == 1500


def test_a_comma_after_the_stage_name_separates_settings(ctxtrim: Run) -> None:
    ran = ctxtrim("run", "-s", "truncate:max-tokens=30,000", stdin=TALK)
    assert (ran.code, ran.out) == (2, b"")
    assert "found 000; a comma separates settings, write 30_000 or 30k" in ran.err


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("--budget", "30q"), "--budget 30q: expected a whole number, such as 30000, 30_000 or"),
        (("--budget", "0%"), "a share of the window above 0% and at most 100%"),
        (("--budget", "120%"), "a share of the window above 0% and at most 100%"),
        (("--budget", "0"), "--budget 0: expected at least 1"),
        (("--reserve", "80%"), "--reserve 80%: expected a whole number"),
        (("--context-window", "1.5"), "--context-window 1.5: expected a whole number"),
        (("--max-size", "3 parsecs"), "expected a whole number, with or without a unit (KB, MB"),
        (("--safety", "much"), "--safety much: expected a number"),
    ],
)
def test_an_invalid_number_is_one_line(ctxtrim: Run, words: tuple[str], expected: str) -> None:
    ran = ctxtrim("trim", *words, stdin=TALK)
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, b"", 1)
    assert expected in ran.err


@pytest.mark.parametrize("number", ["-1", "0"])
def test_a_bound_of_several_stages_is_the_same_for_every_number(ctxtrim: Run, number: str) -> None:
    expected = f"max-messages {number}: expected at least 1"
    assert expected in ctxtrim("check", "--max-messages", number, stdin=TALK).err
    assert expected.replace("max-messages", "CTXTRIM_MAX_MESSAGES") in (
        ctxtrim("check", stdin=TALK, CTXTRIM_MAX_MESSAGES=number).err
    )


def test_the_python_api_takes_numbers_only() -> None:
    with pytest.raises(UsageError, match="expected a whole number, found '5k'"):
        trim_conversation([], 10, keep_recent_turns="5k")


def test_sizes_are_shown_as_they_are_written(ctxtrim: Run, tmp_path: Path) -> None:
    for written, shown in (("1048576", "1MiB"), ("3GB", "3GB"), ("1500", "1500")):
        ran = ctxtrim("config", "show", cwd=tmp_path, CTXTRIM_MAX_SIZE=written).out.decode()
        (row,) = (line for line in ran.splitlines() if line.startswith("max-size"))
        assert row.split()[1] == shown
        assert ctxtrim("count", "--max-size", shown, stdin=b"").code == 1  # empty input
