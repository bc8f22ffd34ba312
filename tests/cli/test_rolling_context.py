"""The automatic pipeline of `run`: off by default, the ways to enable it, and `config show`."""

import json
from pathlib import Path

import pytest
from conftest import FIXTURES, NOBODY, Ran, run
from samples import line, messages

TALK = line(messages(8))
PASSED = "no stages, so nothing changes"


class Home:
    """A user's folder for configuration and a folder to work in."""

    def __init__(self, folder: Path) -> None:
        self.here, self.config = folder / "work", folder / "config"
        self.here.mkdir()

    def run(self, *words: str, stdin: bytes = TALK, **variables: str) -> Ran:
        return run(
            *words, stdin=stdin, cwd=self.here, XDG_CONFIG_HOME=str(self.config), **variables
        )

    def automatic(self, *words: str, **variables: str) -> list[str]:
        """The stages that ran; none if the input was unchanged, with the message about it."""
        ran = self.run("run", "--tokenizer", "chars4", *words, **variables)
        assert ran.code == 0
        assert (ran.out == TALK) == (PASSED in ran.err)
        return [] if PASSED in ran.err else ran.err.split(": ")[1].split(", ")


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


def test_s0_1_no_stage_runs_until_it_is_enabled(home: Home) -> None:
    assert home.automatic() == []
    assert home.automatic("--enabled") == ["truncate", "trim"]
    assert home.automatic(CTXTRIM_ENABLED="true") == ["truncate", "trim"]


def test_s0_1_a_stage_or_preset_option_enables_the_stage(home: Home) -> None:
    (home.here / "ctxtrim.toml").write_text("enabled = false\n")
    assert home.automatic("-s", "truncate") == ["truncate"]
    assert home.automatic("--preset", "rolling") == ["truncate"]
    assert home.run("truncate", "--tokenizer", "chars4").out != TALK


def test_the_automatic_pipeline_is_rolling_then_budget(home: Home) -> None:
    out = home.run("run", "--enabled", "--tokenizer", "chars4").out
    assert out == home.run("run", "--preset", "rolling,budget", "--tokenizer", "chars4").out
    assert b"[content truncated - 7 steps ago]" in out
    assert b"_originalLength" in out


def test_the_configured_pipeline_runs_with_its_settings(home: Home) -> None:
    (home.here / "ctxtrim.toml").write_text(
        'enabled = true\npipeline = ["truncate:max-age=1", "check"]\n'
    )
    assert home.automatic() == ["truncate", "check"]
    assert home.run("run", "--tokenizer", "chars4").out.count(b"content truncated") == 6
    assert home.automatic("--no-enabled") == []
    (home.here / "ctxtrim.toml").write_text('enabled = true\npreset = "retention"\nmax-age = 3\n')
    ran = home.run("run", "--tokenizer", "chars4", "--archive", "kept", "--assign-ids")
    assert ran.out.count(b"TRUNCATED") == 0  # a single turn: the clock of the preset
    assert "ctxtrim: truncate: " in ran.err


def test_without_a_stage_a_run_says_what_turns_the_pipeline_on(home: Home) -> None:
    (home.here / "ctxtrim.toml").write_text('preset = "rolling"\n')
    ran = home.run("run", "--tokenizer", "chars4")
    assert f"{PASSED}; use -s, --preset or --enabled: 1 transcript" in ran.err


def test_a_configured_preset_stores_originals_only_if_its_stage_runs(home: Home) -> None:
    (home.here / "ctxtrim.toml").write_text('preset = "retention"\n')
    data = home.here / "data"
    variables = {"XDG_DATA_HOME": str(data), "CTXTRIM_TOKENIZER": "chars4"}
    assert home.run("trim", "--budget", "400", **variables).code == 0
    assert home.run("run", **variables).code == 0
    assert home.run("run", "-s", "trim", "--budget", "400", **variables).code == 0
    assert not data.exists()
    assert home.run("run", "--enabled", **variables).code == 0
    assert (data / "ctxtrim" / "archive").is_dir()


def test_the_preference_is_stored_shown_and_toggled(home: Home) -> None:
    kept = home.config / "ctxtrim" / "rolling-context"
    ran = home.run("rolling-context", "status")
    assert (
        ran.out.decode()
        == f"rolling context is off (origin: default; no preference is stored in {kept})\n"
    )
    assert not home.config.exists()
    assert home.run("rolling-context").out.decode() == f"rolling context is on (stored in {kept})\n"
    assert kept.read_bytes() == b"on\n"
    assert home.automatic() == ["truncate", "trim"]
    assert (
        home.run("rolling-context").out.decode() == f"rolling context is off (stored in {kept})\n"
    )
    assert home.automatic() == []
    assert home.run("rolling-context", "on").code == 0
    assert [path.name for path in kept.parent.iterdir()] == [
        "rolling-context"
    ]  # no temporary file remains


