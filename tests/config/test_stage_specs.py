"""Stages as users write them, in `-s` and in a pipeline."""

from pathlib import Path

import pytest
from conftest import Run
from samples import line

from ctxtrim.config.from_command import command_config
from ctxtrim.config.stage_specs import parse_stage
from ctxtrim.errors import UsageError

DEEP = "[" * 100_000


def test_a_list_of_a_stage_may_name_its_key_again() -> None:
    name, settings = parse_stage("trim:pin=a,target=0.5,pin=b", "-s")
    assert (name, settings) == ("trim", {"pin": ("a", "b"), "target": 0.5})


@pytest.mark.parametrize(
    "text",
    [
        "trim:target=0.5,target=0.6",
        "truncate:max-age=1,max_age=9",
        'truncate:{"max-age": 1, "max_age": 9}',
        "truncate:maxAge=1,max-age=9",
    ],
)
def test_a_setting_that_is_given_twice_is_an_error(text: str) -> None:
    key = "target" if "target" in text else "max-age"
    with pytest.raises(UsageError, match=f"-s: {key} is given twice"):
        parse_stage(text, "-s")


@pytest.mark.parametrize("key", ["max-age", "max_age", "maxAge"])
@pytest.mark.parametrize("frame", ["truncate:{}=3", 'truncate:{{"{}": 3}}'])
def test_a_setting_has_the_spellings_of_files(frame: str, key: str) -> None:
    assert parse_stage(frame.format(key), "-s") == ("truncate", {"max_age": 3})


def test_values_in_a_json_object_are_as_in_a_file() -> None:
    text = 'truncate:{"max-age": 3, "max_tokens": "2k", "pin": ["a", "b"], "keep-errors": false}'
    assert parse_stage(text, "-s") == (
        "truncate",
        {"max_age": 3, "max_tokens": 2000, "pin": ("a", "b"), "keep_errors": False},
    )


def test_null_in_a_json_object_is_not_given() -> None:
    assert parse_stage('truncate:{"placeholder": null, "pin": null}', "-s") == ("truncate", {})


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ('trim:{"pin": 3}', "pin: expected a string or a list of strings, found 3"),
        ('trim:{"pin": ["a", 1]}', "pin: expected a string or a list of strings, found ['a', 1]"),
        ('truncate:{"placeholder": {}}', "placeholder: expected a string, found {}"),
        ('truncate:{"keep-errors": "no"}', "keep-errors: expected true or false, found 'no'"),
        ('truncate:{"max-age": 1.5}', "max-age: expected a whole number, found 1.5"),
        ('truncate:{"max-ages": 1}', "unknown setting max-ages (did you mean max-age?)"),
        ("truncate:{'max-age': 1}", "expected a JSON object after truncate:"),
        (f'truncate:{{"pin": {DEEP}', "expected a JSON object after truncate:"),
    ],
)
def test_a_value_of_the_wrong_type_is_an_error(text: str, error: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_stage(text, "-s")
    assert str(caught.value).startswith(f"-s: {error}")


def test_deep_json_is_an_error_of_its_source(
    ctxtrim: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("talk.jsonl").write_bytes(line())
    stage = f'truncate:{{"pin": {DEEP}'
    ran = ctxtrim("run", "-s", stage, "talk.jsonl", cwd=tmp_path)
    assert ran.code == 2 and len(ran.err) < 200
    assert ran.err.startswith('ctxtrim: -s truncate:{"pin": [[[')
    with pytest.raises(UsageError, match=r"^CTXTRIM_PIN: expected a string") as pin:
        command_config({}, {"CTXTRIM_PIN": DEEP}, tmp_path / "user")
    assert len(str(pin.value)) < 400
    Path("ctxtrim.toml").write_text(f"pipeline = ['{stage}']")
    with pytest.raises(UsageError, match=r"^ctxtrim\.toml: pipeline truncate:\{.*expected a JSON"):
        command_config({}, {}, tmp_path / "user")


def test_a_list_in_the_environment_has_strings_only(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="CTXTRIM_PIN: expected a string or a list of strings"):
        command_config({}, {"CTXTRIM_PIN": '["a", 1]'}, tmp_path)


def test_a_text_in_the_environment_that_begins_like_an_array_has_a_remedy(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        command_config({}, {"CTXTRIM_PIN": "[a-z]+"}, tmp_path)
    assert str(caught.value) == (
        "CTXTRIM_PIN: expected a string or a JSON array of strings, found [a-z]+; "
        'if it is one string that begins with [, write ["[a-z]+"]'
    )
    config = command_config({}, {"CTXTRIM_PIN": '["[a-z]+"]'}, tmp_path)
    assert config.spec("trim").settings["pin"] == ("[a-z]+",)
