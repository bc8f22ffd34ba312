"""Events of a compaction: one at its start, one at its end."""

from collections.abc import Callable, Iterable
from typing import Any, Literal, NamedTuple, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from ctxtrim.findings import Finding
from ctxtrim.model import Transcript

T = TypeVar("T")


class Event(Struct, frozen=True):
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
    def as_json(self) -> dict[str, Any]:
        """The event as JSON."""
        before = {"tokens": self.tokens_before, "messages": self.messages_before}
        value: dict[str, Any] = {"event": self.event, "trigger": self.trigger, "before": before}
        if self.tokens_after is not None:
            value["after"] = {"tokens": self.tokens_after, "messages": self.messages_after}
        return value if self.error is None else value | {"error": self.error}


OnEvent = Callable[[Event], object]


class State(NamedTuple):
    """The tokens of a prompt, the messages that the model sees, and the problem of the work."""

    tokens: int
    messages: int
    error: str | None


def state(transcript: Transcript, tokens: int, findings: Iterable[Finding] = ()) -> State:
    """The state of a transcript. Findings above `info` are problems."""
    problems = [finding.message for finding in findings if finding.severity != "info"]
    visible = sum(message.agent_visible for message in transcript.messages)
    return State(tokens, visible, "; ".join(problems) or None)


def announced(
    on_event: OnEvent | None,
    trigger: str | None,
    transcript: Transcript,
    tokens: int,
    work: Callable[[], T],
    state_after: Callable[[T], State],
) -> T:
    """Run `work` and return its result. Send an event before it and one after it, also if it fails.

    `transcript` and its `tokens` are those before the work. Without a trigger, no event is sent.
    """
    if on_event is None or trigger is None:
        return work()
    start = Event("start", trigger, tokens, state(transcript, tokens).messages)
    on_event(start)
    try:
        result = work()
        after = state_after(result)
    except Exception as problem:
        on_event(replace(start, event="end", error=str(problem)))
        raise
    on_event(
        replace(
            start,
            event="end",
            tokens_after=after.tokens,
            messages_after=after.messages,
            error=after.error,
        )
    )
    return result