def test_the_preference_overrides_files_but_not_the_environment(home: Home) -> None:
    (home.here / "agents.config.json").write_text('{"contextManagement": {"enabled": true}}')
    assert home.automatic() == ["truncate", "trim"]
    kept = home.config / "ctxtrim" / "rolling-context"
    assert (
        home.run("rolling-context").out.decode() == f"rolling context is off (stored in {kept})\n"
    )
    assert home.automatic() == []
    ran = home.run("rolling-context", "status", CTXTRIM_ENABLED="1")
    assert (
        ran.out.decode() == "rolling context is on (origin: CTXTRIM_ENABLED; the preference off "
        f"is stored in {kept})\n"
    )


def test_a_preference_that_cannot_be_read_or_written_is_one_line(home: Home) -> None:
    kept = home.config / "ctxtrim" / "rolling-context"
    kept.parent.mkdir(parents=True)
    kept.write_text("perhaps")
    ran = home.run("run")
    assert (ran.code, ran.out) == (1, b"")
    assert (
        ran.err == f"ctxtrim: {kept}: expected on or off; run ctxtrim rolling-context on|off to "
        "rewrite it\n"
    )
    assert home.run("rolling-context", "off").code == 0
    assert kept.read_bytes() == b"off\n"
    kept.unlink()
    kept.mkdir()
    ran = home.run("rolling-context", "on")
    assert (ran.code, ran.out) == (1, b"")
    assert "cannot be written: it is a folder" in ran.err or "cannot be read" in ran.err
    kept.rmdir()
    for word, state in (("enable", "on"), ("disable", "off")):
        ran = home.run("rolling-context", word)
        assert (ran.code, ran.out.decode()) == (
            0,
            f"rolling context is {state} (stored in {kept})\n",
        )
        assert kept.read_text() == f"{state}\n"
    ran = home.run("rolling-context", "maybe")
    assert (ran.code, ran.err) == (
        2,
        "ctxtrim: rolling-context maybe: expected on, off or status\n",
    )


def test_config_show_lists_each_value_with_its_source(home: Home) -> None:
    (home.here / "ctxtrim.toml").write_text(
        'max-age = 4\nplaceholder = "gone"\n[truncate]\nkeep-small = 7\n'
    )
    shown = (
        home.run("config", "show", "--preset", "rolling", CTXTRIM_MODEL="gpt-4o")
        .out.decode()
        .splitlines()
    )
    rows = {line.split()[0]: line.split()[1:] for line in shown[1:]}
    assert shown[0].split() == ["setting", "value", "origin"]
    assert rows["model"] == ["gpt-4o", "CTXTRIM_MODEL"]
    assert rows["preset"] == ["rolling", "--preset"]
    assert rows["reserve"] == ["4096", "default"]
    assert rows["truncate.max-age"] == ["4", "ctxtrim.toml:", "max-age"]
    assert rows["truncate.keep-small"] == ["7", "ctxtrim.toml:", "truncate.keep-small"]
    assert rows["truncate.placeholder"] == ["gone", "ctxtrim.toml:", "placeholder"]
    assert rows["truncate.metadata"] == ["true", "preset", "rolling"]
    assert rows["truncate.max-tokens"] == ["2000", "default"]


def test_config_show_json_matches_the_settings_of_a_run(home: Home) -> None:
    (home.here / "agents.config.json").write_text(
        '{"contextManagement": {"maxAge": 4, "maxAges": 4}}'
    )
    ran = home.run("config", "show", "--json")
    shown = json.loads(ran.out)
    assert shown["version"] == 1
    values = {setting["key"]: setting for setting in shown["settings"]}
    assert values["truncate.max-age"] == {
        "key": "truncate.max-age",
        "value": 4,
        "origin": "agents.config.json: contextManagement.maxAge",
    }
    report = json.loads(home.run("truncate", "--tokenizer", "chars4", "--json", "--dry-run").out)
    settings = report["pipeline"][0]["settings"]
    assert {key: item["value"] for key, item in values.items() if key.startswith("truncate.")} == {
        f"truncate.{key}": value for key, value in settings.items()
    }
    assert ran.err.startswith("agents.config.json: warning: contextManagement.maxAges: unknown key")


def test_tests_ignore_the_configuration_of_the_developer(home: Home) -> None:
    ran = run("rolling-context", "status", cwd=home.here)
    assert f"no preference is stored in {NOBODY.name}" in ran.out.decode()


def test_a_run_without_configuration_changes_nothing(home: Home) -> None:
    data = (FIXTURES / "agent.jsonl").read_bytes()
    ran = home.run("run", stdin=data)
    assert (ran.code, ran.out) == (0, data)
    assert PASSED in ran.err
