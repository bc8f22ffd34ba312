"""From a transcript to the request of a target, and the list of its losses."""

import re

from msgspec.structs import replace

from ctxtrim.formats.conversion import TARGETS, Conversion
from ctxtrim.formats.conversion.dialogue import dialogue_of
from ctxtrim.formats.conversion.losses import Losses
from ctxtrim.model import Transcript
from ctxtrim.stage import NOT_CONVERTED, Finding
from ctxtrim.text.records import dump

_SURROGATES = re.compile("[\ud800-\udfff]")


def convert(
    transcript: Transcript, to: str, model: str | None = None, keeps_reasoning: bool = True
) -> Conversion:
    """The request for a target, in the name of `model` or of the model of the transcript."""
    target, losses = TARGETS[to], Losses(transcript)
    if transcript.uncounted:
        what = f"{transcript.uncounted} messages have an unknown role"
        losses.lose("message of an unknown role", what)
    if transcript.options.output is not None:
        losses.lose("output schema", "the structured output of the request")
    if transcript.tool_choice not in (None, "auto"):
        losses.lose("tool choice", f"the tool choice {transcript.tool_choice}", severity="info")
    dialogue = dialogue_of(transcript, target, losses, keeps_reasoning)
    if not any(turn.role != "system" for turn in dialogue.turns):
        reason = "cannot be converted: no user or assistant message has content"
        return Conversion(None, (Finding(NOT_CONVERTED, "error", reason, transcript.line),))
    request = target.write(replace(dialogue, model=model or dialogue.model), losses)
    text = dump(request)
    if _SURROGATES.search(text):
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        losses.change("character", "halves of surrogate pairs are U+FFFD now")
    return Conversion(text, losses.findings)
