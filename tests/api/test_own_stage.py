"""A program adds a stage of its own to the table of stages."""

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from conftest import ENVIRONMENT
from msgspec.structs import replace

from ctxtrim import STAGES, CtxtrimError, Outcome, Pipeline, Stage, Transcript, UsageError
from ctxtrim.model import Message, Part
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


Messages = tuple[Message, ...]
CALL = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
TALK = [
    {"role": "user", "content": "north"},
    {"role": "assistant", "content": "south", "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "c1", "content": "west"},
]


def changed(message: Message, **fields: Any) -> Message:
    """A message whose last part has other fields."""
    return replace(message, parts=(*message.parts[:-1], replace(message.parts[-1], **fields)))


MISTAKES: dict[str, tuple[Callable[[Messages], Messages], str]] = {
    "another order": (lambda read: read[::-1], "message 1 comes after message 2"),
    "a message twice": (lambda read: (read[0], *read), "message 0 is repeated"),
    "an unknown message": (
        lambda read: (*read, Message("user", (Part("text", "east"),), index=7)),
        "message 7 was not read; a new message has the index None",
    ),
    "a negative index": (
        lambda read: (replace(read[0], index=-1), *read[1:]),
        "message -1 was not read; a new message has the index None",
    ),
    "another role": (
        lambda read: (replace(read[0], role="assistant"), *read[1:]),
        "message 0 has the role assistant instead of user",
    ),
    "another call id": (
        lambda read: (*read[:2], changed(read[2], call_id="c2")),
        "message 2 has a tool_result with another call id, error flag or attachment",
    ),
    "a new call": (
        lambda read: (replace(read[0], parts=(*read[0].parts, Part("tool_call", "{}"))), *read[1:]),
        "message 0 has a new tool_call; only texts can be added",
    ),
}
"""By mistake: the messages that a stage returns, and what the error says."""


def stage_of(edit: Callable[[Messages], Messages]) -> type[Stage]:
    @dataclass(frozen=True)
    class Mistaken(Stage):
        def __call__(self, transcript: Transcript) -> Outcome:
            return Outcome(replace(transcript, messages=edit(transcript.messages)))

    return Mistaken


@pytest.mark.parametrize("name", MISTAKES)
def test_messages_that_cannot_be_written_are_a_bug_in_the_stage(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    edit, text = MISTAKES[name]
    monkeypatch.setitem(STAGES, "mine", stage_of(edit))
    message = f"mine: {text}, so nothing was written; this is a bug in the stage mine"
    pipeline = Pipeline("mine", model="gpt-4o")
    with pytest.raises(CtxtrimError) as caught:
        pipeline.run(TALK)
    assert str(caught.value) == message
    (tmp_path / "a.json").write_text(json.dumps(TALK))
    outcome = pipeline.run_file(tmp_path / "a.json")
    assert outcome.data == b""
    assert [finding.message for row in outcome.rows for finding in row.findings] == [message]


def test_an_exception_of_a_stage_is_a_bug_in_the_stage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(STAGES, "mine", stage_of(lambda read: (read[7],)))
    pipeline = Pipeline("mine", model="gpt-4o")
    with pytest.raises(IndexError) as caught:
        pipeline.run(TALK)
    assert caught.value.__notes__ == ["this is a bug in the stage mine"]
    (tmp_path / "a.json").write_text(json.dumps(TALK))
    (row,) = pipeline.run_file(tmp_path / "a.json").rows
    assert [finding.message for finding in row.findings] == [
        "cannot be handled: unexpected IndexError (tuple index out of range); this is a bug in the "
        "stage mine; --debug shows the traceback"
    ]


def test_an_error_of_ctxtrim_in_a_stage_is_no_bug_in_the_stage(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def edit(read: Messages) -> Messages:
        raise UsageError("bearing: expected at most 360")

    monkeypatch.setitem(STAGES, "mine", stage_of(edit))
    with pytest.raises(UsageError) as caught:
        Pipeline("mine", model="gpt-4o").run(TALK)
    assert str(caught.value) == "bearing: expected at most 360"
    assert not hasattr(caught.value, "__notes__")
