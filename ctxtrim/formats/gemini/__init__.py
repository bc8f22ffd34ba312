"""Formats with Gemini's contents, chats of Google AI Studio, and the output of Gemini CLI.

A format that is defined here loads its reader for files of that format only.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from ctxtrim.formats.base import Format, layout_of_events
from ctxtrim.formats.fields import members, role_in, stream_session, string
from ctxtrim.formats.message_lists import Dialect, Envelope
from ctxtrim.loading import lazy_function
from ctxtrim.model import Role
from ctxtrim.text.json_paths import each_element

CHUNK_ROLES: dict[object, Role] = {"user": "user", "model": "assistant"}
SYSTEM = "systemInstruction"
_CHUNKS = f"{SYSTEM} + chunkedPrompt.chunks"


def knows_chunk(value: object) -> bool:
    """Whether a value is a chunk: a prompt, a file, a thought or an answer."""
    chunk = members(value)
    return string(chunk.get("role")) in CHUNK_ROLES and "content" not in chunk


def claims_chunks(items: Sequence[Any], around: Mapping[str, Any]) -> bool:
    """Whether elements are the chunks of a chat, judged by the object around them."""
    is_chat = isinstance(around.get("chunks"), list)
    return is_chat and (not items or any(map(knows_chunk, items)))


def model_in(settings: object) -> str | None:
    """The model in a chunk or in the settings of a chat, without the folder of its name."""
    model = string(members(settings).get("model"))
    return None if model is None else model.removeprefix("models/")


def model_of_chat(value: object) -> Envelope:
    """The model of a chat."""
    return Envelope(model=model_in(members(value).get("runSettings")))


_STUDIO = "ctxtrim.formats.gemini.ai_studio"
AI_STUDIO = Dialect(
    "ai-studio",
    knows_chunk,
    lazy_function(f"{_STUDIO}:read"),
    lazy_function(f"{_STUDIO}:insert"),
    lazy_function(f"{_STUDIO}:envelope"),
    places=(_CHUNKS, each_element(_CHUNKS)),
    claims=claims_chunks,
    header=model_of_chat,
    answers=((SYSTEM,),),
    takes_empty=True,
    relink=lazy_function(f"{_STUDIO}:relink"),
    links_texts=True,
)

STREAM_ROLES: dict[object, Role] = {"user": "user", "assistant": "assistant"}
_STREAM_EVENTS = {
    "init": {"session_id", "model"},
    "tool_use": {"tool_name", "tool_id", "parameters"},
    "tool_result": {"tool_id", "status"},
}
"""The members of the events that only Gemini CLI's stream has, by their type."""


def knows_stream(value: object) -> bool:
    """Whether a value is an event that only Gemini CLI's stream has."""
    event = members(value)
    fields = _STREAM_EVENTS.get(string(event.get("type")) or "")
    return fields is not None and "timestamp" in event and fields <= event.keys()


def admits_stream(value: object) -> bool:
    """The same, also for the other events of a stream, which other programs write too."""
    event = members(value)
    is_report = event.get("type") in ("error", "result") and "timestamp" in event
    return is_report or is_stream_message(event) or knows_stream(value)


def is_stream_message(event: dict[str, Any]) -> bool:
    """Whether an event of the stream is a prompt, or a piece of an answer.

    Programs that log the stream put the prompt before it, without a time.
    """
    is_text = event.get("type") == "message" and isinstance(event.get("content"), str)
    return is_text and role_in(event, "role", STREAM_ROLES) is not None


_STREAM = "ctxtrim.formats.gemini.gemini_cli_stream"
CLI_STREAM = Format(
    "gemini-cli-stream",
    layout_of_events(knows_stream),
    lazy_function(f"{_STREAM}:read"),
    lazy_function(f"{_STREAM}:insert"),
    takes=layout_of_events(admits_stream),
    session_of=stream_session,
)
