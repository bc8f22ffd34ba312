"""The sources of settings and their precedence: every adjacent pair of sources, and all of them
together.
"""

import json
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from builders import conversation, says, user
from conftest import Run

from ctxtrim.config.from_command import command_config
from ctxtrim.config.resolution import Config
from ctxtrim.errors import InputError, UsageError

TALK = conversation([user("Good morning."), says("And a good one to you.")])


class Sources:
    """A project folder, a user folder, an environment and a command line as sources of settings."""

    def __init__(self, folder: Path) -> None:
        self.project, self.user = folder, folder / "user"
        self.user.mkdir()
        self.variables: dict[str, str] = {}
        self.values: dict[str, Any] = {}

    def config(self, **more: Any) -> Config:
        return command_config(self.values, self.variables, self.user, **more)

    def command_line(self, age: int) -> str:
        self.values |= {"max_age": str(age)}
        return "--max-age"

    def environment(self, age: int) -> str:
        self.variables |= {"CTXTRIM_MAX_AGE": str(age)}
        return "CTXTRIM_MAX_AGE"

    def named(self, age: int) -> str:
        (self.project / "named.toml").write_text(f"max-age = {age}\n")
        self.values |= {"config": "named.toml"}
        return "named.toml: max-age"

    def own(self, age: int) -> str:
        (self.project / "ctxtrim.toml").write_text(f"max_age = {age}\n")
        return "ctxtrim.toml: max_age"

    def pyproject(self, age: int) -> str:
        (self.project / "pyproject.toml").write_text(
            f'[project]\nname = "x"\n[tool.ctxtrim.truncate]\nmax-age = {age}\n'
        )
        return "pyproject.toml: tool.ctxtrim.truncate.max-age"

    def agents(self, age: int) -> str:
        (self.project / "agents.config.json").write_text(
            json.dumps({"contextManagement": {"maxAge": age}})
        )
        return "agents.config.json: contextManagement.maxAge"

    def users(self, age: int) -> str:
        (self.user / "config.toml").write_text(f"[truncate]\nmax-age = {age}\n")
        return f"{self.user / 'config.toml'}: truncate.max-age"

    def preset(self, age: int) -> str:
        assert age == 1  # the value in this preset
        self.values |= {"preset": "retention"}
        return "preset retention"


Say = Callable[[Sources, int], str]
ORDER: list[Say] = [
    Sources.command_line,
    Sources.environment,
    Sources.named,
    Sources.own,
    Sources.pyproject,
    Sources.agents,
    Sources.users,
    Sources.preset,
]


@pytest.fixture
def sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Sources:
    monkeypatch.chdir(tmp_path)
    return Sources(tmp_path)


def age(sources: Sources) -> tuple[int, str]:
    """The effective age and its source; the stage runs with the same value."""
    config = sources.config()
    value, origin = config.settings("truncate")["max_age"]
    assert config.spec("truncate").settings["max_age"] == value
    return value, origin


def test_without_a_source_the_default_applies(sources: Sources) -> None:
    assert age(sources) == (5, "default")


@pytest.mark.parametrize("say", ORDER, ids=lambda say: say.__name__)
def test_each_source_overrides_the_default_and_is_named(sources: Sources, say: Say) -> None:
    origin = say(sources, 1)
    assert age(sources) == (1, origin)


@pytest.mark.parametrize(
    ("stronger", "weaker"), list(pairwise(ORDER)), ids=lambda say: say.__name__
)
def test_the_stronger_of_two_adjacent_sources_applies(
    sources: Sources, stronger: Say, weaker: Say
) -> None:
    weaker(sources, 1)
    origin = stronger(sources, 9)
    assert age(sources) == (9, origin)


def test_a_setting_after_the_stage_name_overrides_every_source(sources: Sources) -> None:
    for position, say in enumerate(reversed(ORDER)):
        say(sources, 1 + position)
    assert sources.config().spec("truncate:max-age=77").settings["max_age"] == 77


