"""Items of OpenAI's Responses, which Codex writes down too: messages, reasoning, calls and their outputs.

An answer of the model is a run of items, which belong together::

    reasoning ─┐
    message    ├─ one message of the assistant, parallel calls and all
    calls …   ─┘
    outputs …     a tool message each

The next answer begins after an output or another speaker, with reasoning, and with a text after a text or a call.
"""

from collections.abc import Iterator, Sequence
from typing import Any, Literal

from ctxtrim.conversation.tool_results import METADATA
from ctxtrim.formats.message_lists import Element, Found
from ctxtrim.formats.openai.item_parts import answered, call_id, content, output, sealed
from ctxtrim.model import Message, Part, Role, Span

Kind = Literal["reasoning", "text", "call", "said", "result", "aside", "unknown"]
"""What an item is: three that make up an answer, what others say, an output, nothing that is sent, or who knows."""

State = Literal["reasoning", "open"] | None
"""What an answer has so far: nothing but reasoning, or more; None between answers."""

ROLES: dict[object, Role] = {"system": "system", "developer": "system", "user": "user", "assistant": "assistant"}
TEXTS = ("input_text", "output_text")

_KINDS: dict[str, Kind] = {
    "reasoning": "reasoning",
    "tool_call": "call",  # before Codex had ids, as the next two
    "tool_result": "result",
    "function_result": "result",
    "mcp_list_tools": "call",
    "mcp_approval_request": "call",
    "agent_message": "said",  # another agent of Codex
    "compaction": "said",  # sealed, as the next two
    "compaction_summary": "said",
    "context_compaction": "said",
    "compacted": "said",  # the summary of an older compaction of Codex
    "ghost_snapshot": "aside",
}
_COMPACTIONS = ("compaction", "compaction_summary", "context_compaction")
_OUTPUTS = ("output", "result", "tools")
_CONTEXT = (
    "<environment_context>", "<user_instructions>", "# agents.md instructions", "<turn_aborted>", "<skill>",
    "<user_shell_command>", "<subagent_notification>", "<tool_context>", "<goal_context>",
)  # fmt: skip
_SUMMARY = "Another language model started to solve this problem"


def kind_of(value: Any) -> Kind:
    """What an item is. A plain string is what a user or a system says; an object without a role or a type is aside."""
    if isinstance(value, str):
        return "said"
    if not isinstance(value, dict):
        return "unknown"
    kind, role = value.get("type"), value.get("role")
    if kind == "message" or (kind is None and role is not None):
        known = ROLES.get(role) if isinstance(role, str) else None
        return "unknown" if known is None else "text" if known == "assistant" else "said"
    if kind is None:
        return "aside"
    if not isinstance(kind, str):
        return "unknown"
    if kind in _KINDS:
        return _KINDS[kind]
    return "call" if kind.endswith("_call") else "result" if kind.endswith("_output") else "unknown"


def begins(kind: Kind, state: State) -> bool:
    """Whether an item of an answer begins another one than the answer before it."""
    return state is None if kind == "call" else state != "reasoning"


def after(kind: Kind) -> State:
    """What an answer has after an item."""
    return "reasoning" if kind == "reasoning" else "open" if kind in ("text", "call") else None


def home(element: Element) -> Span | None:
    """The array that an item stands in, None for a line of its own: no answer goes on from one to another."""
    line, path = element.at
    return Span(line, path[:-1]) if path and isinstance(path[-1], int) else None


def answers(elements: Sequence[Element]) -> Iterator[tuple[Kind, list[Element]]]:
    """The items that are something: those of an answer together (as `text`), all others alone.

    What nobody knows parts nothing.
    """
    answer: list[Element] = []
    state: State = None
    place: Span | None = None
    for element in elements:
        kind = kind_of(element.value)
        if kind == "aside":
            continue
        if kind == "unknown":
            yield kind, [element]
            continue
        is_answer = after(kind) is not None
        there = home(element)
        if answer and (not is_answer or there != place or begins(kind, state)):
            yield "text", answer
            answer = []
        place, state = there, after(kind)
        if is_answer:
            answer.append(element)
        else:
            yield kind, [element]
    if answer:
        yield "text", answer


def read_items(elements: Sequence[Element], found: Found) -> None:
    """A message for each answer, for each output, and for whatever others say."""
    for kind, together in answers(elements):
        if kind == "unknown":
            found.uncounted += 1
            continue
        index = len(found.messages)
        if kind == "text":
            parts = tuple(part for element in together for part in answered(*element))
            spans = tuple(element.whole for element in together)
            found.messages.append(Message("assistant", parts, index=index, spans=spans))
        else:
            found.messages.append((_result if kind == "result" else _said)(together[0], index))


def _said(element: Element, index: int) -> Message:
    """What the user, the client or the developer says. A plain string is the user's, but for instructions."""
    value, at, whole = element
    if isinstance(value, str):
        role: Role = "system" if at.path[-1] in ("instructions", "text") else "user"
        return Message(role, (Part("text", value, span=at),), index=index, spans=(whole,))
    if value.get("type") in _COMPACTIONS:
        part = Part("attachment", media=sealed(value))
        return Message("user", (part,), None, True, True, index=index, spans=(whole,))
    role = ROLES[value["role"]] if value.get("type") in ("message", None) else "user"
    stands_for_all = is_summary(value)
    is_injected = role == "user" and (stands_for_all or not is_prompt(value))
    return Message(role, tuple(content(value, at)), None, is_injected, stands_for_all, index=index, spans=(whole,))


def is_prompt(value: Any) -> bool:
    """Whether an item begins a turn: a user's message that is no context from the client."""
    if kind_of(value) != "said" or isinstance(value, str) or value.get("role") != "user":
        return False
    return not _opening(value).lower().startswith(_CONTEXT)


def is_summary(value: Any) -> bool:
    """Whether an item is a user message that stands for all that was said before it."""
    if kind_of(value) != "said" or isinstance(value, str) or value.get("role") != "user":
        return False
    return value.get("type") == "compacted" or _opening(value).startswith(_SUMMARY)


def _opening(value: dict[str, Any]) -> str:
    """How a message begins."""
    said = value.get("content", value.get("message"))
    if isinstance(said, list):
        said = next((block["text"] for block in said if isinstance(block, dict) and block.get("text")), None)
    return said.lstrip()[: len(_SUMMARY)] if isinstance(said, str) else ""


def _result(element: Element, index: int) -> Message:
    value, at, whole = element
    name = value.get("name")
    name = name if isinstance(name, str) else None
    key = next((key for key in _OUTPUTS if key in value), "output")
    metadata = tuple((key, value[key]) for key in METADATA if type(value.get(key)) is int)
    parts = tuple(output(value.get(key), at.inside(key), call_id(value), name))
    return Message("tool", parts, name, metadata=metadata, index=index, spans=(whole,))
