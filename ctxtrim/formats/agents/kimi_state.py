"""The context of a session of Kimi Code while its records are replayed."""

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct, field

from ctxtrim.model import Message, Part, Role, Span
from ctxtrim.model.request import Usage


def is_typed(origin: Mapping[str, Any]) -> bool:
    """Whether the origin of a user message is a person, also by a slash command."""
    return origin.get("kind", "user") == "user" or origin.get("trigger") == "user-slash"


def _is_delegated(origin: Mapping[str, Any]) -> bool:
    """Whether the origin of a user message is the agent that started this one."""
    return origin.get("kind") == "system_trigger" and origin.get("name") == "subagent"


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
        is_task = self.is_prompt or _is_delegated(self.origin)
        is_injected = self.role == "user" and not is_task
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
    messages that wait for the results of these calls. `recent`: the index after the last summary.
    `turns`: the number of prompts from there on. `kept`: the number of prompts at the start that
    a compaction kept.
    """

    entries: list[LiveEntry] = field(default_factory=list)
    system: LiveEntry | None = None
    step: LiveEntry | None = None
    names: dict[str, str | None] = field(default_factory=dict)
    deferred: list[LiveEntry] = field(default_factory=list)
    usages: list[tuple[LiveEntry, Usage]] = field(default_factory=list)
    recent: int = 0
    turns: int = 0
    kept: int = 0
    model: str | None = None
    tools: str | None = None
    uncounted: int = 0

    def add(self, entry: LiveEntry) -> None:
        """Add a message, after the results of open calls."""
        self.deferred.append(entry)
        self.flush()

    def settle(self) -> None:
        """Close the open step: its calls get results, and a step without content is discarded."""
        self.entries += [LiveEntry("tool") for _ in self.names]
        self.names = {}
        self.flush()
        if self.step is not None and self.step.is_vacuous:
            place = len(self.entries) - 1
            while self.entries[place] is not self.step:
                place -= 1
            del self.entries[place]
        self.step = None

    def flush(self) -> None:
        """Add the messages that waited, once no call is open."""
        if not self.names:
            self.entries += self.deferred
            self.turns += _prompts(self.deferred)
            self.deferred = []

    def interrupt(self) -> None:
        """Forget the open step, its calls, and the messages that wait for their results."""
        self.step, self.names, self.deferred = None, {}, []

    def clear(self) -> None:
        """Drop all messages and usages."""
        self.interrupt()
        self.entries, self.usages = [], []
        self.recent = self.turns = self.kept = 0

    def keep_prompts(self, summary: list[LiveEntry]) -> None:
        """Replace all messages except prompts by a summary. No usage covers the new context."""
        self.interrupt()
        prompts = [entry for entry in self.entries[self.kept :] if entry.is_prompt]
        self.entries[self.kept :] = prompts
        self.kept = len(self.entries)
        self.entries += summary
        self.recent = len(self.entries) if summary else 0
        self.turns = 0 if summary else self.kept
        self.usages = []

    def keep_from(self, start: int, summary: list[LiveEntry]) -> None:
        """Replace the messages before an index by a summary. No usage covers the new context."""
        self.interrupt()
        self.turns -= _prompts(self.entries[self.recent : start])
        self.entries[:start] = summary
        self.recent = max(self.recent - start, 0) + len(summary)
        self.usages, self.kept = [], 0

    def cut(self, end: int) -> None:
        """Drop the messages from an index on, and their usages."""
        self.interrupt()
        entries = self.entries[end:]
        del self.entries[end:]
        self.turns -= _prompts(entries)
        self.kept = min(self.kept, end)
        ids = set(map(id, entries))
        while self.usages and id(self.usages[-1][0]) in ids:
            self.usages.pop()


def _prompts(entries: Sequence[LiveEntry]) -> int:
    """The number of prompts among some messages."""
    return sum(entry.is_prompt for entry in entries)
