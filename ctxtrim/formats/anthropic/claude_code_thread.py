"""The live events of a Claude Code session.

Every event names its parent. The live context is more than the path from the last message to the
root: results of parallel calls branch off that path, and so do the other lines of a message of
several lines. The search follows the parents from the last message to the last compaction. Then it
adds the lines that share a message id with the path, and the results that answer its calls.

A compaction may preserve messages before it. They follow its summary, see `claude_code_compaction`.
The client may remove messages in the middle, see `claude_code_snips`.
"""

from collections.abc import Iterable, Sequence
from itertools import islice, takewhile

from msgspec.structs import replace

from ctxtrim.formats.anthropic.claude_code_events import (
    LINKS,
    ClaudeEvent,
    event_around,
    event_of,
    events_in,
)
from ctxtrim.formats.base import Edit
from ctxtrim.formats.event_links import EventEdit, EventGraph, EventIndex, main_session


def _outline(event: ClaudeEvent) -> ClaudeEvent:
    """An event without what the model reads, which no link needs."""
    event.parts, event.messages = (), ()
    event.usage = event.model = event.snapshot = event.replacements = None
    return event


def _thread(events: Sequence[ClaudeEvent]) -> set[int]:
    """The live events: those of the context, and those that link them."""
    indices = [index for index, event in enumerate(events) if event.speaks]
    main_indices = main_session(events, indices)
    if not main_indices:
        return set()
    lookup = EventIndex(events)
    if lookup.is_linked:
        chain = set(
            takewhile(lambda index: not events[index].is_compaction, lookup.walk(main_indices[-1]))
        )
    else:
        chain = set(range(_after_compaction(events), len(events)))
    is_sidechain = events[main_indices[-1]].is_sidechain
    chain = {index for index in chain if events[index].is_sidechain == is_sidechain}
    first = min(chain, default=0)
    # compacted events stay out, even if they share an id
    main_indices = [index for index in main_indices if index > first]
    ids = {events[index].message_id for index in chain if events[index].kind == "assistant"}
    ids.discard(None)
    answers = [index for index in main_indices if events[index].kind == "assistant"]
    chain.update(index for index in answers if events[index].message_id in ids)
    calls = {call for index in chain for call in events[index].calls if call is not None}
    chain.update(index for index in main_indices if not calls.isdisjoint(events[index].results))
    return chain


def _mark_summary(events: Iterable[ClaudeEvent]) -> None:
    """Mark the first message after a compaction as its summary, if the client generated it.

    The lines of a stream do not say which one is the summary.
    """
    main_events = (event for event in events if event.speaks and not event.is_sidechain)
    event = next(main_events, None)
    if event is not None and event.is_synthetic:
        event.messages = tuple(
            [replace(message, is_summary=message.is_injected) for message in event.messages]
        )


def as_loaded(events: list[ClaudeEvent]) -> list[ClaudeEvent]:
    """The events as the client loads them: the messages that the last compaction preserves follow
    its summary, and events that it removed from the context link nothing.
    """
    compactions = [index for index, event in enumerate(events) if event.is_compaction]
    main_indices = main_session(events, compactions)
    for index in main_indices:
        _mark_summary(islice(events, index + 1, None))
    if main_indices and events[main_indices[-1]].compaction:
        # imported here: few sessions have such a compaction
        from ctxtrim.formats.anthropic.claude_code_compaction import in_context_order

        events = in_context_order(events, main_indices[-1])
    if any(event.snipped for event in events):
        # imported here: few sessions have such events
        from ctxtrim.formats.anthropic.claude_code_snips import leave_out_snipped

        leave_out_snipped(events)
    return events


def _with_preserved(events: EventEdit[ClaudeEvent], edit: Edit) -> Edit:
    """The edit with updated links of compactions to messages that they preserve."""
    if not any(event.compaction for event in events.events):
        return edit
    # imported here: few sessions have such a compaction
    from ctxtrim.formats.anthropic.claude_code_compaction import with_preserved

    return with_preserved(events, edit)


def _after_compaction(events: Sequence[ClaudeEvent]) -> int:
    return max((index + 1 for index, event in enumerate(events) if event.is_compaction), default=0)


GRAPH = EventGraph(
    event_of,
    lambda values: as_loaded(
        [_outline(event_of(value, span)) for value, span in events_in(values)]
    ),
    _thread,
    event_around,
    links=LINKS,
    lasting=("leafUuid",),  # may name an event of another session
    finish=_with_preserved,
)
