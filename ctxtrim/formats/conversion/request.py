"""From a transcript to the request of a target, and the list of its losses."""

from typing import Any

from msgspec.structs import replace

from ctxtrim.findings import Finding
from ctxtrim.formats.conversion import TARGETS, Conversion
from ctxtrim.formats.conversion.dialogue import dialogue_of
from ctxtrim.formats.conversion.losses import Losses
from ctxtrim.formats.conversion.numbers import is_finite
from ctxtrim.formats.conversion.target import Target
from ctxtrim.formats.fields import members
from ctxtrim.formats.lines import SourceValues
from ctxtrim.model import Span, Transcript
from ctxtrim.text.records import dump
from ctxtrim.tokens.tokenizer import without_lone_surrogates

_TOOLS = ("tools", "functions", "function")  # the members of a request with tool schemas
_MCP_SERVERS = "mcp_servers"


def convert(
    transcript: Transcript, to: str, model: str | None = None, keeps_reasoning: bool = True
) -> Conversion:
    """The request for a target, in the name of `model` or of the model of the transcript."""
    target, losses = TARGETS[to], Losses(transcript)
    if transcript.uncounted:
        number = transcript.uncounted
        what = "1 message has" if number == 1 else f"{number} messages have"
        losses.lose("message of an unknown role", f"{what} an unknown role")
    if transcript.options.output is not None:
        losses.lose("output schema", "the structured output of the request")
    if _has_lost_numbers(transcript):
        losses.lose("number", "a number in the tool schemas that JSON does not have")
    if transcript.tool_choice not in (None, "auto"):
        losses.lose("tool choice", f"the tool choice {transcript.tool_choice}", severity="info")
    dialogue = dialogue_of(transcript, target, losses, keeps_reasoning)
    if not any(turn.role != "system" for turn in dialogue.turns):
        reason = "cannot be converted: no user or assistant message has content"
        return Conversion(None, (Finding("not-converted", "error", reason, transcript.line),))
    request = target.write(replace(dialogue, model=model or dialogue.model), losses)
    request |= _mcp_servers(transcript, target, losses)
    text = dump(request)
    if "null" in text and not is_finite(request):
        losses.lose("number", "a number that JSON does not have is null now")
    valid_text = without_lone_surrogates(text)
    if valid_text != text:
        losses.change("character", "halves of surrogate pairs are U+FFFD now")
    return Conversion(valid_text, losses.findings, to)


def _has_lost_numbers(transcript: Transcript) -> bool:
    """Whether the tool schemas have numbers such as NaN, which are null when they are read."""
    if transcript.tools is None or "null" not in transcript.tools:
        return False
    fields = _fields(transcript)
    return not is_finite([fields.get(key) for key in _TOOLS])


def _mcp_servers(transcript: Transcript, target: Target, losses: Losses) -> dict[str, Any]:
    """The MCP servers of the request, if the target has them; else they are listed as lost."""
    if _MCP_SERVERS not in transcript.options.hidden:
        return {}
    servers = _fields(transcript).get(_MCP_SERVERS)
    if servers is None or not target.has_mcp_servers:
        losses.lose("MCP setting", f"the member {_MCP_SERVERS} of the request")
        return {}
    return {_MCP_SERVERS: servers}


def _fields(transcript: Transcript) -> dict[str, Any]:
    """The members of the request that the transcript was read from."""
    span = Span(transcript.first_line, transcript.pointer)
    return members(SourceValues(transcript.source.lines).at(span))
