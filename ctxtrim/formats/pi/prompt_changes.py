"""System messages in the middle of a pi session, which change the system prompt and the tools.

[earendil-works/pi, `packages/ai/src/utils/transcript.ts`]
"""

from collections.abc import Mapping, Sequence
from typing import Any

from ctxtrim.formats.fields import elements, members
from ctxtrim.formats.message_lists import ListContents
from ctxtrim.model import Part
from ctxtrim.text.records import dump

PromptChange = tuple[Mapping[str, Any], int]
"""A value that changes the system prompt or the tools, and the index of its message."""


def prompt_change(value: Mapping[str, Any], index: int) -> list[PromptChange]:
    """The change of a message at an index; none if it changes neither the prompt nor the tools."""
    return [(value, index)] if value["role"] == "system" or "toolsAdded" in value else []


def apply_prompt(changes: Sequence[PromptChange], contents: ListContents) -> None:
    """Set the tools after some changes, and leave out sections that a later message replaces or
    removes.
    """
    if not changes:  # in most sessions
        return
    tools: dict[str, Any] = {}
    for value, _ in changes:
        if isinstance(value.get("tools"), list):
            tools = {}
        for tool in map(members, elements(value.get("toolsRemoved"))):
            tools.pop(f"{tool.get('name')}", None)
        for key in ("tools", "toolsAdded"):
            new_tools = map(members, elements(value.get(key)))
            tools |= {f"{tool.get('name')}": tool for tool in new_tools}
    contents.tools = dump(list(tools.values())) if tools else None
    later_names: set[Any] = set()  # of sections
    for value, index in reversed(changes):
        message = contents.messages[index]
        if message.role == "system":
            parts = tuple(part for part in message.parts if _section(part) not in later_names)
            contents.change(index, parts=parts)
            later_names |= members(value.get("sections")).keys()


def _section(part: Part) -> Any:
    """The name of the section that a part of a system message is; None for its content."""
    path = part.span.path if part.span is not None else ()
    return path[-1] if path[-2:-1] == ("sections",) else None
