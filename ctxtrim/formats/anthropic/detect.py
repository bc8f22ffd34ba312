"""Distinguishes Anthropic messages from OpenAI messages, which write plain texts the same way.

A list belongs to Anthropic if an element or its envelope shows it: a block type that only Anthropic
has, a `system` prompt next to the messages, tools with an `input_schema`, usage with
`input_tokens`, or a Claude model. Otherwise it belongs to OpenAI, unless other lists in the same
file belong to Anthropic.
"""

import re
from collections.abc import Iterator, Mapping, Sequence, Set
from typing import Any

from ctxtrim.formats.anthropic import ROO_LINKS, is_sealed, is_session_start
from ctxtrim.formats.fields import elements
from ctxtrim.formats.usage import anthropic_usage

ROLES = ("user", "assistant", "system")

_DATED = re.compile(r"_20\d{6}$")

_BLOCKS = (
    "tool_use", "tool_result", "redacted_thinking", "server_tool_use", "mcp_tool_use", "compaction",
)  # fmt: skip
_SYSTEM_MEMBERS = frozenset(("output_config", "clear_at"))
"""Members of a system message in the middle: the effort of later answers, and its end."""
_FOREIGN_ROLES = ("tool", "function", "developer", "toolResult")
_REASONING = frozenset(("reasoning", "reasoning_content", "thinking"))
_OTHER_KEYS = frozenset((
    "tool_calls", "function_call", "tool_call_id", "toolCalls", "toolCallId", "finish_reason",
    "stopReason", "thinking_blocks",
))  # fmt: skip
_FOREIGN_KEYS = _OTHER_KEYS | _REASONING
_FOREIGN_BLOCKS = (
    "image_url", "input_audio", "input_text", "output_text", "input_image", "toolCall",
    "tool-call",
)  # fmt: skip


def inner(value: Any) -> tuple[dict[str, Any], Any, tuple[str, ...]]:
    """The message of an element, its role, and the keys that lead to it.

    Cursor and Droid write it under `message`.
    """
    if not isinstance(value, dict):
        return {}, None, ()
    message = value.get("message")
    if (
        isinstance(message, dict)
        and "content" not in value
        and value.get("type") in (None, "message")
    ):
        return message, message.get("role", value.get("role")), ("message",)
    return value, value.get("role"), ()


def knows(value: object) -> bool:
    """Whether a value is a message with a text or blocks; other formats may write the same."""
    message, role, _ = inner(value)
    if role not in ROLES or has_foreign((value,)):
        return False
    return isinstance(message.get("content"), str) or any(
        isinstance(block.get("type"), str) for block in _blocks(message)
    )


def _is_foreign(value: object, keys: Set[str] = _FOREIGN_KEYS) -> bool:
    """Whether only other formats, mostly OpenAI, write such a message."""
    message, role, _ = inner(value)
    if role in _FOREIGN_ROLES or any(message[key] for key in keys & message.keys()):
        return True
    if role is None and message.get("choices"):  # a response of Chat Completions
        return True
    content = message.get("content")
    return isinstance(content, list) and any(map(_is_foreign_block, content))


def has_foreign(items: Sequence[Any]) -> bool:
    """Whether only other formats write some of these messages."""
    first = next(filter(_is_foreign, items), None)
    if first is None or _REASONING.isdisjoint(inner(first)[0]):
        return first is not None
    # Roo Code writes it next to the blocks of Anthropic
    is_anthropic = any(_has_anthropic_block(value) or is_sealed(value) for value in items)
    return not is_anthropic or any(_is_foreign(value, _OTHER_KEYS) for value in items)


def _has_anthropic_block(value: object) -> bool:
    """Whether a message has a block that only Anthropic writes."""
    return any(map(_is_anthropic_block, _blocks(inner(value)[0])))


def _is_foreign_block(block: object) -> bool:
    """Whether a block belongs to OpenAI or pi, or is a LLaMA-Factory text under `value`."""
    if not isinstance(block, dict):
        return False
    kind = block.get("type")
    if kind == "file":
        return not is_file(block)
    return kind in _FOREIGN_BLOCKS or (kind == "text" and "text" not in block)


def is_file(block: Mapping[str, Any]) -> bool:
    """Whether a block is a text file that Cline attached. [cline/cline, `llms/messages.ts`]"""
    texts = (block.get("path"), block.get("content"))
    return block.get("type") == "file" and all(isinstance(text, str) for text in texts)


def claims(items: Sequence[Any], around: Mapping[str, Any]) -> bool:
    """Whether some elements, or their envelope, can only belong to Anthropic."""
    return _envelope_tells(around, items) or any(map(_tells, items)) or _is_roo(items)


def _is_roo(items: Sequence[Any]) -> bool:
    """Whether encrypted reasoning is next to blocks of type `text`, which Responses lacks."""
    return any(map(is_sealed, items)) and any(
        block.get("type") == "text" for item in items for block in _blocks(inner(item)[0])
    )


def _envelope_tells(around: Mapping[str, Any], items: Sequence[Any]) -> bool:
    if around.get("system") and isinstance(around["system"], (str, list)):
        return True
    if "anthropic_version" in around or "mcp_servers" in around:
        return True
    schemas = [tool for tool in elements(around.get("tools")) if isinstance(tool, dict)]
    if any(map(_is_anthropic_tool, schemas)) or anthropic_usage(around.get("usage")) is not None:
        return True
    if schemas or not _is_claude(around.get("model")):
        return False
    return not items or inner(items[0])[1] != "system"


def _is_anthropic_tool(tool: Mapping[str, Any]) -> bool:
    """Whether a tool has Anthropic's schema key and no function, or Anthropic defines it."""
    has_schema = "input_schema" in tool and not isinstance(tool.get("function"), dict)
    return has_schema or is_dated(tool)


def is_dated(tool: Mapping[str, Any]) -> bool:
    """Whether a tool has a type with a date, such as `memory_20250818`: Anthropic defines it."""
    kind = tool.get("type")
    return isinstance(kind, str) and _DATED.search(kind) is not None


def _tells(value: object) -> bool:
    message, role, keys = inner(value)
    if role not in ROLES:
        return is_session_start(message)
    if not keys and (
        anthropic_usage(message.get("usage")) is not None or _is_claude(message.get("model"))
    ):
        return True
    if not ROO_LINKS.isdisjoint(message):
        return True
    if role == "system" and not _SYSTEM_MEMBERS.isdisjoint(message):
        return True
    if isinstance(message.get("content"), str):
        return False
    is_cursor = bool(keys) and "role" not in message
    return any(is_cursor or _is_anthropic_block(block) for block in _blocks(message))


def _is_anthropic_block(block: Mapping[str, Any]) -> bool:
    """Whether a block is one of Anthropic's, or a file that Cline attached."""
    kind = block.get("type")
    if kind == "thinking":
        return isinstance(block.get("thinking"), str) and "thinkingSignature" not in block
    if kind in ("image", "document"):
        return isinstance(block.get("source"), dict)
    if kind == "file":
        return is_file(block)
    return kind in _BLOCKS or (isinstance(kind, str) and kind.endswith("_tool_result"))


def _is_claude(model: object) -> bool:
    return isinstance(model, str) and "claude" in model.lower()


def _blocks(message: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    return (block for block in elements(message.get("content")) if isinstance(block, dict))
