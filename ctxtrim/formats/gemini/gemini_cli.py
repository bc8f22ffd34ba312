"""Gemini CLI sessions: one document `{"sessionId", "messages": […]}`, or a log of lines.

A message is `{id, type, content, toolCalls?}`. A model message contains its calls and their
results; the results are read as separate messages. Newer versions repeat the results in a user
message, and send that one. `info`, `warning`, `error`, `resultDisplay` and `displayContent` are
only for the screen. `gemini_cli_log` replays a log, `gemini_cli_messages` reads the messages.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from ctxtrim.formats.base import Insertion, Site
from ctxtrim.formats.fields import string
from ctxtrim.formats.gemini.parts import insert_contents, is_media, part_value
from ctxtrim.formats.message_lists import Dialect, Envelope, element_of
from ctxtrim.formats.message_parts import event_id
from ctxtrim.loading import lazy_function
from ctxtrim.model import Message, Span
from ctxtrim.text.json_paths import Path
from ctxtrim.text.records import dump

MODEL = ("gemini", "model")
SCREEN = ("info", "warning", "error")


def knows(value: object) -> bool:
    """Whether a value is a message with an id, a known type and content."""
    if not isinstance(value, dict) or not isinstance(value.get("id"), str):
        return False
    kind = value.get("type")
    if kind not in ("user", *MODEL, *SCREEN) or "message" in value:
        return False
    return "content" in value or "toolCalls" in value or isinstance(value.get("parts"), list)


def opens(value: object) -> bool:
    """Whether a value is the first line of a log."""
    return (
        isinstance(value, dict)
        and {"sessionId", "projectHash"} <= value.keys()
        and not value.get("messages")
    )


def session_of(value: Mapping[str, Any]) -> str | None:
    """The id of the session that a line of a log begins."""
    return string(value["sessionId"]) if opens(value) else None


def envelope(value: dict[str, Any], span: Span) -> Envelope:
    """The id of the session. Its messages name the model."""
    return Envelope(id=string(value.get("sessionId")))


def owner(array: Path) -> Path | None:
    """A message is removed with the last part of its content; a call stays without its result.

    A content in a patch becomes empty: without it, the older one would be read.
    """
    if is_media(array):
        return array
    if array[0] == "$patch":
        return None
    return array[:-1] if array[-1] in ("content", "parts") else None


def insert(run: Sequence[Message], site: Site) -> Sequence[Insertion]:
    """Each message as an element of the list; results share one user message.

    See `insert_contents`.
    """
    return insert_contents(run, site, _content_around, ("content",), _json_value)


def _content_around(span: Span) -> Span:
    if "toolCalls" in span.path:
        return Span(span.line, span.path[: span.path.index("toolCalls")])
    return element_of(span, ("content",), ("parts",))


def _json_value(messages: Sequence[Message], neighbour: Any, number: int) -> dict[str, Any]:
    """Messages of one role as a session message, with an id from their content and position."""
    content = [part_value(message) for message in messages]
    name = event_id(neighbour.get("id"), dump(content), number)
    time = {"timestamp": neighbour["timestamp"]} if "timestamp" in neighbour else {}
    kind = "gemini" if messages[0].role == "assistant" else "user"
    return {"id": name, **time, "type": kind, "content": content}


DIALECT = Dialect(
    "gemini-cli",
    knows,
    lazy_function("ctxtrim.formats.gemini.gemini_cli_messages:read"),
    insert,
    envelope=envelope,
    owner=owner,
    relink=lazy_function("ctxtrim.formats.gemini.gemini_cli_log:relink"),
    opens=opens,
    session_of=session_of,
    must_alternate=True,
)
