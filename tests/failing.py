"""The command line with a stage and a format that fail: `python tests/failing.py trim FILE`.

A transcript whose first text is `raise NAME` ends in that exception in its first stage, `cannot
read NAME` while it is read. With `FAILS_EARLY` in the environment the exception of that name comes
before any input is read.
"""

import os
from typing import Any

from msgspec.structs import replace

import ctxtrim.formats
import ctxtrim.io.inputs
from ctxtrim.__main__ import main
from ctxtrim.stages import STAGES

EXCEPTIONS = {
    item.__name__: item
    for item in (KeyError, MemoryError, RecursionError, ValueError, KeyboardInterrupt)
}


def fail(text: str, start: str) -> None:
    if text.startswith(start):
        raise EXCEPTIONS[text.removeprefix(start)]("\x1b[2J\n'x'")


class Failing(STAGES["truncate"]):  # type: ignore[misc]
    __module__ = "ctxtrim.stages.truncate.stage"  # as if the stage of ctxtrim failed

    def __call__(self, transcript: Any) -> Any:
        fail(transcript.messages[0].parts[0].text, "raise ")
        return super().__call__(transcript)


def read(records: Any, lines: Any) -> Any:
    transcripts = chat.read(records, lines)
    for transcript in transcripts:
        fail(transcript.messages[0].parts[0].text, "cannot read ")
    return transcripts


def early(*words: Any, **options: Any) -> Any:
    fail(os.environ["FAILS_EARLY"], "")


STAGES["truncate"] = Failing
chat = ctxtrim.formats.FORMATS["openai-chat"]
ctxtrim.formats.FORMATS["openai-chat"] = replace(chat, read=read)
if "FAILS_EARLY" in os.environ:
    ctxtrim.io.inputs.inputs = early

if __name__ == "__main__":
    main()
