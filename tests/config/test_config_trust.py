"""Configuration discovered in a folder cannot run programs, send data or name paths to read or
write.
"""

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from builders import conversation, says, user
from conftest import Run

from ctxtrim.config.from_command import command_config
from ctxtrim.config.run_settings import SHARED
from ctxtrim.errors import InputError

TALK = conversation(
    [user("Where is the key to the boathouse?"), says("Under the blue pot."), user("Thank you.")]
)
LONG = conversation([
    message
    for number in range(40)
    for message in (user(f"Question {number}: which berth has the ketch?"), says(f"Berth {number}, "
"near "
"the crane."))
])  # fmt: skip
PLACES = {
    "archive": "kept",
    "log": "usage.jsonl",
    "events": "events.jsonl",
    "summary-store": "store.json",
    "tokenizer": "./tokenizer.json",
    "llm-command": "touch PWNED; echo a summary",
    "llm-model": "some-model",
    "llm-base-url": "http://127.0.0.1:9/v1",
    "llm-timeout": 5,
}
"""A value for each restricted setting of a full run."""


def camel(key: str) -> str:
    first, *rest = key.split("-")
    return first + "".join(word.title() for word in rest)


def toml(key: str, value: object) -> str:
    return f"{key} = {json.dumps(value)}\n"


def in_own_file(folder: Path, key: str, value: object) -> tuple[str, str]:
    (folder / "ctxtrim.toml").write_text(toml(key, value))
    return "ctxtrim.toml", key


def in_pyproject(folder: Path, key: str, value: object) -> tuple[str, str]:
    (folder / "pyproject.toml").write_text("[tool.ctxtrim]\n" + toml(key, value))
    return "pyproject.toml", f"tool.ctxtrim.{key}"


def in_agents_file(folder: Path, key: str, value: object) -> tuple[str, str]:
    (folder / "agents.config.json").write_text(
        json.dumps({"contextManagement": {camel(key): value}})
    )
    return "agents.config.json", f"contextManagement.{camel(key)}"


Write = Callable[[Path, str, object], tuple[str, str]]
FILES: list[Write] = [in_own_file, in_pyproject, in_agents_file]


def test_every_setting_for_a_path_or_service_is_restricted() -> None:
    restricted = {name for name, field in SHARED.items() if field.is_restricted is not None}
    assert restricted == {key.replace("-", "_") for key in PLACES}


@pytest.mark.parametrize("key", PLACES)
@pytest.mark.parametrize("write", FILES, ids=lambda write: write.__name__)
def test_a_restricted_setting_of_a_discovered_file_is_ignored_with_a_warning(
    ctxtrim: Run, tmp_path: Path, write: Write, key: str
) -> None:
    file, setting = write(tmp_path, key, PLACES[key])
    before = sorted(tmp_path.iterdir())
    ran = ctxtrim("trim", "--summarize", "--budget", "900", stdin=LONG, cwd=tmp_path)
    assert ran.code == 0
    assert ran.err.splitlines()[0].startswith(f"{file}: warning: {setting} is ignored, ")
    assert "use `--config FILE` to allow it" in ran.err.splitlines()[0]
    assert sorted(tmp_path.iterdir()) == before


def test_a_folder_cannot_run_a_program(ctxtrim: Run, tmp_path: Path) -> None:
    block = {"contextManagement": {"llmCommand": "id > PWNED; echo hi", "summarize": True}}
    (tmp_path / "agents.config.json").write_text(json.dumps(block))
    ran = ctxtrim("trim", "--budget", "900", stdin=LONG, cwd=tmp_path)
    assert not (tmp_path / "PWNED").exists()
    # allowed settings of the file apply, here with a summary from facts
    assert b"## User requests" in ran.out
    named = ctxtrim(
        "trim", "--budget", "900", "--config", "agents.config.json", stdin=LONG, cwd=tmp_path
    )
    assert (tmp_path / "PWNED").exists()
    assert "is ignored" not in named.err


@pytest.mark.parametrize("key", ["archive", "log", "events", "summary-store"])
@pytest.mark.parametrize("write", FILES, ids=lambda write: write.__name__)
def test_a_named_file_is_trusted(ctxtrim: Run, tmp_path: Path, write: Write, key: str) -> None:
    file, _ = write(tmp_path, key, PLACES[key])
    words = ("trim", "--summarize", "--budget", "900", "--config", f"./{file}")
    ran = ctxtrim(*words, stdin=LONG, cwd=tmp_path)
    assert ran.code == 0
    assert (tmp_path / str(PLACES[key])).exists()
    assert "is ignored" not in ran.err


