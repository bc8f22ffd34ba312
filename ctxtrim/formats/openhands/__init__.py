"""Histories of OpenHands, in documents of their own or next to the results of an evaluation.

::

    {"instance_id", "history": [{"id", "source", "action", "args"},
                                {"id", "cause", "observation", "content"}, …]}
    {"history": [[action, observation], …]}    2024; either may be a `null` placeholder
    {"id", "source", "kind": "ActionEvent", "tool_call", …}    version 1, per line or in a list

`history` reads them, and loads only for such files.
"""

from typing import Any

from ctxtrim.formats.base import Edit
from ctxtrim.formats.fields import first_string, identifier, members, string
from ctxtrim.formats.message_lists import Dialect, Envelope
from ctxtrim.formats.openhands.event_kinds import is_action_or_observation, is_sdk_event
from ctxtrim.loading import lazy_function
from ctxtrim.model import Span
from ctxtrim.text.json_paths import Path

_PROMPTS = (("args", "content"), ("system_prompt", "text"))
"""The ends of the paths of system prompts. Other messages are removed with their events."""


def knows(value: object) -> bool:
    """Whether a value is an event, or a pair of an action and an observation."""
    if isinstance(value, list):
        return 0 < len(value) <= 2 and all(map(is_action_or_observation, value))
    return is_action_or_observation(value) or is_sdk_event(value)


def envelope(value: dict[str, Any], span: Span) -> Envelope:
    """The id of the instance and the evaluated model. The events contain the tools."""
    config = members(members(value.get("metadata")).get("llm_config"))
    names = (identifier(value.get(key)) for key in ("instance_id", "id", "question_id"))
    return Envelope(
        model=string(config.get("model")),
        id=first_string(names),
    )


def owner(array: Path) -> Path | None:
    """A pair is removed with both of its events; an answer stays without its calls."""
    return array if isinstance(array[-1], int) else None


def relink(edit: Edit) -> Edit:
    """The edit in which a dropped system prompt is an empty text, which its event requires."""
    prompts = {span for span in edit.removed if span.path[-2:] in _PROMPTS}
    return edit.with_value(prompts, "") if prompts else edit


OPENHANDS = Dialect(
    "openhands",
    knows,
    lazy_function("ctxtrim.formats.openhands.history:read"),
    lazy_function("ctxtrim.formats.openhands.insert:insert"),
    envelope=envelope,
    owner=owner,
    relink=relink,
    places=("history", "[*].history", "trajectory", ""),
)
