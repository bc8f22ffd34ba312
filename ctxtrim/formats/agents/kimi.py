"""Sessions of Kimi Code (`wire.jsonl`): one record per line, replayed as the program does.

::

    context.append_message                     a message
    context.append_loop_event
      step.begin content.part tool.call step.end   one assistant message
      tool.result                                  one tool message; ignored without an open call
    context.apply_compaction                   a summary replaces messages before it
    context.undo, context.clear                the last turns, or all messages, are not live
    agent.switched                             a branch begins (`kimi_branches`)

The system prompt is that of the last `config.update` or `profile.bind`, the tools are those of the
last `llm.tools_snapshot`. `turn.prompt` repeats a prompt for the screen. Other records are not
sent. A message that arrives while calls are open comes after their results.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from ctxtrim.formats.agents.kimi_edits import insert, owner, relink
from ctxtrim.formats.base import Format, Layout, session
from ctxtrim.formats.fields import boolean, elements, first_string, members, metadata_in, string
from ctxtrim.formats.media_blocks import block_part
from ctxtrim.formats.message_parts import call_part, content_parts, result_parts
from ctxtrim.formats.usage import kimi_usage
from ctxtrim.model import ROLES, Line, Message, Part, Role, Span, Transcript
from ctxtrim.model.request import Usage
from ctxtrim.text.records import JsonRecord, dump, value_of

_TYPES = (
    "context.append_message", "context.append_loop_event", "context.apply_compaction",
    "context.clear", "context.undo", "turn.prompt", "turn.steer", "turn.ended", "turn.cancel",
    "config.update", "profile.bind", "tools.set_active_tools", "llm.request",
    "llm.tools_snapshot", "usage.record", "permission.set_mode",
)  # fmt: skip


def sniff(value: object) -> Layout | None:
    """Whether a value is a record of a session."""
    if not isinstance(value, dict):
        return None
    kind = value.get("type")
    if kind == "metadata":
        return "events" if {"protocol_version", "created_at"} <= value.keys() else None
    if kind == "context.append_message" and not isinstance(value.get("message"), dict):
        return None
    return "events" if isinstance(kind, str) and kind in _TYPES else None


class _Entry(Struct, eq=False):
    """A message of the context while it is replayed.

    `spans` is empty for a result that the program invents for an interrupted call. `is_prompt`: a
    person typed it. `lines`: the first and last line of a step.
    """

    role: Role
    parts: list[Part] = field(default_factory=list)
    spans: list[Span] = field(default_factory=list)
    lines: list[Span] = field(default_factory=list)
    metadata: tuple[tuple[str, int], ...] = ()
    is_prompt: bool = False
    is_summary: bool = False

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


class _Session(Struct):
    """The state after the records read so far.

    `step`: the open assistant message. `names`: the tool names of open calls, by id. `deferred`:
    messages that wait for the results of these calls.
    """

    entries: list[_Entry] = field(default_factory=list)
    system: _Entry | None = None
    step: _Entry | None = None
    names: dict[str, str | None] = field(default_factory=dict)
    deferred: list[_Entry] = field(default_factory=list)
    usages: list[tuple[_Entry, Usage]] = field(default_factory=list)
    model: str | None = None
    tools: str | None = None
    uncounted: int = 0

    def take(self, value: dict[str, Any], line: int) -> None:
        """Apply one record."""
        kind = value.get("type")
        if kind == "context.append_loop_event":
            event = members(value.get("event"))
            name = event.get("type")
            if isinstance(name, str) and name in _EVENTS:
                _EVENTS[name](self, event, value, line)
        elif isinstance(kind, str) and kind in _RECORDS:
            _RECORDS[kind](self, value, line)

    def add(self, entry: _Entry) -> None:
        """Add a message, after the results of open calls."""
        (self.deferred if self.names else self.entries).append(entry)

    def settle(self) -> None:
        """Close the open step: its calls get results, and a step without content is discarded."""
        self.entries += [_Entry("tool") for _ in self.names]
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

    def reset(self, entries: list[_Entry]) -> None:
        """Replace the context. No usage covers the new one."""
        self.entries, self.step, self.names = entries, None, {}
        self.deferred, self.usages = [], []


def _append(state: _Session, value: dict[str, Any], line: int) -> None:
    message, span = members(value.get("message")), Span(line, ("message",))
    role = next((role for role in ROLES if role == message.get("role")), None)
    if role is None:
        state.uncounted += 1
        return
    content_span = span.inside("content")
    parts = content_parts(message.get("content"), content_span, _block)
    if role == "tool":
        is_error = boolean(message.get("isError"))
        parts = result_parts(parts, string(message.get("toolCallId")), None, is_error)
    calls_span = span.inside("toolCalls")
    calls = [
        call_part(
            call.get("arguments"), call.get("id"), call.get("name"), None, calls_span.inside(number)
        )
        for number, call in enumerate(map(members, elements(message.get("toolCalls"))))
    ]
    metadata = metadata_in(value) if role == "tool" else ()
    is_prompt = role == "user" and _is_typed(members(message.get("origin")))
    state.add(_Entry(role, [*parts, *calls], [Span(line)], [], metadata, is_prompt))


def _is_typed(origin: Mapping[str, Any]) -> bool:
    """Whether the origin of a user message is a person, also by a slash command."""
    return origin.get("kind", "user") == "user" or origin.get("trigger") == "user-slash"


def _compact(state: _Session, value: dict[str, Any], line: int) -> None:
    """Replace messages by a summary.

    Older versions keep the messages after the compacted ones. Newer versions keep the prompts, at
    most 20,000 tokens of them; here all.
    """
    key = "contextSummary" if isinstance(value.get("contextSummary"), str) else "summary"
    summary, span = value.get(key), Span(line, (key,))
    content = members(summary).get("content", summary)
    content_span = span if isinstance(summary, str) else span.inside("content")
    parts = content_parts(content, content_span, _block) if content else ()
    found = [_Entry("user", list(parts), [span], is_summary=True)] if parts else []
    count = value.get("compactedCount", value.get("count"))
    if "keptUserMessageCount" in value or not isinstance(count, int):
        kept = [entry for entry in state.entries if entry.is_prompt]
        state.reset([*kept, *found])
    else:
        state.reset([*found, *state.entries[max(count, 0) :]])


def _undo(state: _Session, value: dict[str, Any], line: int) -> None:
    """Drop the last turns, if there are as many since the last summary."""
    count = value.get("count")
    summaries = [index for index, entry in enumerate(state.entries) if entry.is_summary]
    start = summaries[-1] if summaries else 0
    prompts = [
        index for index, entry in enumerate(state.entries) if entry.is_prompt and index >= start
    ]
    if isinstance(count, int) and 0 < count <= len(prompts):
        usages = state.usages
        state.reset(state.entries[: prompts[-count]])
        state.usages = [usage for usage in usages if usage[0] in state.entries]


def _clear(state: _Session, value: dict[str, Any], line: int) -> None:
    state.reset([])


def _configure(state: _Session, value: dict[str, Any], line: int) -> None:
    state.model = first_string((value.get("modelAlias"), state.model))
    prompt = value.get("systemPrompt")
    if isinstance(prompt, str):
        span = Span(line, ("systemPrompt",))
        part = Part("text", prompt, span=span)
        state.system = _Entry("system", [part], [span]) if prompt else None


def _request(state: _Session, value: dict[str, Any], line: int) -> None:
    state.model = first_string((value.get("model"), state.model))


def _snapshot(state: _Session, value: dict[str, Any], line: int) -> None:
    state.tools = dump(value["tools"]) if value.get("tools") else None


_RECORDS: dict[str, Callable[[_Session, dict[str, Any], int], None]] = {
    "context.append_message": _append,
    "context.apply_compaction": _compact,
    "context.undo": _undo,
    "context.clear": _clear,
    "config.update": _configure,
    "profile.bind": _configure,
    "llm.request": _request,
    "llm.tools_snapshot": _snapshot,
}


def _begin(state: _Session, event: dict[str, Any], value: dict[str, Any], line: int) -> None:
    state.settle()
    state.step = _Entry("assistant", lines=[Span(line)])
    state.entries.append(state.step)


def _end(state: _Session, event: dict[str, Any], value: dict[str, Any], line: int) -> None:
    step = state.step
    state.settle()
    if step is not None and step in state.entries:
        step.lines.append(Span(line))
        usage = kimi_usage(event.get("usage"), None, state.model)
        if usage is not None:
            state.usages.append((step, usage))


def _content(state: _Session, event: dict[str, Any], value: dict[str, Any], line: int) -> None:
    if state.step is not None:
        part = _block(event.get("part"), Span(line, ("event", "part")))
        state.step.parts.append(replace(part, block=Span(line), text_block=None))
        state.step.spans.append(Span(line))


def _call(state: _Session, event: dict[str, Any], value: dict[str, Any], line: int) -> None:
    name, call_id = string(event.get("name")), string(event.get("toolCallId"))
    if state.step is None or call_id is None:
        return
    arguments = dump(event["args"]) if event.get("args") is not None else ""
    part = Part("tool_call", arguments, call_id, name, block=Span(line))
    state.step.parts.append(part)
    state.step.spans.append(Span(line))
    state.names[call_id] = name


def _result(state: _Session, event: dict[str, Any], value: dict[str, Any], line: int) -> None:
    call_id, result = event.get("toolCallId"), members(event.get("result"))
    if not isinstance(call_id, str) or call_id not in state.names:
        return
    span = Span(line, ("event", "result"))
    name = state.names.pop(call_id)
    parts = content_parts(result.get("output"), span.inside("output"), _block)
    note, note_span = result.get("note"), span.inside("note")
    if note and isinstance(note, str):
        parts += (Part("text", note, span=note_span, block=note_span),)
    found = result_parts(parts, call_id, name, boolean(result.get("isError")))
    state.entries.append(_Entry("tool", list(found), [Span(line)], metadata=metadata_in(value)))
    state.flush()


_EVENTS: dict[str, Callable[[_Session, dict[str, Any], dict[str, Any], int], None]] = {
    "step.begin": _begin,
    "step.end": _end,
    "content.part": _content,
    "tool.call": _call,
    "tool.result": _result,
}


def _block(value: Any, span: Span) -> Part:
    """A part of a content: text, thoughts, or media by URL."""
    block = members(value)
    if isinstance(block.get("text"), str):
        return Part("text", block["text"], span=span.inside("text"), block=span)
    if isinstance(block.get("think"), str):
        return Part("reasoning", block["think"], block=span)
    if isinstance(block.get("imageUrl"), dict):
        return block_part({"type": "image_url", "image_url": block["imageUrl"]}, span)
    return block_part(value, span)


def read(records: Iterable[JsonRecord], lines: Sequence[Line]) -> list[Transcript]:
    """The one conversation of the session: its live context."""
    state = _Session()
    switched: list[tuple[dict[str, Any], int]] = []
    for line, record in enumerate(records):
        if isinstance(record.value, dict):
            state.take(record.value, line)
            if record.value.get("type") == "agent.switched":
                switched.append((record.value, line + 1))
    if switched:
        state = _last_branch(switched, lines) or state
    entries = [*([state.system] if state.system else []), *state.entries, *state.deferred]
    entries = [entry for entry in entries if entry.spans]
    indices = {id(entry): index for index, entry in enumerate(entries)}
    return session(
        [entry.message(index) for index, entry in enumerate(entries)],
        lines,
        tools=state.tools,
        model=state.model,
        uncounted=state.uncounted,
        usages=tuple(
            replace(usage, message=indices[id(entry)])
            for entry, usage in state.usages
            if id(entry) in indices
        ),
    )


def _last_branch(
    switched: Sequence[tuple[dict[str, Any], int]], lines: Sequence[Line]
) -> _Session | None:
    """The state after the live records of the last branch; None without a branch."""
    from ctxtrim.formats.agents.kimi_branches import live_lines, switch_in  # for few sessions

    switches = [found for value, line in switched if (found := switch_in(value, line))]
    if not switches:
        return None
    state = _Session()
    for number in live_lines(switches, len(lines)):
        value = value_of(lines[number - 1].data)
        if isinstance(value, dict):
            state.take(value, number - 1)
    return state


FORMAT = Format("kimi", sniff, read, owner, insert, relink)