def test_in_a_file_a_stage_table_overrides_a_key_for_all_stages(sources: Sources) -> None:
    (sources.project / "ctxtrim.toml").write_text('pin = ["id:a"]\n[trim]\npin = ["id:b"]\n')
    config = sources.config()
    assert config.spec("trim").settings["pin"] == ("id:b",)
    assert config.spec("truncate").settings["pin"] == ("id:a",)


def test_the_environment_can_name_a_config_file(sources: Sources) -> None:
    origin = sources.named(8)
    del sources.values["config"]
    sources.variables["CTXTRIM_CONFIG"] = "named.toml"
    assert age(sources) == (8, origin)


@pytest.mark.parametrize("write", [Sources.pyproject, Sources.agents], ids=lambda say: say.__name__)
def test_config_accepts_files_of_other_programs(sources: Sources, write: Say) -> None:
    origin = write(sources, 8)
    (sources.project / "elsewhere").mkdir()
    file = next(path for path in sources.project.iterdir() if path.is_file())
    moved = file.rename(sources.project / "elsewhere" / file.name)
    sources.values["config"] = f"elsewhere/{moved.name}"
    assert age(sources) == (8, f"elsewhere/{origin}")


def test_a_missing_config_file_is_an_error(sources: Sources) -> None:
    for name in ("missing.toml", "missing.json", "missing/pyproject.toml"):
        sources.values["config"] = name
        with pytest.raises(InputError, match=f"{name}: cannot be read: no such file"):
            sources.config()


def test_lists_in_the_environment_are_a_text_or_a_json_array(sources: Sources) -> None:
    sources.variables |= {
        "CTXTRIM_PIN": "id:a, b",
        "CTXTRIM_PIPELINE": '["truncate:max-age=2", "check"]',
    }
    config = sources.config(is_automatic=True)
    assert config.spec("trim").settings["pin"] == ("id:a, b",)
    assert [spec.name for spec in config.pipeline()] == ["truncate", "check"]
    sources.variables["CTXTRIM_PIN"] = "[id:a"
    with pytest.raises(UsageError, match="CTXTRIM_PIN: expected a string or a JSON array"):
        sources.config()


def test_settings_in_a_pipeline_have_the_rank_of_its_file(sources: Sources) -> None:
    (sources.project / "ctxtrim.toml").write_text(
        'pipeline = ["truncate:max-age=2", "truncate"]\nmax-age = 4\nkeep-small = 7\n'
    )
    config = sources.config(is_automatic=True)
    assert [spec.settings["max_age"] for spec in config.pipeline()] == [2, 4]
    assert {spec.settings["keep_small"] for spec in config.pipeline()} == {7}
    sources.environment(9)
    assert [spec.settings["max_age"] for spec in sources.config(is_automatic=True).pipeline()] == [
        9,
        9,
    ]


def test_s0_7_a_partial_block_merges_with_the_defaults(sources: Sources) -> None:
    before = sources.config().settings("truncate")
    (sources.project / "agents.config.json").write_text(
        '{"contextManagement": {"maxTokensPerOutput": 900}}'
    )
    after = sources.config().settings("truncate")
    assert {name for name in after if after[name] != before[name]} == {"max_tokens"}
    assert after["max_tokens"].value == 900


def test_s0_1_the_stage_runs_only_if_enabled(sources: Sources) -> None:
    assert sources.config().enabled == (False, "default")
    (sources.project / "ctxtrim.toml").write_text("enabled = true\n")
    assert sources.config().enabled == (True, "ctxtrim.toml: enabled")
    (sources.user / "rolling-context").write_text("off\n")
    assert sources.config().enabled == (False, str(sources.user / "rolling-context"))
    sources.variables["CTXTRIM_ENABLED"] = "yes"
    assert sources.config().enabled == (True, "CTXTRIM_ENABLED")
    sources.values["enabled"] = False
    assert sources.config().enabled == (False, "--enabled")


