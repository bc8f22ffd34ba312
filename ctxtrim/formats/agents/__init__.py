"""Formats of agents and their SDKs that have no provider of their own.

A format that is defined here loads its reader for files of that format only.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from ctxtrim.formats.base import Format, layout_of_events, parts_owner
from ctxtrim.formats.fields import (
    elements,
    has_chat_messages,
    members,
    role_in,
    stream_session,
    string,
)
from ctxtrim.formats.media_blocks import text_block
from ctxtrim.formats.message_lists import Dialect
from ctxtrim.loading import lazy_function
from ctxtrim.model import Role
from ctxtrim.text.json_paths import Path

_NOT_CURSOR = {"uuid", "parentUuid", "parent_tool_use_id", "sessionId", "content", "data"}
"""Members of such events in other formats."""


def knows_cursor(value: object) -> bool:
    """Whether a value is an event of Cursor's stream, with a text or a tool call."""
    event = members(value)
    if "session_id" not in event or _NOT_CURSOR & event.keys():
        return False
    if event.get("type") == "tool_call":
        return isinstance(event.get("tool_call"), dict) and "call_id" in event
    message = members(event.get("message"))
    if event.get("type") not in ("user", "assistant") or message.keys() != {"role", "content"}:
        return False
    blocks = elements(message["content"])
    return bool(blocks) and all(members(block).get("type") == "text" for block in blocks)


def admits_cursor(value: object) -> bool:
    """The same, and the other events of a stream, which other agents write too."""
    event = members(value)
    kinds = ("system", "thinking", "result")
    is_other = event.get("type") in kinds and "session_id" in event
    return (is_other and not _NOT_CURSOR & event.keys()) or knows_cursor(value)


CURSOR_AGENT = Format(
    "cursor-agent",
    layout_of_events(knows_cursor),
    lazy_function("ctxtrim.formats.agents.cursor_agent:read"),
    lazy_function("ctxtrim.formats.agents.cursor_agent:insert"),
    takes=layout_of_events(admits_cursor),
    session_of=stream_session,
)


UI_ROLES: dict[object, Role] = {"system": "system", "user": "user", "assistant": "assistant"}
_UI_TEXTS = ("text", "reasoning")
_UI_OTHERS = (
    "step-start",
    "source",
    "source-url",
    "source-document",
    "file",
    "reasoning-file",
    "custom",
)


def knows_ui(value: object) -> bool:
    """Whether a value is a message of the AI SDK's user interface."""
    if role_in(value, "role", UI_ROLES) is None:
        return False
    parts = elements(members(value).get("parts"))
    if parts:
        return all(map(knows_ui_part, parts))
    if "content" not in members(value):
        return False
    has_calls = _has_list(value, "toolInvocations", "toolCallId")
    return has_calls or _has_list(value, "experimental_attachments", "url")


def _has_list(value: object, name: str, key: str) -> bool:
    """Whether a message before version 4.2 has a list whose elements all have a key."""
    items = elements(members(value).get(name))
    return bool(items) and all(key in members(item) for item in items)


def admits_ui(value: object) -> bool:
    """Whether a value may be such a message: before version 4.2 many have only a text."""
    is_text = isinstance(members(value).get("content"), str)
    return knows_ui(value) or (is_text and role_in(value, "role", UI_ROLES) is not None)


def claims_ui(items: Sequence[Any], around: Mapping[str, Any]) -> bool:
    """Whether some elements can only be such messages; the first ones may have only a text."""
    return any(map(knows_ui, items))


def knows_ui_part(value: object) -> bool:
    """Whether a value is a part of such a message."""
    part = members(value)
    kind = part.get("type")
    if not isinstance(kind, str) or ("data" in part and "text" in part):
        return False
    if kind in _UI_TEXTS:
        return isinstance(part.get("text", part.get("reasoning")), str)
    return kind in _UI_OTHERS or kind.startswith("data-") or bool(ui_tool(part))


def ui_tool(part: dict[str, Any]) -> dict[str, Any]:
    """The object with the call and the result of a tool part; empty for any other part."""
    kind = part.get("type")
    if kind is None and "toolCallId" in part:  # one of `toolInvocations`, before version 4.2
        return part
    if kind == "tool-invocation":  # before version 5
        return members(part.get("toolInvocation"))
    is_tool = isinstance(kind, str) and (kind.startswith("tool-") or kind == "dynamic-tool")
    return part if is_tool and "toolCallId" in part else {}


def ui_owner(array: Path) -> Path | None:
    """A message is removed with the last of its parts; other lists are removed alone."""
    is_other = array[-1] in ("toolInvocations", "experimental_attachments")
    return array if is_other else parts_owner(array)


_UI_EDITS = "ctxtrim.formats.agents.ai_sdk_ui_edits"
AI_SDK_UI = Dialect(
    "ai-sdk-ui",
    knows_ui,
    lazy_function("ctxtrim.formats.agents.ai_sdk_ui:read"),
    lazy_function(f"{_UI_EDITS}:insert"),
    owner=ui_owner,
    admits=admits_ui,
    claims=claims_ui,
    has_foreign=partial(has_chat_messages, roles=("tool", "function")),  # with parts, too
    relink=lazy_function(f"{_UI_EDITS}:relink"),
    text_block=text_block,
)


STEP_ROLES: dict[object, Role] = {"system": "system", "user": "user", "agent": "assistant"}


def knows_step(value: object) -> bool:
    """Whether a value is a step of a trajectory in ATIF."""
    step = members(value)
    return {"step_id", "message"} <= step.keys() and string(step.get("source")) in STEP_ROLES


def claims_steps(items: Sequence[Any], around: Mapping[str, Any]) -> bool:
    """Whether elements are the steps of a trajectory that names a version of ATIF."""
    version = string(around.get("schema_version")) or ""
    return version.startswith("ATIF") and (not items or any(map(knows_step, items)))


def step_owner(array: Path) -> Path | None:
    """The list of a step's calls is removed with the last of them, and so is an observation."""
    if array[-1] == "tool_calls":
        return array
    return array[:-1] if array[-2:] == ("observation", "results") else None


_ATIF = "ctxtrim.formats.agents.atif"
ATIF = Dialect(
    "atif",
    knows_step,
    lazy_function(f"{_ATIF}:read"),
    lazy_function(f"{_ATIF}:insert"),
    lazy_function(f"{_ATIF}:envelope"),
    owner=step_owner,
    places=(
        "steps",
        "[*].steps",
        "subagent_trajectories[*].steps",
        "[*].subagent_trajectories[*].steps",
    ),
    claims=claims_steps,
    takes_empty=True,
    relink=lazy_function(f"{_ATIF}:relink"),
    text_block=text_block,
)
