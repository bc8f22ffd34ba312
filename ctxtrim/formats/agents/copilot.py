"""Sessions of Copilot CLI (`events.jsonl`): one event per line, each linked to the one before it.

`user.message`, `assistant.message` and `tool.execution_complete` are the conversation;
`system.notification` and `session.mode_notice_delivered` are messages of the client. Each turn
repeats the system prompt, so only the last `system.message` of a role and name counts: those of the
developer come after the system prompt, by name. A completed compaction replaces everything before
its start by its summary, and a cleared context everything before it by its `initialMessage`, if it
has one. A compaction without a summary replaces nothing. Reasoning before a `session.resume` is not
sent again. Bytes of attachments are in `session.binary_asset` events, which may come after their
use. Events of subagents, and all other events, are not sent. Checked against the event schema of
github/copilot-sdk (nodejs/src/generated/session-events.ts) and the replay of sessions in version
1.0.48. `copilot_events` reads the events, and `copilot_edits` inserts some.
"""

from collections.abc import Mapping
from typing import Any

from ctxtrim.formats.base import Format, layout_of_events
from ctxtrim.formats.fields import members, string
from ctxtrim.loading import lazy_function

_GROUPS = ("session.", "user.", "assistant.", "tool.", "system.", "hook.", "subagent.", "skill.")


def knows(value: object) -> bool:
    """Whether a value is an event of a session."""
    if not isinstance(value, dict) or not isinstance(value.get("data"), dict):
        return False
    kind = value.get("type")
    return isinstance(kind, str) and kind.startswith(_GROUPS) and "parentId" in value


def session_of(value: Mapping[str, Any]) -> str | None:
    """The id of the session that an event begins; no subagent begins one."""
    is_start = value.get("type") == "session.start" and "agentId" not in value
    return string(members(value.get("data")).get("sessionId")) if is_start else None


_EDITS = "ctxtrim.formats.agents.copilot_edits"
# no owner: an answer stays without its last call, as it may have a text
FORMAT = Format(
    "copilot-cli",
    layout_of_events(knows),
    lazy_function("ctxtrim.formats.agents.copilot_events:read"),
    lazy_function(f"{_EDITS}:insert"),
    relink=lazy_function(f"{_EDITS}:relink"),
    session_of=session_of,
)
