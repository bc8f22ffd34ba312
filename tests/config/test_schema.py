"""The JSON Schema of configuration files: it accepts what the loader accepts."""

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
from conftest import Run
from jsonschema import Draft7Validator
from test_config_aliases import OWN, ROWS
from test_template import DOCUMENT

from ctxtrim.config.aliases import AMBIGUOUS
from ctxtrim.config.from_toml import own_file
from ctxtrim.config.run_settings import SHARED
from ctxtrim.config.schema import schema
from ctxtrim.config.stage_specs import SETTINGS
from ctxtrim.errors import UsageError
from ctxtrim.text.names import camel_case, option_name

RULE = Draft7Validator(schema())
VALID = (
    'budget = "80%"', 'budget = "30k"', "budget = 30_000", 'budget = "1.5m"', 'budget = " 1,500 K"',
    'max-size = "2GiB"', 'max-size = "2 gib"', 'max-size = "1.5MB"', "safety = 2", 'safety = "1.5"',
    "max_age = 3", "maxAge = 3", "max-age = 3", 'max-tool-share = "60%"', "max-tool-share = 0.6",
    'mode = "head_tail"', 'trimStrategy = "age-based"', "summarize = true", 'repair = "synthesize"',
    "[summarize]\nredact = false", '[repair]\nrepair = "drop"', 'pipeline = ["truncate", "trim"]',
    '[trim]\nstrategy = "priority-based"\npin = "id:a"\ntarget = 0.5', 'preset = ""',
    'target = "50%"', 'pin = "a b"', 'tool = ["read_file:max-lines=5,mode=tail"]',
    'pointer = "[cut]"',
    'preset = "rolling, budget"', "[contextManagement]\nmaxAge = 3", "[compactor]\nmaxTokens = 3",
    "[contextManagement.truncate]\nmax-age = 3", "[cutoff]\ntoolCallCutoff = 2",
    '[toolOutput]\nmode = "head_tail"', "[models.ours]\ncontext_window = 9000",
    '[models.ours]\ncontext-window = "64k"\nmax-input = 1\ntokenizer = "chars4"',
    '[[paths]]\nmatch = "a/**"\nbudget = "3k"\nmax_messages = 3\nmaxTokensPerResult = 4',
    '[[paths]]\nmatch = "a"\nmodel = "gpt-4o"\nprofile = "openai"\nmax-tool-share = "60%"',
)  # fmt: skip
INVALID = (
    "bugdet = 3", 'budget = "much"', "budget = 0", 'budget = "2.5"', 'color = "red"',
    'quiet = "yes"', 'reserve = "80%"', '[trim]\nstrategi = "age"', "pin = [3]", "safety = 0.5",
    "[trim]\ntarget = 2.0", "[trim]\ntarget = 0.0", 'preset = "nope"', "[models.x]\nfoo = 1",
    "[models.x]\ncontext_window = 0", '[models.x]\nmax_input = "many"', "models = 3",
    "[drop_images]\nmax-age = 3", "max_aeg = 3", "maxAges = 3", "summarize = 3", "paths = 3",
    'repair = "mend"', "[[paths]]\nbudget = 3", '[[paths]]\nmatch = "a"\nmax-age = 3',
    "maxTokens = 3", "max-tool-share = 2.0", "truncate = true", "[cutoff]\nmaxLines = 2",
    'pin = ""', 'pin = ["a", ""]', 'pointer = " "', 'tool = "x"', '[truncate]\ntool = ["x:mode"]',
)  # fmt: skip


def is_loaded(path: Path, text: str) -> bool:
    """Whether ctxtrim accepts a file with this text."""
    path.write_text(text)
    try:
        own_file(path)
    except UsageError:
        return False
    return True


@pytest.mark.parametrize("text", VALID)
def test_the_schema_accepts_valid_files(tmp_path: Path, text: str) -> None:
    assert is_loaded(tmp_path / "ctxtrim.toml", text)
    assert list(RULE.iter_errors(tomllib.loads(text))) == []


@pytest.mark.parametrize("text", INVALID)
def test_the_schema_rejects_invalid_files(tmp_path: Path, text: str) -> None:
    assert not is_loaded(tmp_path / "ctxtrim.toml", text)
    assert not RULE.is_valid(tomllib.loads(text))


def test_the_schema_accepts_the_template() -> None:
    assert list(RULE.iter_errors(DOCUMENT)) == []


@pytest.mark.parametrize(("block", "name", "value", "expected"), [*ROWS, *OWN])
def test_the_schema_accepts_the_names_of_other_programs(
    block: str, name: str, value: Any, expected: dict[str, Any]
) -> None:
    assert RULE.is_valid({block: {name: value}})
    assert RULE.is_valid({name: value}) == (name not in AMBIGUOUS)
    for target in expected:
        stage = target.rpartition(".")[0]
        assert not stage or RULE.is_valid({stage: {name: value}})


def test_the_schema_accepts_every_spelling_of_a_setting() -> None:
    tables = [*((None, name, option) for name, option in SHARED.items())]
    tables += [
        (stage, name, option)
        for stage, settings in SETTINGS.items()
        for name, option in settings.items()
    ]
    for stage, name, option in tables:
        value = (option.least or 1) if option.default is None else option.default
        value = list(value) if isinstance(value, tuple) else value
        kebab = option_name(name)
        for key in (kebab, kebab.replace("-", "_"), camel_case(kebab)):
            assert RULE.is_valid({stage: {key: value}} if stage else {key: value}), key
            assert not RULE.is_valid({stage: {key: {}}} if stage else {key: {}}), key


def test_the_schema_is_a_schema_and_is_printed(ctxtrim: Run) -> None:
    Draft7Validator.check_schema(schema())
    assert json.loads(ctxtrim("config", "schema").out) == schema()
