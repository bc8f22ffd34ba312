"""The log of prompts that Gemini CLI writes (`logs.json`): counted, never edited.

It is an array of `{"sessionId", "messageId", "type": "user", "message", "timestamp"}`, with the
prompts of several sessions. Gemini CLI ignores entries in which one of these is missing or has
another type. Answers are in the files of the sessions. Checked against `LogEntry` and
`_readLogFile` in `packages/core/src/core/logger.ts` of google-gemini/gemini-cli (commit 04fbf50,
2026).
"""

from collections.abc import Iterable, Sequence
from typing import Any

from ctxtrim.errors import NotEditableError
from ctxtrim.formats.base import Edit, Format, Insertion, Layout, Site
from ctxtrim.model import Line, Message, Part, Source, Span, Transcript
from ctxtrim.text.records import JsonRecord

_TEXTS = ("sessionId", "type", "message", "timestamp")
_REFUSAL = (
    "a log of prompts is counted, never edited; nothing was written; "
    "edit the session in `chats/` instead"
)


def sniff(value: object) -> Layout | None:
    """Whether a value is a log with at least one prompt."""
    if not isinstance(value, list) or not value:
        return None
    return "conversation" if all(map(_is_prompt, value)) else None


def _is_prompt(value: Any) -> bool:
    """Whether Gemini CLI reads a value as an entry. All entries that it writes are prompts."""
    if not isinstance(value, dict) or not isinstance(value.get("messageId"), (int, float)):
        return False
    return value.get("type") == "user" and all(isinstance(value.get(key), str) for key in _TEXTS)


def read(records: Iterable[JsonRecord], lines: Sequence[Line]) -> list[Transcript]:
    """The prompts of each session as a transcript."""
    sessions: dict[tuple[int, str], list[Message]] = {}
    for line, record in enumerate(records):
        if sniff(record.value) is None:
            continue
        for index, value in enumerate(record.value):
            messages = sessions.setdefault((line, value["sessionId"]), [])
            part, span = Part("text", value["message"]), Span(line, (index,))
            messages.append(Message("user", (part,), index=len(messages), spans=(span,)))
    return [_transcript(name, messages, lines) for (_, name), messages in sessions.items()]


def _transcript(name: str, messages: Sequence[Message], lines: Sequence[Line]) -> Transcript:
    """The prompts of one session, at least one."""
    source, pointer = Source(lines, tuple(messages)), messages[0].spans[0].path
    return Transcript(source.messages, source, id=name, pointer=pointer)


def insert(run: Sequence[Message], site: Site) -> Sequence[Insertion]:
    """None: see `relink`."""
    raise NotEditableError(_REFUSAL)


def relink(edit: Edit) -> Edit:
    """Always an error: the log is what was typed, and no request is made from it."""
    raise NotEditableError(_REFUSAL)


FORMAT = Format("gemini-prompts", sniff, read, insert, relink=relink)