def test_s2_6_defaults(sources: Sources) -> None:
    config = sources.config()
    value = {name: value.value for name, value in config.settings("truncate").items()}
    assert (value["max_age"], value["max_tokens"], value["keep_active_files"]) == (5, 2000, True)
    assert config.enabled.value is False
    assert value["replace"] == "placeholder"  # no summaries


def test_s1_12_the_config_block_for_trim(sources: Sources) -> None:
    block = {
        "enabled": True,
        "maxContextTokens": 128000,
        "reservedOutputTokens": 4096,
        "trimStrategy": "priority-based",
        "preserveSystemPrompt": True,
        "preserveRecentTurns": 5,
        "summarizeOnTruncate": False,
        "tokenEstimator": "auto",
    }
    (sources.project / "agents.config.json").write_text(json.dumps({"contextManagement": block}))
    config = sources.config(is_automatic=True)
    assert config.enabled.value is True
    shared = {
        name: config.shared(name).value for name in ("context_window", "reserve", "tokenizer")
    }
    assert shared == {"context_window": 128000, "reserve": 4096, "tokenizer": "auto"}
    assert config.settings("truncate")["replace"].value == "placeholder"
    assert [spec.name for spec in config.pipeline()] == ["truncate", "trim"]
    # none else is strange
    assert all("is unknown in this version" in note.message for _, note in config.notes)


OWN_FILE = {
    "max-ages = 3": "max-ages: unknown key (did you mean max-age?)",
    "max_ages = 3": "max_ages: unknown key (did you mean max_age?)",
    "maxAges = 3": "maxAges: unknown key (did you mean max-age?)",
    "maxTokensPerOutputs = 3": (
        "maxTokensPerOutputs: unknown key (did you mean maxTokensPerOutput?)"
    ),
    "output = 'x'": "output: not a setting; pass --output on the command line",
    "max-age = 'three'": "max-age three: expected a whole number, such as 30000, 30_000 or 30k",
    "max-age = '2.5'": "max-age 2.5: expected a whole number",
    "max-age = true": "max-age: expected a whole number, found true",
    "max-age = 3.5": "max-age: expected a whole number, found 3.5",
    "max-age = 2020-01-01": "max-age: expected a whole number, found 2020-01-01",
    "max-age = -1": "max-age -1: expected at least 0",
    "safety = 0.5": "safety 0.5: expected at least 1",
    "safety = nan": "safety nan: expected a finite number of at least 1",
    "safety = inf": "safety inf: expected a finite number of at least 1",
    "budget = ''": "budget '': expected a whole number, such as 30000",
    "format = ' '": "format ' ': expected one of auto, ",
    "safety = 'x'": "safety x: expected a number",
    "enabled = 1": "enabled: expected true or false, found 1",
    "keep-errors = 'yes'": "keep-errors: expected true or false, found 'yes'",
    "mode = 'middle'": "mode middle: expected one of ",
    "pin = [3]": "pin: expected a string or a list of strings, found [3]",
    "pin = '('": "pin (: invalid regular expression",
    "model = 3": "model: expected a string, found 3",
    "color = 'red'": "color red: expected one of auto, always, never",
    "format = 'clade-code'": "format clade-code: expected one of auto, claude-code",
    "preset = 'rollin'": "preset rollin: unknown preset; expected one of rolling",
    "pipeline = ['truncat']": "pipeline truncat: unknown stage (did you mean truncate?)",
    "pipeline = ['trim:pins=x']": "pipeline trim:pins=x: unknown setting pins (did you mean pin?)",
    "pipeline = 3": "pipeline: expected a string or a list of strings, found 3",
    "[truncate]\nmax-ages = 3": "truncate.max-ages: unknown key (did you mean max-age?); "
    "settings of truncate: ",
    "[truncate]\nmax-age = '3x'": "truncate.max-age 3x: expected a whole number",
    "[truncat]\nmax-age = 3": "truncat: unknown key (did you mean truncate?)",
    "truncate = 3": "truncate: expected a table of settings; write [",
    "trim = true": "trim: expected a table of settings; write [",
    "compactor = 3": "compactor: expected a table of settings; write [",
    "summarize = 3": "summarize: expected true or false, found 3",
    "[contextManagement]\nmodels = 3": (
        "contextManagement.models: not a setting here; write it at the top level of ctxtrim.toml"
    ),
    "max-age = 1\nmax_age = 9": "max_age: the same setting as max-age; keep one of them",
    "[trim]\ntarget = 0.5\nkeepRecentTurns = 1\nkeep-recent-turns = 2": (
        "trim.keep-recent-turns: the same setting as keepRecentTurns; keep one of them"
    ),
    "[models.m]\nmax-input = 1\nmax_input = 2": "models.m.max_input: max_input is given twice",
    "tokenizer = 'nope'": "tokenizer nope: unknown tokenizer; expected auto, usage, o200k_base",
    "messages-path = '['": "messages-path [: expected keys and brackets",
    "messagesPath = 'a.b + c['": "messagesPath a.b + c[: expected keys and brackets at "
    "character 8, as in simulations[*].messages",
    'archive = "a\\u0000b"': ("archive a\0b: expected a path without a null character"),
    'log = "a\\u0000b"': "log a\0b: expected a path",
    'summary-store = "a\\u0000b"': "summary-store a\0b: expected a path",
    "max-age =": "invalid TOML",
    "x = " + "[" * 5000: "invalid TOML",
}


