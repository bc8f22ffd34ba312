"""Events of a compaction: one at its start, one at its end."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Event:
    """The start or the end of a compaction, with the rule that triggered it.

    Tokens are those of the whole prompt; messages are those that the model sees. A start event has
    no values after. `error`: the problem, if any; if the values after are set too, a fallback was
    used.
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
        value: dict[str, Any] = {"event": self.event, "trigger": self.trigger, "before": before}
        if self.tokens_after is not None:
            value["after"] = {"tokens": self.tokens_after, "messages": self.messages_after}
        return value if self.error is None else value | {"error": self.error}


OnEvent = Callable[[Event], object]


def announced(
    on_event: OnEvent,
    start: Event,
    work: Callable[[], T],
    measure: Callable[[T], tuple[int, int, str | None]],
) -> T:
    """Run `work` and return its result. Send an event before it and one after it, also if it fails.

    `measure` returns the tokens and messages after the work, and the problem, if any.
    """
    on_event(start)
    try:
        result = work()
        tokens, messages, error = measure(result)
    except Exception as problem:
        on_event(replace(start, event="end", error=str(problem)))
        raise
    on_event(replace(start, event="end", tokens_after=tokens, messages_after=messages, error=error))
    return result
