"""Threads of Amp: what it sends of a message.

::

    {"id": "T-…", "messages": [message, …]}
    message   {"role": "user" | "assistant" | "info", "messageId", "content": [block, …]}
              a prompt may also have {"fileMentions": {"files": [file, …]}, "userState": {…},
              "discoveredGuidanceFiles": [file, …]}
              an answer also has {"state": {"type": "complete" | "cancelled" | …}}
    file      {"uri", "content"?, "isImage"?}
    block     of an `info` message: text | manual_bash_invocation {"args", "toolRun"}
              | summary {"summary": {"type": "message", "summary": TEXT}}

The last summary replaces everything before it, and what follows in its message. Amp sends it as an
answer, and other `info` messages as texts of the user.

Amp is closed source. What it sends is taken from a public reverse-engineered bundle of its command
line. [LIGHTYEARS/flitter, `amp-cli-reversed`]
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from ctxtrim.formats.anthropic.blocks import block as part_of
from ctxtrim.formats.fields import Located, located, members, string
from ctxtrim.formats.message_lists import Element, ListContents
from ctxtrim.model import Message, Part, Span
from ctxtrim.text.records import dump

_CONTEXT = frozenset(("fileMentions", "userState", "discoveredGuidanceFiles"))
_ADDED = "the words that Amp sends with files, instructions and the state of the editor"


def is_info(value: object) -> bool:
    """Whether an element is a message that Amp or its user added to a thread."""
    return members(value).get("role") == "info" and "messageId" in members(value)


def is_summary(value: object) -> bool:
    """Whether an element is the summary of a compaction."""
    return is_info(value) and _summary(located(members(value).get("content"), Span(0))) is not None


def add_info(element: Element, contents: ListContents, start: int, before: Sequence[Span]) -> None:
    """Add what Amp sends of an `info` message, if anything.

    A summary replaces the messages from `start` on, and carries the spans `before` it: without it
    they would be live again.
    """
    value, span, whole = element
    blocks = located(value.get("content"), span.inside("content"))
    summary = _summary(blocks)
    if summary is not None:
        del contents.messages[start:]
        contents.usages.clear()
        contents.unread = ()
        spans = (whole, *before)
        contents.add("assistant", [summary], *spans, is_injected=True, is_summary=True)
        return
    parts = [part_of(*block) for block in blocks if _is_sent_info(block[0])]
    if parts:
        contents.add("user", parts, whole, is_injected=True)


def _summary(blocks: Iterable[Located]) -> Part | None:
    """The text of the first summary among some blocks; None without one."""
    for block, span in blocks:
        summary = members(members(block).get("summary"))
        text = string(summary.get("summary"))
        if summary.get("type") == "message" and text is not None:
            return Part("text", text.rstrip(), span=span.inside("summary", "summary"))
    return None


def _is_sent_info(block: object) -> bool:
    """Whether Amp sends a block of an `info` message: a text, or a command of the person."""
    value = members(block)
    if value.get("type") == "text":
        return bool((string(value.get("text")) or "").strip())
    return value.get("type") == "manual_bash_invocation"


def sent(
    messages: Iterable[Message], element: Mapping[str, Any], span: Span, contents: ListContents
) -> Iterator[Message]:
    """The messages of an element as Amp sends them.

    An answer without a sent block is not sent.
    """
    context = tuple(_context(element, span))
    if not _CONTEXT.isdisjoint(element):  # Amp names the state even if it is empty
        contents.unread = (_ADDED,)
    for message in messages:
        if message.role == "assistant" and "state" in element:
            message = _answer(message, element, span)
            if not message.parts:
                continue
        elif message.role == "user" and context:
            message = replace(message, parts=context + message.parts)
            context = ()
        yield message


def _context(element: Mapping[str, Any], span: Span) -> Iterator[Part]:
    """What Amp sends before the text of a prompt: files that it names, the state of the editor, and
    instructions to agents.
    """
    files = members(element.get("fileMentions")).get("files")
    yield from _files(files, span.inside("fileMentions", "files"))
    state = {key: value for key, value in members(element.get("userState")).items() if value}
    if state:
        yield Part("text", dump(state))
    guidance = element.get("discoveredGuidanceFiles")
    yield from _files(guidance, span.inside("discoveredGuidanceFiles"))


def _files(files: Any, span: Span) -> Iterator[Part]:
    """The texts of some files. Those of images are blocks of the message, too."""
    for file, file_span in located(files, span):
        text = string(members(file).get("content"))
        if text and file.get("isImage") is not True:
            yield Part("text", text, span=file_span.inside("content"))


def _answer(message: Message, element: Mapping[str, Any], span: Span) -> Message:
    """An answer without the calls that Amp does not send, and without reasoning at its end."""
    blocks = located(element.get("content"), span.inside("content"))
    unsent = {block_span for block, block_span in blocks if _is_unsent(block)}
    if not unsent:
        return message
    parts = [part for part in message.parts if part.block not in unsent]
    while parts and parts[-1].kind == "reasoning":
        parts.pop()
    return replace(message, parts=tuple(parts))


def _is_unsent(block: object) -> bool:
    """Whether a block is a call that the model did not complete, or one of a server tool."""
    call = members(block)
    is_incomplete = call.get("type") == "tool_use" and call.get("complete") is False
    return is_incomplete or call.get("type") == "server_tool_use"
