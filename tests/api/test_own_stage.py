"""A program adds a stage of its own to the table of stages."""

import subprocess
import sys
from dataclasses import dataclass
from typing import Any

import pytest
from conftest import ENVIRONMENT

from ctxtrim import STAGES, Pipeline, Stage, Transcript, UsageError
from ctxtrim.stage import setting

PROGRAM = '''
from dataclasses import dataclass

from msgspec.structs import replace

import ctxtrim
from ctxtrim.stage import setting


@dataclass(frozen=True)
class KeepLast(ctxtrim.Stage):
    """Keep the last messages."""

    last: int = setting(2, "Keep the last N messages.", least=1)

    def __call__(self, transcript: ctxtrim.Transcript) -> ctxtrim.Outcome:
        messages = transcript.messages[-self.last :]
        return ctxtrim.Outcome(replace(transcript, messages=messages))


ctxtrim.STAGES["keep-last"] = KeepLast
messages = [{"role": "user", "content": text} for text in ("north", "south", "west")]
for stage in ("keep-last", "keep-last:last=1"):
    outcome = ctxtrim.Pipeline(stage, model="gpt-4o").run(messages)
    print(*(message["content"] for message in outcome.messages))
'''


REPLACED = (
    PROGRAM
    + '''

@dataclass(frozen=True)
class KeepFirst(ctxtrim.Stage):
    """Keep the first messages."""

    first: int = setting(1, "Keep the first N messages.", least=1)

    def __call__(self, transcript: ctxtrim.Transcript) -> ctxtrim.Outcome:
        messages = transcript.messages[: self.first]
        return ctxtrim.Outcome(replace(transcript, messages=messages))


ctxtrim.STAGES["keep-last"] = KeepFirst
outcome = ctxtrim.Pipeline("keep-last:first=2", model="gpt-4o").run(messages)
print(*(message["content"] for message in outcome.messages))
'''
)


def printed(program: str) -> tuple[str, str]:
    """What a program prints to its output, and its errors."""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, env=ENVIRONMENT
    )
    return done.stdout, done.stderr


@pytest.mark.parametrize("first", ["", "from ctxtrim import Pipeline"])
def test_a_stage_of_a_program_has_settings_and_edits_messages(first: str) -> None:
    assert printed(first + PROGRAM) == ("south west\nwest\n", "")


def test_a_stage_that_replaces_another_has_settings_of_its_own() -> None:
    assert printed(REPLACED) == ("south west\nwest\nnorth south\n", "")


@pytest.mark.parametrize("value", [object, len, None])
def test_a_stage_that_is_no_subclass_of_stage_is_refused(value: Any) -> None:
    with pytest.raises(UsageError) as caught:
        STAGES["mine"] = value
    assert str(caught.value) == "stage mine: expected a subclass of ctxtrim.Stage"
    assert "mine" not in STAGES


@pytest.mark.parametrize("name", ["settings", "run_fields", "idle", "is_verdict"])
def test_a_setting_cannot_hide_a_method_of_stage(name: str) -> None:
    field = setting(2, "Keep the last N messages.")
    with pytest.raises(UsageError) as caught:
        type("Mine", (Stage,), {"__annotations__": {name: int}, name: field})
    assert str(caught.value) == (
        f"stage class Mine: the field {name} hides {name} of ctxtrim.Stage; rename the field"
    )


@dataclass(frozen=True)
class Forgetful(Stage):
    """A stage that returns nothing."""

    def __call__(self, transcript: Transcript) -> Any:
        return None


@pytest.mark.parametrize("thinking", ["keep", "strip"])
def test_a_stage_that_returns_no_outcome_is_named(
    thinking: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(STAGES, "forgetful", Forgetful)
    pipeline = Pipeline("forgetful", model="gpt-4o", thinking=thinking)
    with pytest.raises(UsageError) as caught:
        pipeline.run([{"role": "user", "content": "north"}])
    assert str(caught.value) == "stage class Forgetful: expected an Outcome, found None"
