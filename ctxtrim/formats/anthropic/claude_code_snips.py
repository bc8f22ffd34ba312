"""The events that Claude Code removed from the middle of its context (snips).

They keep their lines. A later line names them, and when the client loads the session, it gives
their children the nearest ancestor that is left::

    lines     a  b  c(parent: b)  d(snipped: a b)  e
    context   c(no parent)  d  e

[Claude Code, `applySnipRemovals`]
"""

from collections.abc import Sequence

from msgspec import UNSET

from ctxtrim.formats.anthropic.claude_code_events import ClaudeEvent
from ctxtrim.formats.fields import string


def leave_out_snipped(events: Sequence[ClaudeEvent]) -> None:
    """Change the removed events, so that nothing of them is sent and they name no other event, and
    set the parents of their children.
    """
    names = {name for event in events for name in event.snipped}
    parents = {event.id: string(event.parent) for event in events if event.id in names}
    for event in events:
        parent = string(event.parent)
        if event.id in names:
            _empty(event)
        elif parent is not None and parent in parents:
            if event.line_parent is UNSET:
                event.line_parent = parent
            event.parent = _nearest_kept(parent, parents)


def _empty(event: ClaudeEvent) -> None:
    """Remove from an event what is sent of it, and its links: its line stays as it is."""
    event.speaks = event.is_context = event.is_compaction = False
    event.parts, event.messages, event.calls, event.results = (), (), (), ()
    event.message_id = event.usage = event.snapshot = None
    event.parent, event.value = None, {}


def _nearest_kept(name: str | None, parents: dict[str, str | None]) -> str | None:
    """The nearest ancestor that is not removed. `parents`: those of the removed events, which are
    brought up to date for later searches.
    """
    way: set[str] = set()  # stops at a cycle
    while name is not None and name in parents and name not in way:
        way.add(name)
        name = parents[name]
    parents.update(dict.fromkeys(way, name))
    return name
