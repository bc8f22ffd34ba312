"""The names of other programs for settings: each name of the table."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from conftest import FIXTURES, Run

from ctxtrim.config.aliases import ALIASES, AMBIGUOUS, VALUE_ALIASES
from ctxtrim.config.from_agents_json import agents_file
from ctxtrim.config.from_call import call_config
from ctxtrim.config.from_command import command_config
from ctxtrim.config.from_toml import own_file, project_table
from ctxtrim.config.run_settings import SHARED
from ctxtrim.config.stage_specs import SETTINGS
from ctxtrim.errors import UsageError
from ctxtrim.text.names import option_name

# Settings in the table that no stage has yet: their names are reported as unknown in this version.
PENDING: set[str] = set()
LIMITS = {"truncate": ("--max-tokens", "200"), "trim": ("--budget", "3000")}
"""Options with which the stages edit a fixture."""

# block, name and value there, and the setting here
ROWS: list[tuple[str, str, Any, dict[str, Any]]] = [
    ("contextManagement", "maxTokensPerOutput", 900, {"truncate.max-tokens": 900}),
    ("contextManagement", "maxToolOutputAge", 3, {"truncate.max-age": 3}),
    ("contextManagement", "maxToolOutputTokens", 900, {"truncate.max-tokens": 900}),
    ("contextManagement", "truncatePlaceholder", "[{N}]", {"truncate.placeholder": "[{N}]"}),
    ("contextManagement", "truncatedPlaceholder", "[{N}]", {"truncate.placeholder": "[{N}]"}),
    ("contextManagement", "placeholderTemplate", "[{N}]", {"truncate.placeholder": "[{N}]"}),
    (
        "contextManagement",
        "preserveRecentFiles",
        False,
        {"truncate.keep-active-files": False, "trim.keep-active-files": False},
    ),
    (
        "contextManagement",
        "activeFileSteps",
        2,
        {"truncate.active-steps": 2, "trim.active-steps": 2},
    ),
    (
        "contextManagement",
        "summarizeOnTruncate",
        True,
        {"truncate.replace": "summary", "trim.summarize": True},
    ),
    (
        "contextManagement",
        "summarizeOnTruncate",
        False,
        {"trim.summarize": False},
    ),
    ("contextManagement", "maxContextTokens", 64000, {"context-window": 64000}),
    ("contextManagement", "reservedOutputTokens", 2048, {"reserve": 2048}),
    ("contextManagement", "tokenEstimator", "auto", {"tokenizer": "auto"}),
    ("contextManagement", "tokenEstimator", "claude", {"tokenizer": "claude"}),
    ("contextManagement", "trimStrategy", "priority-based", {"trim.strategy": "priority"}),
    ("contextManagement", "trimStrategy", "age-based", {"trim.strategy": "age"}),
    ("contextManagement", "preserveSystemPrompt", False, {"trim.preserve-system-prompt": False}),
    ("contextManagement", "preserveRecentTurns", 2, {"trim.keep-recent-turns": 2}),
    ("contextManagement", "maxMessages", 30, {"compact.max-messages": 30}),
    ("contextManagement", "keepRecentTokens", 9000, {"compact.keep-recent-tokens": 9000}),
    ("compactor", "maxMessages", 30, {"compact.max-messages": 30}),
    ("compactor", "maxTokens", 9000, {"compact.session-tokens": 9000}),
    ("compactor", "keepRecent", 3, {"compact.keep-recent-messages": 3}),
    ("compactor", "keepRecentTokens", 9000, {"compact.keep-recent-tokens": 9000}),
    ("compactor", "reserveTokens", 16384, {"reserve": 16384}),
    ("compactor", "toolCallCutoff", 4, {"cutoff.tool-cutoff": 4, "compact.tool-cutoff": 4}),
    (
        "compactor",
        "toolSummaryStrategy",
        "heuristic",
        {"cutoff.tool-summary": "heuristic", "compact.tool-summary": "heuristic"},
    ),
    ("compactor", "autoCompact", False, {"compact.auto": False}),
    ("toolOutput", "truncationMode", "head_tail", {"truncate.mode": "head-tail"}),
    ("toolOutput", "spillThreshold", 4096, {"truncate.spill-above": 4096}),
    ("toolOutput", "largeOutputThreshold", 4096, {"truncate.spill-above": 4096}),
]

# the same for camelCase names of ctxtrim, which need no row in the table
OWN: list[tuple[str, str, Any, dict[str, Any]]] = [
    ("contextManagement", "enabled", True, {"enabled": True}),
    ("contextManagement", "maxAge", 3, {"truncate.max-age": 3, "drop-images.max-age": 3}),
    ("contextManagement", "maxTokens", 900, {"truncate.max-tokens": 900}),
    ("contextManagement", "placeholder", "[{age}]", {"truncate.placeholder": "[{age}]"}),
    (
        "contextManagement",
        "keepErrors",
        False,
        {"truncate.keep-errors": False, "trim.keep-errors": False},
    ),
    ("contextManagement", "contextWindow", 64000, {"context-window": 64000}),
    ("toolOutput", "maxLines", 100, {"truncate.max-lines": 100}),
    ("toolOutput", "maxBytes", 100, {"truncate.max-bytes": 100}),
    ("toolOutput", "maxChars", 100, {"truncate.max-chars": 100}),
    ("toolOutput", "mode", "head_tail", {"truncate.mode": "head-tail"}),
    ("toolOutput", "mode", "head", {"truncate.mode": "head"}),
]


def is_known(target: str) -> bool:
    stage, _, name = target.rpartition(".")
    names = (
        SETTINGS.get(stage, {})
        if stage
        else [*SHARED, *(name for all_ in SETTINGS.values() for name in all_)]
    )
    return name in map(option_name, names)


def settings_and_notes(
    path: Path, block: str, name: str, value: Any
) -> tuple[dict[str, Any], list[str]]:
    """The setting from `agents.config.json` with a single name in a block, and the messages about
    it.
    """
    path.write_text(json.dumps({block: {name: value}}))
    settings_source = agents_file(path)
    result = {option_name(key): setting.value for key, setting in settings_source.shared.items()}
    result |= {
        f"{stage}.{option_name(key)}": setting.value
        for stage, all_ in settings_source.settings.items()
        for key, setting in all_.items()
    }
    return result, [note.message for note in settings_source.notes]


@pytest.mark.parametrize(("block", "name", "value", "expected"), [*ROWS, *OWN])
def test_a_name_of_another_program_is_an_alias_of_a_setting(
    tmp_path: Path, block: str, name: str, value: Any, expected: dict[str, Any]
) -> None:
    result, lines = settings_and_notes(tmp_path / "agents.config.json", block, name, value)
    assert result == {target: item for target, item in expected.items() if target not in PENDING}
    later = [target for target in expected if target in PENDING]
    assert lines == [f"{block}.{name}: {target} is unknown in this version" for target in later]


@pytest.mark.parametrize(
    ("target", "alias", "word"),
    [(target, *row) for target, words in VALUE_ALIASES.items() for row in words.items()],
)
def test_every_source_accepts_the_words_of_other_programs(
    ctxtrim: Run, tmp_path: Path, target: str, alias: str, word: str
) -> None:
    stage, _, name = target.partition(".")
    own = tmp_path / "own.toml"
    own.write_text(f"[{stage}]\n{name} = {json.dumps(alias)}\n")

    def output(*words: str, **variables: str) -> bytes:
        limit = LIMITS[stage]
        ran = ctxtrim(*words, *limit, "--quiet", FIXTURES / "agent.jsonl", **variables)
        assert ran.code == 0, ran.err
        assert ran.out != (FIXTURES / "agent.jsonl").read_bytes()
        return ran.out

    outputs = {
        output(stage, f"--{name}", word),
        output(stage, f"--{name}", alias),
        output(stage, **{f"CTXTRIM_{name.upper()}": alias}),
        output(stage, "--config", str(own)),
        output("run", "-s", f"{stage}:{name}={alias}"),
        output("run", "-s", f"{stage}:{json.dumps({name: alias})}"),
    }
    assert len(outputs) == 1


def test_every_row_of_the_table_is_tested() -> None:
    rows = {(block, row.name, row.target) for block, all_ in ALIASES.items() for row in all_}
    tested = {
        (block, name, target if (block, name, target) in rows else target.rpartition(".")[2])
        for block, name, _, expected in ROWS
        for target in expected
    }
    assert rows == tested


def test_the_settings_of_the_table_exist_or_are_pending() -> None:
    targets = {row.target for rows in ALIASES.values() for row in rows} | set(VALUE_ALIASES)
    assert {target for target in targets if not is_known(target)} == PENDING


@pytest.mark.parametrize(("block", "name", "value", "expected"), [*ROWS, *OWN])
def test_ctxtrim_files_accept_the_aliases(
    tmp_path: Path, block: str, name: str, value: Any, expected: dict[str, Any]
) -> None:
    own = tmp_path / "ctxtrim.toml"
    own.write_text(f"[{block}]\n{name} = {json.dumps(value)}\n")
    settings_source = own_file(own)
    inside = {
        (stage, key): setting.value
        for stage, all_ in settings_source.settings.items()
        for key, setting in all_.items()
    }
    # keepRecentTokens is also a name of ctxtrim, for more stages
    if name not in (*AMBIGUOUS, "keepRecentTokens"):
        own.write_text(f"{name} = {json.dumps(value)}\n")
        bare = own_file(own)
        assert {
            (stage, key): setting.value
            for stage, all_ in bare.settings.items()
            for key, setting in all_.items()
        } == inside
        assert {key: setting.value for key, setting in bare.shared.items()} == {
            key: setting.value for key, setting in settings_source.shared.items()
        }
    assert len(inside) + len(settings_source.shared) == sum(
        target not in PENDING for target in expected
    )


@pytest.mark.parametrize(
    "setting", [(stage, name) for stage, names in SETTINGS.items() for name in names]
)
def test_every_setting_is_accepted_in_kebab_snake_and_camel_case(
    tmp_path: Path, setting: tuple[str, str]
) -> None:
    stage, name = setting
    default = SETTINGS[stage][name].default
    value = {bool: True, int: 7, float: 1.0, tuple: ["x"], type(None): 7}.get(
        type(default), default
    )
    if name == "tool":
        value = ["bash:max-tokens=7"]
    kebab = option_name(name)
    camel = "".join(
        word.title() if position else word for position, word in enumerate(kebab.split("-"))
    )
    for key in (kebab, kebab.replace("-", "_"), camel):
        own = tmp_path / "ctxtrim.toml"
        own.write_text(f"[{stage}]\n{key} = {json.dumps(value)}\n")
        assert list(own_file(own).settings[stage]) == [name]


def test_the_first_of_two_blocks_takes_precedence(tmp_path: Path) -> None:
    path = tmp_path / "agents.config.json"
    path.write_text(
        '{"compactor": {"reserveTokens": 16384}, "contextManagement": '
        '{"reservedOutputTokens": 4096}}'
    )
    assert agents_file(path).shared["reserve"].value == 4096


def test_a_file_can_turn_off_summaries_of_a_file_with_less_precedence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("agents.config.json").write_text('{"contextManagement": {"summarizeOnTruncate": true}}')
    config = command_config({}, {}, tmp_path / "user")
    assert config.settings("truncate")["replace"].value == "summary"
    Path("ctxtrim.toml").write_text("summarizeOnTruncate = false\n")
    config = command_config({}, {}, tmp_path / "user")
    assert config.settings("truncate")["replace"] == (
        "placeholder",
        "ctxtrim.toml: summarizeOnTruncate",
    )
    assert config.settings("trim")["summarize"].value is False


@pytest.mark.parametrize(
    "text",
    [
        'summarizeOnTruncate = false\nreplace = "stub"\n',
        'replace = "stub"\nsummarizeOnTruncate = false\n',
        'preset = "retention"\nsummarizeOnTruncate = false\n',
    ],
)
def test_no_summaries_is_no_choice_against_another_replacement(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("ctxtrim.toml").write_text(text)
    settings = command_config({}, {}, tmp_path / "user").settings("truncate")
    assert settings["replace"].value == ("head" if "preset" in text else "stub")


def test_the_last_mapping_of_a_call_decides_on_summaries() -> None:
    call = call_config(
        "here", "rolling", {"summarizeOnTruncate": True}, {"summarizeOnTruncate": False}
    )
    assert call.settings("truncate")["replace"] == ("placeholder", "here: summarizeOnTruncate")


@pytest.mark.parametrize(("block", "name", "value", "expected"), ROWS)
def test_the_table_of_a_stage_accepts_the_aliases(
    tmp_path: Path, block: str, name: str, value: Any, expected: dict[str, Any]
) -> None:
    own = tmp_path / "ctxtrim.toml"
    for target, result in expected.items():
        stage, _, setting = target.rpartition(".")
        if stage:
            own.write_text(f"[{stage}]\n{name} = {json.dumps(value)}\n")
            found = own_file(own).settings
            assert list(found) == [stage]
            assert {option_name(key): item.value for key, item in found[stage].items()} == {
                setting: result
            }


@pytest.mark.parametrize(
    ("name", "keys"),
    [
        ("maxTokens", "[compact] session-tokens or [truncate] max-tokens"),
        ("maxMessages", "[compact] max-messages or [check] max-messages"),
    ],
)
def test_a_name_with_two_meanings_needs_a_table(tmp_path: Path, name: str, keys: str) -> None:
    own = tmp_path / "ctxtrim.toml"
    own.write_text(f"{name} = 900\n")
    with pytest.raises(UsageError, match=re.escape(f"{name}: has two meanings; write {keys}")):
        own_file(own)
    project = tmp_path / "pyproject.toml"
    project.write_text(f"[tool.ctxtrim]\n{name} = 900\n")
    with pytest.raises(UsageError, match=rf"tool\.ctxtrim\.{name}: has two meanings"):
        project_table(project)
    own.write_text(f"[compactor]\n{name} = 900\n")
    assert [item.value for item in own_file(own).settings["compact"].values()] == [900]


def test_an_invalid_flag_is_an_error(tmp_path: Path) -> None:
    own = tmp_path / "ctxtrim.toml"
    own.write_text('summarizeOnTruncate = "yes"\n')
    with pytest.raises(
        UsageError, match=r"ctxtrim\.toml: summarizeOnTruncate: expected true or false, found 'yes'"
    ):
        own_file(own)