def test_the_table_of_pyproject_toml_in_a_ctxtrim_file_is_named(sources: Sources) -> None:
    (sources.project / "ctxtrim.toml").write_text("[tool.ctxtrim]\nbudget = 5\n")
    with pytest.raises(UsageError, match=r"\[tool.ctxtrim\] is a table of pyproject.toml; write "):
        sources.config()


@pytest.mark.parametrize(("text", "error"), OWN_FILE.items())
def test_an_error_in_a_ctxtrim_file_is_named(sources: Sources, text: str, error: str) -> None:
    (sources.project / "ctxtrim.toml").write_text(text)
    with pytest.raises(UsageError) as caught:
        sources.config()
    assert str(caught.value).startswith(f"ctxtrim.toml: {error}")


@pytest.mark.parametrize(
    ("text", "error"), [item for item in OWN_FILE.items() if "invalid TOML" not in item[1]]
)
def test_an_error_in_pyproject_toml_names_the_table(
    sources: Sources, text: str, error: str
) -> None:
    table = "[tool.ctxtrim." + text[1:] if text.startswith("[") else f"[tool.ctxtrim]\n{text}"
    (sources.project / "pyproject.toml").write_text(table)
    with pytest.raises(UsageError) as caught:
        sources.config()
    assert str(caught.value).startswith(f"pyproject.toml: tool.ctxtrim.{error}")


AGENTS = {
    '{"contextManagement": {"maxAges": 3}}': "contextManagement.maxAges: unknown key (did you "
    "mean max-age?)",
    '{"contextManagement": {"maxAge": "3x"}}': "contextManagement.maxAge 3x: expected a whole "
    "number",
    '{"contextManagement": {"maxAge": -3}}': "contextManagement.maxAge -3: expected at least 0",
    '{"contextManagement": {"keepSmall": 2, "keep_small": 1}}': (
        "contextManagement.keep_small: the same setting as keepSmall; keep one of them"
    ),
    '{"contextManagement": {"tokenEstimator": "nope"}}': (
        "contextManagement.tokenEstimator nope: unknown tokenizer"
    ),
    '{"contextManagement": {"messagesPath": "["}}': (
        "contextManagement.messagesPath [: expected keys and brackets"
    ),
    '{"contextManagement": {"truncate": 3}}': ("contextManagement.truncate: expected an object"),
    '{"contextManagement": {"models": {"m": {}}}}': (
        "contextManagement.models: not a setting here; write it at the top level of ctxtrim.toml"
    ),
    '{"contextManagement": []}': "contextManagement: expected an object",
    '{"compactor": {"model": "small"}}': "compactor.model: unknown key",
    '{"toolOutput": {"maxLine": 3}}': "toolOutput.maxLine: unknown key (did you mean max-lines?)",
    '{"contextManagement": ': "invalid JSON: ",
    "\xff": "invalid JSON: ",
    "[" * 100_000: "invalid JSON: ",
}


