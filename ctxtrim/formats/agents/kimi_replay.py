"""Replays the records of a session of Kimi Code as the program does.

::

    context.append_message                     a message
    context.append_loop_event
      step.begin content.part tool.call step.end   one assistant message
      tool.result                                  one tool message; ignored without an open call
    context.apply_compaction                   a summary replaces messages before it
    context.undo, context.clear                the last turns, or all messages, are not live
    swarm_mode.exit                            its reminder is not live if it is the last message
    agent.switched                             a branch begins (`kimi_branches`)

The system prompt is that of the last `config.update` or `profile.bind`, the tools are those of the
last `llm.tools_snapshot`. `turn.prompt` repeats a prompt for the screen. Other records are not
sent. A message that arrives while calls are open comes after their results.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from msgspec.structs import replace

from ctxtrim.formats.agents.kimi_state import LiveContext, LiveEntry, is_typed
from ctxtrim.formats.base import session
from ctxtrim.formats.fields import boolean, elements, first_string, members, metadata_in, string
from ctxtrim.formats.media_blocks import block_part
from ctxtrim.formats.message_parts import call_part, content_parts, result_parts
from ctxtrim.formats.usage import kimi_usage
from ctxtrim.model import ROLES, Line, Part, Span, Transcript
from ctxtrim.text.records import JsonRecord, dump


def _append(state: LiveContext, value: dict[str, Any], line: int) -> None:
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
    tools = [Part("text", dump(message["tools"]))] if message.get("tools") else []
    origin = members(message.get("origin"))
    state.add(
        LiveEntry(
            role,
            [*parts, *calls, *tools],
            [Span(line)],
            metadata=metadata_in(value) if role == "tool" else (),
            is_prompt=role == "user" and is_typed(origin),
            id=string(message.get("id")),
            origin=origin,
        )
    )


_PROMPT_NOTE = """<system-reminder>
[Kimi Code sends only the beginning and the end of the prompts above, about 20,000 tokens of them,
and a note in the place of all others. This session does not contain that note. Here the prompts are
counted in full, so their number of tokens is an upper bound, and this text, which is a little
longer than the note of the program, is counted in its place.]
</system-reminder>"""


def _compact(state: LiveContext, value: dict[str, Any], line: int) -> None:
    """Replace messages by a summary.

    Older versions keep the messages after the compacted ones. Newer versions keep the prompts, at
    most 20,000 tokens of them; here all, with a text for the note on the others.
    """
    key = "contextSummary" if isinstance(value.get("contextSummary"), str) else "summary"
    summary, span = value.get(key), Span(line, (key,))
    content = members(summary).get("content", summary)
    content_span = span if isinstance(summary, str) else span.inside("content")
    parts = content_parts(content, content_span, _block) if content else ()
    if parts and "keptHeadUserMessageCount" in value:
        parts = (*parts, Part("text", _PROMPT_NOTE))
    entries = [LiveEntry("user", list(parts), [span], is_summary=True)] if parts else []
    count = value.get("compactedCount", value.get("count"))
    if "keptUserMessageCount" in value or not isinstance(count, int):
        state.keep_prompts(entries)
    else:
        state.keep_from(max(count, 0), entries)


def _undo(state: LiveContext, value: dict[str, Any], line: int) -> None:
    """Drop the last turns, if there are as many since the last summary, and the reminders that
    belong to the first of their prompts.
    """
    count = value.get("count")
    if isinstance(count, int) and 0 < count <= state.turns:
        cut = len(state.entries)
        while count:
            cut -= 1
            count -= state.entries[cut].is_prompt
        prompt = state.entries[cut]
        while cut and prompt.id is not None and _owner(state.entries[cut - 1]) == prompt.id:
            cut -= 1
        state.cut(cut)


def _owner(entry: LiveEntry) -> object:
    """The id of the prompt that a reminder of the program belongs to."""
    is_reminder = entry.origin.get("kind") == "injection"
    return entry.origin.get("ownerPromptId") if is_reminder else None


def _leave_swarm(state: LiveContext, value: dict[str, Any], line: int) -> None:
    """Drop the reminder of the swarm mode, if no message came after it."""
    origin = state.entries[-1].origin if state.entries else {}
    if origin.get("kind") == "injection" and origin.get("variant") == "swarm_mode":
        state.cut(len(state.entries) - 1)


def _clear(state: LiveContext, value: dict[str, Any], line: int) -> None:
    state.clear()


def _configure(state: LiveContext, value: dict[str, Any], line: int) -> None:
    state.model = first_string((value.get("modelAlias"), state.model))
    prompt = value.get("systemPrompt")
    if isinstance(prompt, str):
        span = Span(line, ("systemPrompt",))
        part = Part("text", prompt, span=span)
        state.system = LiveEntry("system", [part], [span]) if prompt else None


def _request(state: LiveContext, value: dict[str, Any], line: int) -> None:
    state.model = first_string((value.get("model"), state.model))


def _snapshot(state: LiveContext, value: dict[str, Any], line: int) -> None:
    state.tools = dump(value["tools"]) if value.get("tools") else None


_Reader = Callable[[LiveContext, dict[str, Any], int], None]
"""Applies a record, which is a value on a line."""
_RECORDS: dict[str, _Reader] = {
    "context.append_message": _append,
    "context.apply_compaction": _compact,
    "context.undo": _undo,
    "context.clear": _clear,
    "swarm_mode.exit": _leave_swarm,
    "config.update": _configure,
    "profile.bind": _configure,
    "llm.request": _request,
    "llm.tools_snapshot": _snapshot,
}


def _begin(state: LiveContext, value: dict[str, Any], line: int) -> None:
    state.settle()
    state.step = LiveEntry("assistant", lines=[Span(line)])
    state.entries.append(state.step)


def _end(state: LiveContext, value: dict[str, Any], line: int) -> None:
    step = state.step
    state.settle()
    if step is not None and not step.is_vacuous:
        step.lines.append(Span(line))
        usage = kimi_usage(value["event"].get("usage"), state.model)
        if usage is not None:
            state.usages.append((step, usage))


def _content(state: LiveContext, value: dict[str, Any], line: int) -> None:
    if state.step is not None:
        part = _block(value["event"].get("part"), Span(line, ("event", "part")))
        state.step.parts.append(replace(part, block=Span(line), text_block=None))
        state.step.spans.append(Span(line))


def _call(state: LiveContext, value: dict[str, Any], line: int) -> None:
    event = value["event"]
    name, call_id = string(event.get("name")), string(event.get("toolCallId"))
    if state.step is None or call_id is None:
        return
    arguments = dump(event["args"]) if event.get("args") is not None else ""
    part = Part("tool_call", arguments, call_id, name, block=Span(line))
    state.step.parts.append(part)
    state.step.spans.append(Span(line))
    state.names[call_id] = name


def _result(state: LiveContext, value: dict[str, Any], line: int) -> None:
    event = value["event"]
    call_id, result = event.get("toolCallId"), members(event.get("result"))
    if not isinstance(call_id, str) or call_id not in state.names:
        return
    span = Span(line, ("event", "result"))
    name = state.names.pop(call_id)
    parts = content_parts(result.get("output"), span.inside("output"), _block)
    note, note_span = result.get("note"), span.inside("note")
    if note and isinstance(note, str):
        parts += (Part("text", note, span=note_span, block=note_span),)
    parts = result_parts(parts, call_id, name, boolean(result.get("isError")))
    state.entries.append(LiveEntry("tool", list(parts), [Span(line)], metadata=metadata_in(value)))
    state.flush()


_EVENTS: dict[str, _Reader] = {
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


def _take(state: LiveContext, value: dict[str, Any], line: int) -> None:
    """Apply one record."""
    kind, readers = value.get("type"), _RECORDS
    if kind == "context.append_loop_event":
        kind, readers = members(value.get("event")).get("type"), _EVENTS
    if isinstance(kind, str) and kind in readers:
        readers[kind](state, value, line)


def _context_after(values: Iterable[tuple[Any, int]]) -> LiveContext:
    """The context after some records, which are values and the indices of their lines."""
    state = LiveContext()
    for value, line in values:
        if isinstance(value, dict):
            _take(state, value, line)
    return state


def _values(
    records: Iterable[JsonRecord], switches: list[tuple[Any, int]]
) -> Iterator[tuple[Any, int]]:
    """The values of records. Those that start a branch are added to a list, with line numbers."""
    for line, record in enumerate(records):
        if members(record.value).get("type") == "agent.switched":
            switches.append((record.value, line + 1))
        yield record.value, line


def read(records: Iterable[JsonRecord], lines: Sequence[Line]) -> list[Transcript]:
    """The one conversation of the session: its live context."""
    switches: list[tuple[Any, int]] = []
    state = _context_after(_values(records, switches))
    if switches:
        from ctxtrim.formats.agents.kimi_branches import live_values  # for few sessions

        values = live_values(switches, lines)
        state = state if values is None else _context_after(values)
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
