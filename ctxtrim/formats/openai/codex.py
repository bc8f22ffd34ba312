"""Codex CLI rollouts: one event per line. Only `response_item` events are sent to the model.

`event_msg` events repeat the items for the terminal; only their token counts and rollbacks are
read. Rollouts of mid-2025 are bare items after a header line; older ones contain messages, and
calls without ids. The system message is `base_instructions`, or the `instructions` of a bare
rollout. The `instructions` of a `session_meta` belong to the user: such sessions also record them
as the first user message.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from ctxtrim.formats.base import Edit, Format, Insertion, Site, layout_of_events, session
from ctxtrim.formats.fields import members, metadata_in, string
from ctxtrim.formats.message_lists import Element, ListContents
from ctxtrim.formats.openai.items import (
    NO_MESSAGE,
    is_context,
    is_delivery,
    is_summary,
    kind_of,
    read_items,
    starts_turn,
)
from ctxtrim.formats.usage import answers_by_span, responses_usage
from ctxtrim.model import Line, Message, Span, Transcript
from ctxtrim.model.request import RequestOptions, Usage
from ctxtrim.text.json_paths import Path
from ctxtrim.text.records import JsonRecord, dump

_TYPES = (
    "session_meta", "turn_context", "response_item", "event_msg", "compacted", "world_state",
    "inter_agent_communication", "inter_agent_communication_metadata", "token_usage_record",
    "retained_context", "security_risk_score", "realtime_item",
)  # fmt: skip
_HEADER = {"id", "timestamp", "instructions", "git", "cwd", "originator", "cli_version"}
_SUMMARY: Path = ("payload", "message")
"""The JSON path of the summary in a compaction event."""
_TASK = "Message Type: NEW_TASK\nTask name: "  # and the path of the agent, as in `item_parts`


def knows(value: object) -> bool:
    """Whether a value is an event, the header or a state of a bare rollout, or an early call or
    result.
    """
    if not isinstance(value, dict):
        return False
    kind = value.get("type")
    if kind in _TYPES:
        return isinstance(value.get("payload"), dict)
    if kind is None and "role" not in value:
        is_header = {"id", "timestamp", "instructions"} <= value.keys() <= _HEADER
        return is_header or value.get("record_type") == "state"
    if "timestamp" not in value and "created_at" not in value:
        return False
    is_call = kind in ("tool_call", "function_call") and isinstance(value.get("function"), dict)
    is_result = kind in ("tool_result", "function_result") and "name" in value and "result" in value
    is_message = kind is None and "created_at" in value and isinstance(value.get("message"), str)
    return is_call or is_result or is_message


def admits(value: object) -> bool:
    """The same, and items or messages without an envelope, which other formats write too."""
    if knows(value):
        return True
    is_plain = isinstance(value, dict) and not value.get("tool_calls")
    return is_plain and kind_of(value) not in NO_MESSAGE


def read(records: Iterable[JsonRecord], lines: Sequence[Line]) -> list[Transcript]:
    """The one conversation of the session: its live context."""
    state = _state_after(record.value for record in records)
    contents = ListContents()
    read_items(state.items, contents)
    if not contents.messages:
        return []
    if state.task_start is not None:
        _mark_task(contents.messages, state.task_start)
    messages = tuple(_with_metadata(message, state) for message in contents.messages)
    return session(
        messages,
        lines,
        tools=contents.all_tools(state.tools),
        model=state.model,
        id=state.id,
        uncounted=contents.uncounted,
        usages=tuple(_usages(state, messages)),
        options=RequestOptions(base=state.base),
    )


class _Session(Struct):
    """The state after the lines read so far: the live items and other facts.

    `start`: the index of the first item after the instructions. Compactions and rollbacks keep the
    items before it. `kept`: the index after the items that a compaction kept. `turns`: the indices
    of items that start turns, as far as items are `scanned`.

    `usages`: by the number of live items at the time of the record. `metadata`: what a stage wrote
    next to items, by the index of their line. `base`: the id of the session that this one
    continues. `task_start`: how a task for a sub-agent starts; None for the agent of a person.
    """

    items: list[Element] = field(default_factory=list)
    start: int = 0
    kept: int = 0
    turns: list[int] = field(default_factory=list)
    scanned: int = 0
    usages: dict[int, Usage] = field(default_factory=dict)
    metadata: dict[int, tuple[tuple[str, int], ...]] = field(default_factory=dict)
    tools: str | None = None
    model: str | None = None
    id: str | None = None
    base: str | None = None
    task_start: str | None = None

    def instruct(self, instructions: Element) -> None:
        """Add the instructions, unless there are some."""
        if self.start == 0:
            self.items.append(instructions)
            self.start = self.kept = self.scanned = len(self.items)
            self.turns = []

    def compact(self, payload: dict[str, Any], line: int) -> None:
        """Replace the items: by a list of the line, or by the user and client messages with its
        summary. No usage covers the new ones.

        If the line has the history, it also replaces that of an earlier file.
        """
        history = payload.get("replacement_history")
        if isinstance(history, list):
            self._cut(self.start)
            span = Span(line, ("payload", "replacement_history"))
            self.items += [
                Element(item, span.inside(index), span.inside(index))
                for index, item in enumerate(history)
            ]
            self.base = None
        else:
            items = self.items[self.kept :]
            self._cut(self.kept)
            self.items += [item for item in items if _is_kept(item.value)]
            self.kept = len(self.items)
            if payload.get("message"):
                value = payload | {"type": "compacted", "role": "user"}
                self.items.append(Element(value, Span(line, ("payload",)), Span(line, _SUMMARY)))
        self.usages = {}

    def roll_back(self, turns: int) -> None:
        """Drop the newest turns, and the context that the client wrote right before them.

        Nothing before the first turn is dropped.
        """
        for index in range(self.scanned, len(self.items)):
            if starts_turn(self.items[index].value):
                self.turns.append(index)
        self.scanned = len(self.items)
        if turns > 0 and self.turns:
            first = self.turns[0]
            cut = self.turns[-turns] if turns <= len(self.turns) else first
            while cut > first and is_context(self.items[cut - 1].value):
                cut -= 1
            self._cut(cut)

    def _cut(self, end: int) -> None:
        """Drop the items from an index on, and what is known of them."""
        del self.items[end:]
        self.kept, self.scanned = min(self.kept, end), min(self.scanned, end)
        while self.turns and self.turns[-1] >= end:
            self.turns.pop()
        while self.usages and next(reversed(self.usages)) > end:  # usages are in order
            self.usages.popitem()


def _is_kept(value: Any) -> bool:
    """Whether an item stays after a compaction without a list."""
    return kind_of(value) == "message" and not is_summary(value)


def _state_after(values: Iterable[Any]) -> _Session:
    """The state after all lines."""
    state = _Session()
    for line, value in enumerate(values):
        if isinstance(value, dict):
            _take(state, value, line)
            metadata = metadata_in(value)
            if metadata:
                state.metadata[line] = metadata
    return state


def _take(state: _Session, value: dict[str, Any], line: int) -> None:
    """Apply one line to the state."""
    kind, payload = value.get("type"), value.get("payload")
    if not isinstance(payload, dict):
        _take_bare(state, value, line)
    elif kind == "response_item" and not is_delivery(value.get("metadata")):
        state.items.append(Element(payload, Span(line, ("payload",)), Span(line)))
    elif kind == "inter_agent_communication":
        state.items.append(Element(payload | {"type": kind}, Span(line, ("payload",)), Span(line)))
    elif kind == "session_meta":
        _take_meta(state, payload, line)
    elif kind == "turn_context":
        state.model = string(payload.get("model")) or state.model
    elif kind == "compacted":
        state.compact(payload, line)
    elif kind == "event_msg" and payload.get("type") == "token_count":
        last_usage = members(payload.get("info")).get("last_token_usage")
        usage = responses_usage(last_usage, model=state.model)
        if usage is not None:
            state.usages[len(state.items)] = usage
    elif kind == "event_msg" and payload.get("type") == "thread_rolled_back":
        turns = payload.get("num_turns")
        state.roll_back(turns if isinstance(turns, int) else 0)


def _take_meta(state: _Session, payload: dict[str, Any], line: int) -> None:
    """Read the first line of a session. A fork repeats the one of its parent session.

    `history_base` names the rollout whose lines come before those of this one.
    """
    if state.id is None:
        state.base = string(members(payload.get("history_base")).get("thread_id"))
        state.task_start = _task_start(payload)
    state.id = state.id or string(payload.get("id"))
    instructions, tools = payload.get("base_instructions"), payload.get("dynamic_tools")
    state.tools = state.tools or (dump(tools) if tools else None)
    text = string(members(instructions).get("text"))
    if text:
        whole = Span(line, ("payload", "base_instructions"))
        state.instruct(Element(text, whole.inside("text"), whole))


def _task_start(payload: dict[str, Any]) -> str | None:
    """How a task for the sub-agent of a session starts; None for the agent of a person."""
    sub_agent = members(payload.get("source")).get("subagent")
    if sub_agent is None and payload.get("thread_source") != "subagent":
        return None
    path = string(members(members(sub_agent).get("thread_spawn")).get("agent_path"))
    return _TASK if path is None else f"{_TASK}{path}\n"


def _mark_task(messages: list[Message], start: str) -> None:
    """Mark the last task of a sub-agent as a prompt: it has the place of one that a person typed.

    A fork has the prompts of its parent before it.
    """
    for index in range(len(messages) - 1, -1, -1):
        message = messages[index]
        if message.is_injected and message.parts and message.parts[0].text.startswith(start):
            messages[index] = replace(message, is_injected=False)
            return


def _take_bare(state: _Session, value: dict[str, Any], line: int) -> None:
    """Read a line without an envelope: the header or an item."""
    kind = kind_of(value)
    if kind == "unsent" and "instructions" in value:
        text, span = string(value["instructions"]), Span(line, ("instructions",))
        state.id = state.id or string(value.get("id"))
        if text:
            state.instruct(Element(text, span, span))
    elif kind not in ("unsent", "unknown"):
        state.items.append(Element(value, Span(line), Span(line)))
        state.model = string(value.get("model")) or state.model


def _with_metadata(message: Message, state: _Session) -> Message:
    """The message with metadata that a stage wrote next to its item, if the item
    has its own line.
    """
    if message.role != "tool" or message.spans[0].path:
        return message
    metadata = state.metadata.get(message.spans[0].line)
    return replace(message, metadata=metadata) if metadata else message


def _usages(state: _Session, messages: Sequence[Message]) -> Iterator[Usage]:
    """The newest usage of each answer. Every change of a rate limit repeats the last usage."""
    answers = answers_by_span(messages)
    usages: dict[int | None, Usage] = {}
    answer: int | None = None
    start = 0
    for end, usage in state.usages.items():
        for item in state.items[start:end]:
            answer = answers.get(item.whole, answer)
        start = end
        if answer is not None:
            usages[answer] = replace(usage, message=answer)
    return iter(usages.values())


def owner(array: Path) -> Path | None:
    """An item, or its line, is removed with the last block of its content."""
    if array[-1] != "content":
        return None
    return () if array[:-1] == ("payload",) else array[:-1]


def insert(run: Sequence[Message], site: Site) -> Sequence[Insertion]:
    """Each message as a line, or as an item inside a compaction."""
    from ctxtrim.formats.openai.item_insert import insert_items  # for edits only

    insertions = []
    for insertion in insert_items(run, site):
        path = insertion.span.path
        span = insertion.span if path and isinstance(path[-1], int) else Span(insertion.span.line)
        value = _line(insertion.value, span, site.value_of(Span(span.line)))
        insertions.append(replace(insertion, value=value, span=span))
    return insertions


def _line(item: dict[str, Any], span: Span, neighbour: Any) -> dict[str, Any]:
    """An item as a line with the time of its neighbour; inside a list, the item itself."""
    if span.path:
        return item
    time = {key: neighbour[key] for key in ("timestamp", "created_at") if key in neighbour}
    if "payload" in neighbour:
        return time | {"type": "response_item", "payload": item}
    return time | item


def relink(edit: Edit) -> Edit:
    """The edit with consecutive ordinals and parallel metadata.

    A dropped summary becomes empty: its line still ends the history before it.
    """
    from ctxtrim.formats.openai.codex_edits import valid  # for edited rollouts only

    summaries = {span for span in edit.removed if span.path == _SUMMARY}
    return valid(edit.with_value(summaries, ""))


def session_of(value: Mapping[str, Any]) -> str | None:
    """The id of the session that a line begins."""
    if value.get("type") == "session_meta":
        return string(members(value.get("payload")).get("id"))
    is_header = "type" not in value and {"id", "timestamp", "instructions"} <= value.keys()
    return string(value["id"]) if is_header else None


FORMAT = Format(
    "codex",
    layout_of_events(knows),
    read,
    insert,
    takes=layout_of_events(admits),
    owner=owner,
    relink=relink,
    session_of=session_of,
    repeats_headers=True,
)