def test_the_remedy_for_a_table_has_its_name(sources: Sources) -> None:
    (sources.project / "pyproject.toml").write_text("[tool.ctxtrim]\ntrim = true\n")
    with pytest.raises(UsageError, match=r"write \[tool\.ctxtrim\.trim\]$"):
        sources.config()
    (sources.project / "ctxtrim.toml").write_text("trim = true\n")
    with pytest.raises(UsageError, match=r"write \[trim\]$"):
        sources.config()


@pytest.mark.parametrize(("text", "warning"), AGENTS.items(), ids=range(len(AGENTS)))
def test_an_error_in_a_file_of_another_program_is_a_warning(
    sources: Sources, text: str, warning: str
) -> None:
    (sources.project / "agents.config.json").write_bytes(text.encode("latin-1"))
    [(path, note)] = sources.config().notes
    assert (path, note.severity) == ("agents.config.json", "warning")
    assert note.message.startswith(warning)
    assert age(sources) == (5, "default")


@pytest.mark.parametrize(
    "text", ["[]", "3", '{"other": {"maxAge": 3}}', '{"contextManagement": {"maxAge": null}}']
)
def test_unrelated_keys_in_a_file_of_another_program_are_ignored(
    sources: Sources, text: str
) -> None:
    (sources.project / "agents.config.json").write_text(text)
    assert sources.config().notes == []
    assert age(sources) == (5, "default")


def test_a_file_with_a_byte_order_mark_is_read(sources: Sources) -> None:
    (sources.project / "ctxtrim.toml").write_bytes(b"\xef\xbb\xbfmax-age = 3\n")
    assert age(sources) == (3, "ctxtrim.toml: max-age")


def test_a_file_in_another_encoding_is_named(sources: Sources) -> None:
    problem = "invalid JSON: not UTF-8 at byte 9; save it as UTF-8"
    (sources.project / "agents.config.json").write_bytes(b'{"name":\xe9}')
    assert [note.message for _, note in sources.config().notes] == [problem]
    (sources.project / "ctxtrim.toml").write_bytes(b'model = "\xe9"')
    with pytest.raises(UsageError, match="invalid TOML: not UTF-8 at byte 10; save it"):
        sources.config()


def test_a_pyproject_without_a_ctxtrim_table_is_not_parsed(sources: Sources) -> None:
    (sources.project / "pyproject.toml").write_text("[broken")
    assert age(sources) == (5, "default")
    (sources.project / "pyproject.toml").write_text("[broken ctxtrim")
    with pytest.raises(UsageError, match=r"pyproject\.toml: invalid TOML"):
        sources.config()


@pytest.mark.parametrize(
    ("name", "text", "error"),
    [
        (
            "CTXTRIM_MAX_AGES",
            "3",
            "CTXTRIM_MAX_AGES: unknown variable (did you mean CTXTRIM_MAX_AGE?)",
        ),
        ("CTXTRIM_MAX_AGE", "three", "CTXTRIM_MAX_AGE three: expected a whole number"),
        ("CTXTRIM_ENABLED", "perhaps", "CTXTRIM_ENABLED perhaps: expected true or false"),
        ("CTXTRIM_OUTPUT", "x", "CTXTRIM_OUTPUT: not a setting; pass --output on the command line"),
    ],
)
def test_an_error_in_the_environment_is_named(
    sources: Sources, name: str, text: str, error: str
) -> None:
    sources.variables[name] = text
    with pytest.raises(UsageError) as caught:
        sources.config()
    assert str(caught.value).startswith(error)


