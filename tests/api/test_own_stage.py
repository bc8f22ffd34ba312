"""A program adds a stage of its own to the table of stages."""

import subprocess
import sys

from conftest import ENVIRONMENT

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


def test_a_stage_of_a_program_has_settings_and_edits_messages() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, env=ENVIRONMENT
    )
    assert (done.stdout, done.stderr) == ("south west\nwest\n", "")
