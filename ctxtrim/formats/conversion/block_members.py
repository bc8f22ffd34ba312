"""Members of blocks, messages and tools besides their content, which only some APIs accept."""

from collections.abc import Mapping, Sequence
from typing import Any

from ctxtrim.formats.conversion.losses import Losses
from ctxtrim.formats.conversion.reasoning import litellm_signature
from ctxtrim.formats.fields import members, string
from ctxtrim.model import Message
from ctxtrim.text.records import value_in

_KINDS = {
    "cache_control": "cache breakpoint",
    "citations": "citation",
    "annotations": "citation",
    "context": "document context",
    "videoMetadata": "video setting",
    "video_metadata": "video setting",
    "mediaResolution": "image resolution",
    "media_resolution": "image resolution",
    "namespace": "call namespace",
    "toolset_name": "call namespace",
    "caller": "call origin",
    "extra_content": "signature",  # Gemini's, in its API of Chat Completions
    "scheduling": "result setting",  # Gemini, as the next four
    "willContinue": "result setting",
    "will_continue": "result setting",
    "partMetadata": "part metadata",
    "part_metadata": "part metadata",
    "pending_safety_checks": "safety check",
    "acknowledged_safety_checks": "safety check",
}
"""The members of blocks and calls, and nouns for their losses."""
_KINDS_IN_MESSAGES = {
    "phase": "answer phase",
    "annotations": "citation",
    "extra_content": "signature",
    "cache_control": "cache breakpoint",
}
"""The same for members next to the content of a message."""
_KINDS_IN_TOOLS = {
    "strict": "tool setting",
    "cache_control": "cache breakpoint",
    "defer_loading": "tool setting",
    "deferLoading": "tool setting",  # Codex
    "input_examples": "tool setting",
    "allowed_callers": "tool setting",
    "async": "tool setting",  # OpenAI Responses, as the next
    "output_schema": "result schema",
    "eager_input_streaming": "tool setting",
    "behavior": "tool setting",  # Gemini, as the next three
    "response": "result schema",
    "responseJsonSchema": "result schema",
    "response_json_schema": "result schema",
    "outputSchema": "result schema",  # MCP, as the next
    "annotations": "tool setting",
}
"""The same for tools."""
OF_ONE_API = ("defer_loading", "allowed_callers")
"""The members of tools that refer to other tools of the API that they are written for."""
_PHASES = ("commentary", "final_answer")
_RESPONSES = ("functionResponse", "function_response")
DIRECT = {"type": "direct"}
"""The caller of a call that the model made, as without one."""

BlockMembers = Mapping[str, Any]
NO_MEMBERS: BlockMembers = {}


def members_of(value: Any) -> BlockMembers:
    """The members of a block or a call besides its content; empty ones are missing."""
    block_members = dict(_members_in(value, _KINDS))
    block_members |= litellm_signature(value) | _phase_in_pi(value)
    for key in _RESPONSES:
        block_members |= _members_in(members(value).get(key), _KINDS)
    return block_members


def _phase_in_pi(block: Any) -> dict[str, Any]:
    """The phase of an answer of OpenAI, which pi keeps in the signature of its text.

    [earendil-works/pi, packages/ai/src/api/openai-responses-shared.ts]
    """
    signature = string(members(block).get("textSignature")) or ""
    if not signature.startswith("{"):
        return {}
    phase = members(value_in(signature)).get("phase")
    return {"phase": phase} if phase in _PHASES else {}


def has_resolution(block_members: BlockMembers) -> bool:
    """Whether the members of a block have the resolution of an image (Gemini)."""
    return "mediaResolution" in block_members or "media_resolution" in block_members


def members_of_message(value: Any) -> BlockMembers:
    """The members of a message besides its content; empty ones are missing."""
    if not isinstance(value, Mapping) or "role" not in value:  # a block, or an item
        return NO_MEMBERS
    message_members = {**_members_in(value, _KINDS_IN_MESSAGES), **litellm_signature(value)}
    if message_members.get("phase") in _PHASES and value["role"] == "assistant":
        return message_members
    message_members.pop("phase", None)  # of another program
    return message_members


def members_of_tool(value: Mapping[str, Any]) -> BlockMembers:
    """The members of a tool besides its name, text and schema; null and empty ones are missing."""
    tool_members = {key: value.get(key) for key in _KINDS_IN_TOOLS}
    return {key: inner for key, inner in tool_members.items() if inner or inner is False}


def _members_in(value: Any, kinds: Mapping[str, str]) -> BlockMembers:
    if not isinstance(value, Mapping) or kinds.keys().isdisjoint(value):
        return NO_MEMBERS
    return {key: value[key] for key in kinds if value.get(key)}


def kept_members(
    source_members: BlockMembers, names: Sequence[str], message: Message, losses: Losses
) -> BlockMembers:
    """The members of a block or a message that a target accepts; the others are listed as lost."""
    if not source_members:
        return NO_MEMBERS
    target_members = {}
    for key, value in source_members.items():
        if key in names:
            target_members[key] = value
        elif value != DIRECT:
            kind = _KINDS.get(key) or _KINDS_IN_MESSAGES[key]
            losses.lose(kind, f"the member {key}", message, "info")
    return target_members


def kept_members_of_tool(
    tool_members: BlockMembers, names: Sequence[str], name: str, losses: Losses
) -> BlockMembers:
    """The members of a tool that a target accepts; the others are listed as lost."""
    for key, value in tool_members.items():
        if value and key not in names:
            what = f"the member {key} of the tool {name}"
            losses.lose(_KINDS_IN_TOOLS[key], what, severity="info")
    return {key: value for key, value in tool_members.items() if key in names}