def test_an_empty_variable_is_ignored(sources: Sources) -> None:
    sources.variables["CTXTRIM_MAX_AGE"] = ""
    assert age(sources) == (5, "default")


def test_an_invalid_stored_preference_is_an_error(sources: Sources) -> None:
    (sources.user / "rolling-context").write_text("perhaps")
    with pytest.raises(InputError, match="rolling-context: expected on or off"):
        sources.config().enabled  # noqa: B018


def test_models_of_several_files_are_merged(sources: Sources) -> None:
    (sources.project / "ctxtrim.toml").write_text("[models.m]\ncontext-window = 9000\n")
    (sources.user / "config.toml").write_text(
        "[models.M]\ncontext_window = 5\nmax_output = 7\n[models.n]\nmax_output = 3\n"
    )
    model_of = sources.config().model_of
    assert (model_of("m").context_window, model_of("m").max_output, model_of("m").source) == (
        9000,
        7,
        "ctxtrim.toml",
    )
    assert (model_of("n").max_output, model_of("n").source) == (
        3,
        str(sources.user / "config.toml"),
    )


def test_a_run_applies_every_setting(ctxtrim: Run, tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text(
        '[tool.ctxtrim]\nmodel = "gpt-4"\nsafety = 1.5\ntokenizer = "chars4"\n'
    )
    (tmp_path / "agents.config.json").write_text(
        '{"contextManagement": {"maxAges": 3, "reservedOutputTokens": 1000}}'
    )
    ran = ctxtrim(
        "trim", "--json", "--dry-run", stdin=TALK, cwd=tmp_path, CTXTRIM_CONTEXT_WINDOW="7000"
    )
    report = json.loads(ran.out)
    row = report["transcripts"][0]
    assert (row["model"], row["tokenizer"]) == ("gpt-4", "chars4")
    assert row["budget"] == {
        "context_window": 7000,
        "max_input": None,
        "reserve": 1000,
        "available": 4000,
    }
    assert [
        (finding["path"], finding["code"], finding["severity"]) for finding in report["findings"]
    ] == [("agents.config.json", "config", "warning")]
    assert ran.code == 0
    assert "agents.config.json: warning: contextManagement.maxAges: unknown key" in ran.err
    quiet = ctxtrim("trim", "--quiet", stdin=TALK, cwd=tmp_path)
    assert (quiet.out, quiet.err) == (TALK, "")


def test_flags_of_configuration_can_be_turned_off_by_options(ctxtrim: Run, tmp_path: Path) -> None:
    (tmp_path / "ctxtrim.toml").write_text("quiet = true\nexplain = true\n")
    assert (
        ctxtrim("trim", "--tokenizer", "chars4", "--no-explain", stdin=TALK, cwd=tmp_path).err == ""
    )
    error = ctxtrim("trim", "--tokenizer", "chars4", "--no-quiet", stdin=TALK, cwd=tmp_path).err
    assert "messages of" in error
    assert "ctxtrim: trim: 1 transcript" in error


def test_a_configured_archive_is_ignored_by_commands_without_output(
    ctxtrim: Run, tmp_path: Path
) -> None:
    (tmp_path / "ctxtrim.toml").write_text('archive = "kept"\n')
    words = ("--config", "ctxtrim.toml", "--tokenizer", "chars4")
    assert ctxtrim("count", *words, stdin=TALK, cwd=tmp_path).code == 0
    assert not (tmp_path / "kept").exists()
    assert ctxtrim("trim", *words, stdin=TALK, cwd=tmp_path).out == TALK
    assert (tmp_path / "kept").is_dir()
