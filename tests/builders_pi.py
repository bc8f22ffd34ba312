"""Small sessions and messages of pi for tests that look at single rules."""

import json
from typing import Any

from harness import read
from insertions import format_of, written
from msgspec.structs import replace

from ctxtrim.formats import FORMATS
from ctxtrim.model import Message, Transcript

Value = dict[str, Any]
PI = FORMATS["pi"]
HEADER = {"type": "session", "version": 3, "id": "s", "timestamp": "T0", "cwd": "/x"}


def text(words: str) -> Value:
    return {"type": "text", "text": words}


def user(words: str, **more: Any) -> Value:
    return {"role": "user", "content": [text(words)], "timestamp": 5} | more


def says(words: str, **more: Any) -> Value:
    return {
        "role": "assistant",
        "content": [text(words)],
        "model": "claude-opus-4-6",
        "stopReason": "stop",
    } | more


def calls(*ids: str, **more: Any) -> Value:
    blocks = [
        {"type": "toolCall", "id": call_id, "name": "bash", "arguments": {"command": "ls"}}
        for call_id in ids
    ]
    return {"role": "assistant", "content": blocks, "stopReason": "toolUse"} | more


def result(of: str, content: Any = "out", **more: Any) -> Value:
    return {"role": "toolResult", "toolCallId": of, "toolName": "bash", "content": content} | more


def entry(name: str, parent: str | None, message: Value | None = None, **more: Any) -> Value:
    body = {"type": "message", "message": message} if message else {}
    return (
        {"type": "custom", "customType": "x", "id": name, "parentId": parent, "timestamp": name}
        | body
        | more
    )


def compaction(name: str, parent: str | None, summary: str, **more: Any) -> Value:
    return entry(name, parent, type="compaction", summary=summary, tokensBefore=9, **more)


def old(*entries: Value) -> list[Value]:
    """Entries as they were before they had ids."""
    return [
        {key: value for key, value in entry.items() if key not in ("id", "parentId")}
        for entry in entries
    ]


def lines(*values: Value) -> bytes:
    return b"".join(json.dumps(value).encode() + b"\n" for value in values)


def session(*entries: Value) -> bytes:
    return lines(HEADER, *entries)


def transcript(data: bytes) -> Transcript:
    return read(data)[0].transcripts[0]


def role_texts(transcript: Transcript) -> list[tuple[str, str]]:
    return [
        (message.role, "|".join(part.text for part in message.parts))
        for message in transcript.messages
    ]


def of(*messages: Value) -> Transcript:
    """Messages in a list."""
    return transcript(lines({"messages": list(messages)}))


def trimmed_file(
    data: bytes, *indices: int, first: Message | None = None, last: Message | None = None
) -> list[Value]:
    """The lines of a file of which only some messages stay, with others before or after them."""
    chunk = read(data)[0]
    transcript = chunk.transcripts[0]
    messages = [first, *(transcript.messages[index] for index in indices), last]
    meant = replace(transcript, messages=tuple(message for message in messages if message))
    return [json.loads(line) for line in written(chunk, format_of(data), meant).splitlines()]


STEP = (
    entry("a", None, user("list")),
    entry("b", "a", calls("c1")),
    entry("c", "b", result("c1")),
    entry("d", "c", says("done")),
)
