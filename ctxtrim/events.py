"""What is told of a compaction while it happens: that it starts, and how it ended."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Event:
    """The start or the end of a compaction, with the rule that asked for it.

    Before and after: the tokens of the whole prompt, and the messages that the model sees; at the start there is no
    after. `error`: what went wrong, if anything did; with an after, something else stood in.
    """

    event: Literal["start", "end"]
    trigger: str
    tokens_before: int
    messages_before: int
    tokens_after: int | None = None
    messages_after: int | None = None
    error: str | None = None

    @property
    def spelled(self) -> dict[str, Any]:
        """The event as JSON."""
        before = {"tokens": self.tokens_before, "messages": self.messages_before}
        found: dict[str, Any] = {"event": self.event, "trigger": self.trigger, "before": before}
        if self.tokens_after is not None:
            found["after"] = {"tokens": self.tokens_after, "messages": self.messages_after}
        return found if self.error is None else found | {"error": self.error}


OnEvent = Callable[[Event], object]


def announced(
    on_event: OnEvent, start: Event, work: Callable[[], T], told: Callable[[T], tuple[int, int, str | None]]
) -> T:
    """What some work gives, with an event before it and one after it, also where it fails.

    `told`: tokens and messages after it, and what went wrong.
    """
    on_event(start)
    try:
        found = work()
        tokens, messages, error = told(found)
    except Exception as trouble:
        on_event(replace(start, event="end", error=str(trouble)))
        raise
    on_event(replace(start, event="end", tokens_after=tokens, messages_after=messages, error=error))
    return found