@pytest.mark.parametrize("key", ["archive", "log", "events", "summary-store"])
def test_the_environment_and_the_user_folder_are_trusted(
    ctxtrim: Run, tmp_path: Path, key: str
) -> None:
    words = ("trim", "--summarize", "--budget", "900")
    (tmp_path / "one").mkdir()
    variable = {f"CTXTRIM_{key.upper().replace('-', '_')}": str(PLACES[key])}
    assert ctxtrim(*words, stdin=LONG, cwd=tmp_path / "one", **variable).code == 0
    assert (tmp_path / "one" / str(PLACES[key])).exists()
    (tmp_path / "two").mkdir()
    (tmp_path / "user" / "ctxtrim").mkdir(parents=True)
    (tmp_path / "user" / "ctxtrim" / "config.toml").write_text(toml(key, PLACES[key]))
    ran = ctxtrim(*words, stdin=LONG, cwd=tmp_path / "two", XDG_CONFIG_HOME=str(tmp_path / "user"))
    assert ran.code == 0
    assert (tmp_path / "two" / str(PLACES[key])).exists()


def test_limits_patterns_and_names_of_a_discovered_file_apply(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ctxtrim.toml").write_text(
        'budget = 900\npin = ["id:a"]\ntokenizer = "chars4"\n[trim]\ntarget = 0.5\n'
    )
    config = command_config({}, {}, tmp_path / "user")
    assert config.notes == []
    assert (config.values["budget"], config.values["tokenizer"]) == (900, "chars4")
    assert config.settings("trim")["pin"].value == ("id:a",)


def test_a_tokenizer_file_of_a_model_is_ignored_and_its_limits_apply(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ctxtrim.toml").write_text(
        '[models.m]\ntokenizer = "../x/tokenizer.json"\ncontext-window = 9000\n'
    )
    config = command_config({}, {}, tmp_path / "user")
    model = config.model_of("m")
    assert model.context_window == 9000
    assert "tokenizer.json" not in model.tokenizer
    [(path, note)] = config.notes
    assert path == "ctxtrim.toml"
    assert note.message.startswith("models.m.tokenizer is ignored, ")
    named = command_config({"config": "ctxtrim.toml"}, {}, tmp_path / "user")
    assert named.model_of("m").tokenizer == "../x/tokenizer.json"
    assert named.notes == []


def test_a_folder_cannot_turn_off_the_masking_of_secrets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ctxtrim.toml").write_text("redact = false\n")
    config = command_config({}, {}, tmp_path / "user")
    assert config.settings("summarize")["redact"].value is True
    assert [note.message.split(" is ignored")[0] for _, note in config.notes] == ["redact"]
    assert (
        command_config({"config": "ctxtrim.toml"}, {}, tmp_path / "user")
        .settings("trim")["redact"]
        .value
        is False
    )


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("ctxtrim.toml", 'pipeline = ["trim", "summarize:redact=false,keep-recent-turns=2"]'),
        (
            "agents.config.json",
            '{"contextManagement": {"pipeline": ["trim", '
            '"summarize:{\\"redact\\": false, \\"keep_recent_turns\\": 2}"]}}',
        ),
    ],
)
def test_a_pipeline_of_a_folder_cannot_turn_off_the_masking_of_secrets(
    name: str, text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / name).write_text(text)
    config = command_config({}, {}, tmp_path / "user")
    summarize = config.pipeline()[1]
    assert (summarize.settings["redact"], summarize.settings["keep_recent_turns"]) == (True, 2)
    assert [note.message.split(" is ignored")[0] for _, note in config.notes] == [
        "redact of summarize in pipeline"
    ]
    if name == "ctxtrim.toml":
        named = command_config({"config": name}, {}, tmp_path / "user")
        assert named.pipeline()[1].settings["redact"] is False


def test_a_pipe_in_an_untrusted_folder_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    os.mkfifo(tmp_path / "ctxtrim.toml")
    with pytest.raises(
        InputError, match=r"ctxtrim\.toml: cannot be read: it is not a regular file"
    ):
        command_config({}, {}, tmp_path / "user")


def test_an_endless_configuration_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=r"/dev/zero: cannot be read: it has more than"):
        command_config({"config": "/dev/zero"}, {}, tmp_path / "user")
