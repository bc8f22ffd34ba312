"""The context of a session of Kimi Code while its records are replayed."""

from collections.abc import Mapping
from typing import Any

from msgspec import Struct, field

from ctxtrim.model import Message, Part, Role, Span
from ctxtrim.model.request import Usage


class LiveEntry(Struct, eq=False):
    """A message of the context while it is replayed.

    `spans` is empty for a result that the program invents for an interrupted call. `is_prompt`: a
    person typed it. `id` and `origin` are those of an appended message. `lines`: the first and last
    line of a step.
    """

    role: Role
    parts: list[Part] = field(default_factory=list)
    spans: list[Span] = field(default_factory=list)
    lines: list[Span] = field(default_factory=list)
    metadata: tuple[tuple[str, int], ...] = ()
    is_prompt: bool = False
    is_summary: bool = False
    id: str | None = None
    origin: Mapping[str, Any] = {}

    @property
    def is_vacuous(self) -> bool:
        """Whether the program discards a step: no calls and no text."""
        return not any(part.kind == "tool_call" or part.text.strip() for part in self.parts)

    def message(self, index: int) -> Message:
        """The message; a new message after it comes before the end of its step."""
        is_injected = self.role == "user" and not self.is_prompt
        return Message(
            self.role,
            tuple(self.parts),
            is_injected=is_injected,
            is_summary=self.is_summary,
            metadata=self.metadata,
            index=index,
            spans=(*self.lines, *self.spans),
        )


class LiveContext(Struct):
    """The context after the records read so far.

    `step`: the open assistant message. `names`: the tool names of open calls, by id. `deferred`:
    messages that wait for the results of these calls.
    """

    entries: list[LiveEntry] = field(default_factory=list)
    system: LiveEntry | None = None
    step: LiveEntry | None = None
    names: dict[str, str | None] = field(default_factory=dict)
    deferred: list[LiveEntry] = field(default_factory=list)
    usages: list[tuple[LiveEntry, Usage]] = field(default_factory=list)
    model: str | None = None
    tools: str | None = None
    uncounted: int = 0

    def add(self, entry: LiveEntry) -> None:
        """Add a message, after the results of open calls."""
        (self.deferred if self.names else self.entries).append(entry)

    def settle(self) -> None:
        """Close the open step: its calls get results, and a step without content is discarded."""
        self.entries += [LiveEntry("tool") for _ in self.names]
        self.names = {}
        self.flush()
        if self.step is not None and self.step.is_vacuous:
            self.entries.remove(self.step)
        self.step = None

    def flush(self) -> None:
        """Add the messages that waited, once no call is open."""
        if not self.names:
            self.entries += self.deferred
            self.deferred = []

    def reset(self, entries: list[LiveEntry]) -> None:
        """Replace the context. No usage covers the new one."""
        self.entries, self.step, self.names = entries, None, {}
        self.deferred, self.usages = [], []

    def cut(self, end: int) -> None:
        """Drop the messages from an index on, and their usages."""
        usages = self.usages
        self.reset(self.entries[:end])
        self.usages = [usage for usage in usages if usage[0] in self.entries]
