"""The live context of a Codex rollout. Only `response_item` events are sent to the model.

`event_msg` events repeat the items for the terminal; only their token counts and rollbacks are
read. The system message is `base_instructions`, or the `instructions` of a bare rollout. The
`instructions` of a `session_meta` belong to the user: such sessions also record them as the first
user message.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from msgspec import Struct, field
from msgspec.structs import replace

from ctxtrim.formats.base import session
from ctxtrim.formats.fields import elements, members, metadata_in, string
from ctxtrim.formats.message_lists import Element, ListContents
from ctxtrim.formats.openai.codex import SUMMARY
from ctxtrim.formats.openai.item_kinds import kind_of
from ctxtrim.formats.openai.items import is_prompt, is_summary, read_items
from ctxtrim.formats.usage import answers_by_span, responses_usage
from ctxtrim.model import Line, Message, Span, Transcript
from ctxtrim.model.request import RequestOptions, Usage
from ctxtrim.text.records import JsonRecord, dump, value_in

# [openai/codex, codex-rs/core/src/event_mapping.rs]
_DEVELOPER_CONTEXT = (
    "<permissions instructions>", "<model_switch>", "<collaboration_mode>", "<multi_agent_mode>",
    "<realtime_conversation>", "<environments_instructions>", "<plugins_instructions>",
    "<skills_instructions>", "<personality_spec>", "<token_budget>", "<rollout_budget>",
    "<context_window>", "<context_window_guidance>",
)  # fmt: skip
_DELIVERY = "codex:code-mode-delivery:"
_AGENT_MESSAGES = ("agent_message", "inter_agent_communication")
_TASK = "Message Type: NEW_TASK\nTask name: "  # and the path of the agent, as in `item_parts`
_COMMUNICATION = {"author": str, "recipient": str, "content": str, "trigger_turn": bool}
"""The fields of a message of another agent that is the JSON in an answer, and their types
[openai/codex, codex-rs/protocol/src/protocol.rs, `InterAgentCommunication`].
"""


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
                Element(_as_sent(item), span.inside(index), span.inside(index))
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
                self.items.append(Element(value, Span(line, ("payload",)), Span(line, SUMMARY)))
        self.usages = {}

    def roll_back(self, turns: int) -> None:
        """Drop the newest turns, and the context that the client wrote right before them.

        Nothing before the first turn is dropped.
        """
        for index in range(self.scanned, len(self.items)):
            if _starts_turn(self.items[index].value):
                self.turns.append(index)
        self.scanned = len(self.items)
        if turns > 0 and self.turns:
            first = self.turns[0]
            cut = self.turns[-turns] if turns <= len(self.turns) else first
            while cut > first and _is_context(self.items[cut - 1].value):
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
    elif kind == "response_item" and not _is_delivery(value.get("metadata")):
        state.items.append(Element(_as_sent(payload), Span(line, ("payload",)), Span(line)))
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
        if message.is_injected and message.parts and _is_task(message.parts[0].text, start):
            messages[index] = replace(message, is_injected=False)
            return


def _is_task(text: str, start: str) -> bool:
    """Whether a text of another agent is a task that starts in a way. As JSON it has no header."""
    communication = _communication(text)
    if communication is None:
        return text.startswith(start)
    return communication["trigger_turn"] and f"{_TASK}{communication['recipient']}\n".startswith(
        start
    )


def _as_sent(value: Any) -> Any:
    """An item; as a message of another agent, if it is an answer that is only one as JSON."""
    if not isinstance(value, dict) or value.get("role") != "assistant":
        return value
    blocks = elements(value.get("content"))
    text = string(members(blocks[0]).get("text")) if len(blocks) == 1 else None
    communication = None if text is None else _communication(text)
    if communication is None:
        return value
    if isinstance(communication.get("encrypted_content"), str):
        return communication | {"type": "inter_agent_communication"}
    return value | {"type": "agent_message"}


def _communication(text: str) -> dict[str, Any] | None:
    """The message of another agent that a text is as JSON; None for any other text."""
    if '"trigger_turn"' not in text:
        return None
    value = members(value_in(text))
    has_fields = all(isinstance(value.get(key), kind) for key, kind in _COMMUNICATION.items())
    return value if has_fields else None


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


def _starts_turn(value: Any) -> bool:
    """Whether Codex treats an item as the start of a turn: a prompt, or a message of another agent,
    but no summary [openai/codex, codex-rs/core/src/context_manager/history.rs].
    """
    if is_prompt(value):
        return not is_summary(value)
    return isinstance(value, dict) and value.get("type") in _AGENT_MESSAGES


def _is_delivery(metadata: Any) -> bool:
    """Whether an item with some metadata repeats what a program of the model told the user. Codex
    keeps it for its reviews, and does not send it
    [openai/codex, codex-rs/history/src/rollout_payload.rs].
    """
    marker = members(metadata).get("delivered_assistant_message")
    return isinstance(marker, str) and marker.startswith(_DELIVERY)


def _is_context(value: Any) -> bool:
    """Whether an item is a message of the client that Codex drops with the turn after it
    [openai/codex, codex-rs/core/src/context_manager/history.rs].
    """
    if kind_of(value) != "message" or isinstance(value, str):
        return False
    if value.get("role") == "developer":
        texts = (string(members(block).get("text")) for block in elements(value.get("content")))
        return any((text or "").lstrip().lower().startswith(_DEVELOPER_CONTEXT) for text in texts)
    return value.get("role") == "user" and not is_prompt(value)
