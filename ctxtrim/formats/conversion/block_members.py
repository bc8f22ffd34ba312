"""Members of blocks, answers and tools besides their content, which only some APIs accept."""

from collections.abc import Mapping, Sequence
from typing import Any

from ctxtrim.formats.conversion.losses import Losses
from ctxtrim.model import Message

_KINDS = {
    "cache_control": "cache breakpoint",
    "citations": "citation",
    "annotations": "citation",
    "context": "document context",
    "videoMetadata": "video setting",
    "video_metadata": "video setting",
    "mediaResolution": "image resolution",
    "media_resolution": "image resolution",
    "defer_loading": "tool setting",
    "input_examples": "tool setting",
    "allowed_callers": "tool setting",
    "eager_input_streaming": "tool setting",
    "namespace": "call namespace",
    "toolset_name": "call namespace",
    "caller": "call origin",
}
"""The members of blocks and tools, and nouns for their losses."""
_KINDS_IN_ANSWERS = {"phase": "answer phase", "annotations": "citation"}
"""The same for members next to the content of an answer of OpenAI."""
_NOUNS = _KINDS | _KINDS_IN_ANSWERS
_PHASES = ("commentary", "final_answer")
_DIRECT = {"type": "direct"}  # the caller of a call that the model made, as without one

BlockMembers = Mapping[str, Any]
NO_MEMBERS: BlockMembers = {}


def members_of(value: Any) -> BlockMembers:
    """The members of a block or a tool besides its content; empty ones are missing."""
    return _found(value, _KINDS)


def members_of_answer(value: Any) -> BlockMembers:
    """The members of an answer of OpenAI besides its content; empty ones are missing."""
    found = _found(value, _KINDS_IN_ANSWERS)
    if "phase" in found and found["phase"] not in _PHASES:  # of another program
        return {key: inner for key, inner in found.items() if key != "phase"}
    return found


def _found(value: Any, kinds: Mapping[str, str]) -> BlockMembers:
    if not isinstance(value, Mapping) or kinds.keys().isdisjoint(value):
        return NO_MEMBERS
    return {key: value[key] for key in kinds if value.get(key)}


def kept_members(
    found: BlockMembers, accepted: Sequence[str], message: Message | None, losses: Losses
) -> BlockMembers:
    """The members that a target accepts; the others are listed as lost."""
    if not found:
        return NO_MEMBERS
    kept = {}
    for key, value in found.items():
        if key in accepted and not _is_program(value):
            kept[key] = value
        elif value != _DIRECT:
            losses.lose(_NOUNS[key], f"the member {key}", message, "info")
    return kept


def _is_program(caller: Any) -> bool:
    """Whether a call was made by a program of OpenAI, whose item is not converted."""
    return isinstance(caller, Mapping) and caller.get("type") == "program"
