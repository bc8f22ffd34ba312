"""Sessions of Claude Code, event by event."""

import json
from typing import Any

from harness import read

from ctxtrim.model import Transcript

Event = dict[str, Any]


def line(uuid: str, parent: str | None, kind: str, content: Any = None, **more: Any) -> Event:
    event = {
        "parentUuid": parent,
        "isSidechain": False,
        "type": kind,
        "uuid": uuid,
        "sessionId": "s",
    } | more
    if content is not None:
        event["message"] = {"role": kind, "content": content} | (
            {"id": more["id"]} if "id" in more else {}
        )
    return event


def says(uuid: str, parent: str | None, message: str, **block: Any) -> Event:
    return line(uuid, parent, "assistant", [block], id=message)


def call_line(uuid: str, parent: str | None, message: str, call: str) -> Event:
    block = {"type": "tool_use", "id": call, "name": "Bash", "input": {"command": "ls"}}
    return line(uuid, parent, "assistant", [block], id=message)


def answers(uuid: str, parent: str | None, call: str, text: str = "out", **more: Any) -> Event:
    return line(
        uuid,
        parent,
        "user",
        [{"type": "tool_result", "tool_use_id": call, "content": text}],
        **more,
    )


def session(*events: Event) -> bytes:
    return b"".join(json.dumps(event).encode() + b"\n" for event in events)


def transcript(*events: Event) -> Transcript:
    return read(session(*events))[0].transcripts[0]


def role_texts(transcript: Transcript) -> list[tuple[str, str]]:
    return [
        (message.role, " | ".join(part.text for part in message.parts))
        for message in transcript.messages
    ]
