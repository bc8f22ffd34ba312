"""The configuration file of `ctxtrim config init`, and its schema."""

import json
import re
import tomllib
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlparse

from conftest import Run

from ctxtrim.config import configured
from ctxtrim.config.run_settings import SHARED
from ctxtrim.config.stage_specs import SETTINGS
from ctxtrim.config.template import schema, template
from ctxtrim.text.names import option_name

SETTING = re.compile(r"^# (\[[a-z.-]+\]|[a-z_-]+ = .*)$", re.MULTILINE)
DOCUMENT: dict[str, Any] = tomllib.loads(SETTING.sub(r"\1", template()))


def is_valid(value: Any, rule: Any) -> bool:
    """Whether a value follows a JSON Schema with the words that the schema of settings uses."""
    kinds: dict[str, Any] = {
        "boolean": bool, "integer": int, "number": int | float, "string": str, "array": list,
        "object": dict,
    }  # fmt: skip
    if rule is True:
        return True
    if "anyOf" in rule and not any(is_valid(value, each) for each in rule["anyOf"]):
        return False
    if "enum" in rule and value not in rule["enum"]:
        return False
    if "type" in rule and (
        not isinstance(value, kinds[rule["type"]])
        or (isinstance(value, bool) and rule["type"] != "boolean")
    ):
        return False
    if "minimum" in rule and value < rule["minimum"]:
        return False
    if "pattern" in rule and not re.search(rule["pattern"], value):
        return False
    if isinstance(value, list):
        return all(is_valid(each, rule.get("items", True)) for each in value)
    if isinstance(value, dict):
        return all(is_valid(each, _member(rule, key)) for key, each in value.items())
    return True


def _member(rule: Any, key: str) -> Any:
    if key in rule.get("properties", {}):
        return rule["properties"][key]
    if any(re.search(pattern, key) for pattern in rule.get("patternProperties", {})):
        return True
    return rule.get("additionalProperties", True) or {"enum": []}


def test_the_template_has_every_setting_and_changes_nothing(tmp_path: Path) -> None:
    assert tomllib.loads(template()) == {stage: {} for stage in SETTINGS}
    assert {*map(option_name, SHARED)} <= DOCUMENT.keys()
    for stage, settings in SETTINGS.items():
        assert {*DOCUMENT[stage]} == {*map(option_name, settings)}


def test_every_setting_of_the_template_is_valid_without_its_comment(tmp_path: Path) -> None:
    path = tmp_path / "settings.toml"
    path.write_text(SETTING.sub(r"\1", template()))
    config = configured({"config": str(path)}, {}, tmp_path)
    assert config.notes == []
    for stage, settings in SETTINGS.items():
        values = config.settings(stage)
        for name, option in settings.items():
            if option.default is not None:
                assert values[name].value == option.default


def test_the_schema_accepts_the_template_and_finds_errors() -> None:
    rule = schema()
    assert is_valid(DOCUMENT, rule)
    for good in (
        {"budget": "80%"}, {"budget": "30k"}, {"budget": 30_000}, {"max_age": 3}, {"maxAge": 3},
        {"trim": {"strategy": "priority-based", "pin": "id:a"}}, {"max-size": "2GiB"},
        {"contextManagement": {"maxAge": 3}}, {"models": {"ours": {"context_window": 9000}}},
    ):  # fmt: skip
        assert is_valid(good, rule)
    for bad in (
        {"bugdet": 3}, {"budget": "much"}, {"budget": 0}, {"color": "red"}, {"quiet": "yes"},
        {"reserve": "80%"}, {"trim": {"strategi": "age"}}, {"pin": [3]}, {"safety": 0.5},
    ):  # fmt: skip
        assert not is_valid(bad, rule)


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


def test_the_schema_is_printed(ctxtrim: Run) -> None:
    assert json.loads(ctxtrim("config", "schema").out) == schema()


def test_the_comments_of_the_template_write_names_and_defaults_as_they_are() -> None:
    text = template()
    assert 'get_task_trace(traceId="{id}")]]' in " ".join(text.replace("\n# ", " ").split())
    assert not re.search(r"^# .*\w-$", text, re.MULTILINE)
