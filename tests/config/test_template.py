"""The configuration file of `ctxtrim config init`."""

import json
import re
import tomllib
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlparse

import pytest
from conftest import Run

from ctxtrim.config.from_command import command_config
from ctxtrim.config.run_settings import SHARED
from ctxtrim.config.schema import schema
from ctxtrim.config.stage_specs import SETTINGS
from ctxtrim.config.template import template
from ctxtrim.text.names import option_name

SETTING = re.compile(r"^# (\[\[?[a-z.-]+\]\]?|[a-z_-]+ = .*)$", re.MULTILINE)
DOCUMENT: dict[str, Any] = tomllib.loads(SETTING.sub(r"\1", template()))


def test_the_template_has_every_setting_and_changes_nothing(tmp_path: Path) -> None:
    assert tomllib.loads(template()) == {stage: {} for stage in SETTINGS}
    assert {*map(option_name, SHARED)} <= DOCUMENT.keys()
    for stage, settings in SETTINGS.items():
        assert {*DOCUMENT[stage]} == {*map(option_name, settings)}


def test_every_setting_of_the_template_is_valid_without_its_comment(tmp_path: Path) -> None:
    path = tmp_path / "settings.toml"
    path.write_text(SETTING.sub(r"\1", template()))
    config = command_config({"config": str(path)}, {}, tmp_path)
    assert config.notes == []
    assert [section.glob.text for section in config.sources[2].sections] == ["tests/recordings/**"]
    for stage, settings in SETTINGS.items():
        values = config.settings(stage)
        for name, option in settings.items():
            if option.default is not None:
                assert values[name].value == option.default


def test_values_of_the_template_that_are_no_defaults_are_marked_as_examples() -> None:
    marked = set(re.findall(r"^# ([a-z-]+) = .*  # an example$", template(), re.MULTILINE))
    declared = [*SHARED.values(), *(each for row in SETTINGS.values() for each in row.values())]
    assert {"budget", "jobs", "active-steps"} <= marked
    assert marked == {option_name(each.name) for each in declared if each.default is None}


def test_init_writes_a_file_that_names_its_schema(ctxtrim: Run, tmp_path: Path) -> None:
    ran = ctxtrim("config", "init", cwd=tmp_path)
    assert (ran.code, ran.out) == (0, b"")
    text = (tmp_path / "ctxtrim.toml").read_text()
    address = text.split("\n")[0].removeprefix("#:schema ")
    assert json.loads(Path(unquote(urlparse(address).path)).read_text()) == schema()
    before = json.loads(ctxtrim("config", "show", "--json").out)
    assert json.loads(ctxtrim("config", "show", "--json", cwd=tmp_path).out) == before


def test_init_replaces_a_file_only_if_forced(ctxtrim: Run, tmp_path: Path) -> None:
    own = tmp_path / "own.toml"
    own.write_text("budget = 3\n")
    ran = ctxtrim("config", "init", "own.toml", cwd=tmp_path)
    assert (ran.code, own.read_text()) == (2, "budget = 3\n")
    assert ran.err == "ctxtrim: own.toml exists; pass --force to replace it, or name another file\n"
    assert ctxtrim("config", "init", "own.toml", "--force", cwd=tmp_path).code == 0
    assert own.read_text() == template()


@pytest.mark.parametrize("force", [(), ("--force",)])
def test_init_writes_through_no_link(ctxtrim: Run, tmp_path: Path, force: tuple[str, ...]) -> None:
    target = tmp_path / "team.toml"
    (tmp_path / "ctxtrim.toml").symlink_to("team.toml")
    for before in (None, "budget = 3\n"):
        if before is not None:
            target.write_text(before)
        ran = ctxtrim("config", "init", *force, cwd=tmp_path)
        assert ran.code == 2
        assert ran.err == (
            "ctxtrim: ctxtrim.toml is a link to team.toml; name that file, or remove the link\n"
        )
        assert (target.read_text() if target.exists() else None) == before


def test_the_help_of_a_preset_in_a_file_names_its_condition() -> None:
    text = " ".join(template().replace("\n# ", " ").split())
    assert "If enabled is true and no pipeline is set, run also runs the preset's stages." in text
    assert "If enabled is true" in schema()["properties"]["preset"]["description"]


def test_the_comments_of_the_template_write_names_and_defaults_as_they_are() -> None:
    text = template()
    assert 'get_task_trace(traceId="{id}")]]' in " ".join(text.replace("\n# ", " ").split())
    assert not re.search(r"^# .*\w-$", text, re.MULTILINE)
