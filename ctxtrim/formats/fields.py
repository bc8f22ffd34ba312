"""Reads fields of JSON objects that most formats write alike."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import chain, islice
from typing import Any

from ctxtrim.conversation.tool_results import METADATA
from ctxtrim.model import Role, Span
from ctxtrim.text.json_paths import Path
from ctxtrim.text.records import value_in

_METADATA = frozenset(METADATA)
_START = 8  # characters of a message that show whether it may be JSON
_FIRST = 8  # messages of a log service inspected to detect a format
MARKS = {
    "<image>": ("images", "image"),
    "<video>": ("videos", "video"),
    "<audio>": ("audios", "audio"),
}
"""The marks in texts, and the keys next to the messages with their attachments: that of a list, and
that of a single one, which may also be a list.
"""
MEDIA_KEYS = frozenset(chain.from_iterable(MARKS.values()))
_FILE = frozenset(("bytes", "path"))  # of Hugging Face's `datasets`
_MEDIA_FILES = (
    ".png", ".jpg", ".jpeg", ".jfif", ".gif", ".webp", ".bmp", ".tif", ".tiff", ".heic", ".heif",
    ".avif", ".svg", ".mp4", ".m4v", ".mov", ".avi", ".mkv", ".webm", ".mpg", ".mpeg", ".wmv",
    ".flv", ".3gp", ".wav", ".mp3", ".m4a", ".flac", ".ogg", ".oga", ".opus", ".aac", ".aif",
    ".aiff", ".wma", ".amr",
)  # fmt: skip
_LONGEST_PATH = 4_096  # characters; longer values are data
# of Genkit and of Haystack
_PAIRED_MEMBERS = frozenset(("toolRequest", "toolResponse", "tool_call", "tool_call_result"))
_CHAT_ROLES = ("system", "developer", "tool", "function")
_CHAT_MEMBERS = frozenset(("tool_calls", "tool_call_id", "function_call"))
_LOG_LISTS = ("events", "logEvents")
# FilteredLogEvent, OutputLogEvent and LiveTailSessionLogEvent of AmazonCloudWatchLogs, and the
# events of subscription filters [docs.aws.amazon.com]
_LOG_EVENT = frozenset((
    "timestamp", "message", "ingestionTime", "eventId", "id", "logStreamName",
    "logGroupIdentifier", "extractedFields",
))  # fmt: skip


def string(value: object) -> str | None:
    """The value if it is a string, else None."""
    return value if isinstance(value, str) else None


def boolean(value: object) -> bool | None:
    """The value if it is a boolean, else None."""
    return value if isinstance(value, bool) else None


Located = tuple[Any, Span]
"""A value as read, and its span."""


def located(values: Any, span: Span) -> list[Located]:
    """The elements of a list at a span, with their spans; none for another value."""
    return [(value, span.inside(index)) for index, value in enumerate(elements(values))]


def first_string(values: Iterable[object]) -> str | None:
    """The first string among some values, or None."""
    return next((value for value in values if isinstance(value, str)), None)


def members(value: Any) -> dict[str, Any]:
    """The value if it is an object, else an empty object."""
    return value if isinstance(value, dict) else {}


def elements(value: Any) -> list[Any]:
    """The value if it is a list, else an empty list."""
    return value if isinstance(value, list) else []


def marks_in(value: Mapping[str, Any]) -> tuple[str, ...]:
    """The marks of attachments, if an object has some: all of them next to a list, where a mark
    without an attachment is an error. Next to single attachments, those of other kinds are text.
    """
    if MEDIA_KEYS.isdisjoint(value):  # as almost always
        return ()
    keys = {key for key in MEDIA_KEYS if is_media(value.get(key))}
    if not keys:
        return ()
    if not keys.isdisjoint(list_key for list_key, _ in MARKS.values()):
        return tuple(MARKS)
    keys.add("image")  # LLaVA writes `<image>` for a video, too
    return tuple(mark for mark, (_, single_key) in MARKS.items() if single_key in keys)


def is_media(value: Any) -> bool:
    """Whether a value next to the messages is an attachment, as a path or a file, or a list."""
    if isinstance(value, str):
        return _names_media(value)
    return isinstance(value, list) or not _FILE.isdisjoint(members(value))


def _names_media(text: str) -> bool:
    """Whether a text is a URL, base64, or the name of a media file: `image` may name a container's,
    and `audio` a voice.
    """
    if text.startswith("data:") or "://" in text or len(text) > _LONGEST_PATH:
        return True
    return text.partition("?")[0].lower().endswith(_MEDIA_FILES)


def has_chat_messages(items: Iterable[Any], roles: Sequence[str] = _CHAT_ROLES) -> bool:
    """Whether some elements have a member that only messages of OpenAI's Chat Completions have, or
    one of its `roles`: those that the API of the other elements lacks.
    """
    return any(
        members(item).get("role") in roles or not _CHAT_MEMBERS.isdisjoint(members(item))
        for item in items
    )


def is_paired_by_member(block: Any) -> bool:
    """Whether a block is a call or a result of Bedrock, Genkit or Haystack, without a type."""
    if not isinstance(block, dict):
        return False
    if "toolUse" in block or "toolResult" in block:
        return True
    return "type" not in block and not _PAIRED_MEMBERS.isdisjoint(block)


def names_in(items: Iterable[Any]) -> Iterator[str]:
    """The names of the members of all objects among some values."""
    return chain.from_iterable([item for item in items if isinstance(item, dict)])


def role_in(value: Any, key: str, roles: Mapping[object, Role]) -> Role | None:
    """The role under a key of an object; None if there is none or it is unknown."""
    name = value.get(key) if isinstance(value, dict) else None
    return roles.get(name) if isinstance(name, str) else None


def metadata_in(value: Mapping[str, Any]) -> tuple[tuple[str, int], ...]:
    """The metadata that a stage wrote next to a tool result."""
    if _METADATA.isdisjoint(value):
        return ()
    return tuple((key, value[key]) for key in METADATA if type(value.get(key)) is int)


def log_messages(value: object) -> Iterator[tuple[Path, str]]:
    """The messages of log events that may contain JSON, and their paths.

    CloudWatch Logs stores a record as a string: `{"timestamp", "message"}`, alone, in an array, or
    in a list `events` or `logEvents`.
    """
    if _is_log_event(value):
        yield from _log_message(value, ())
        return
    around: Path = ()
    for key in _LOG_LISTS:
        if key in members(value):
            value, around = members(value)[key], (key,)
    events = elements(value)
    if events and _is_log_event(events[0]):
        for index, event in enumerate(events):
            yield from _log_message(event, (*around, index))


def _is_log_event(value: object) -> bool:
    event = members(value)
    return "timestamp" in event and "message" in event and _LOG_EVENT.issuperset(event)


def _log_message(event: Any, path: Path) -> Iterator[tuple[Path, str]]:
    text = event["message"] if _is_log_event(event) else None
    if isinstance(text, str) and text[:_START].lstrip()[:1] in ("{", "["):
        yield (*path, "message"), text


json_in = lru_cache(_FIRST)(value_in)
"""The object or array that a string contains, to look at it. Every format looks at the first."""


def first_logged(value: object) -> Iterator[Any]:
    """The values in the first messages of log events, to look at them."""
    return (json_in(text) for _, text in islice(log_messages(value), _FIRST))


def inside(span: Span, key: str | int) -> Span:
    """The span of a member or element. The paths of all lines share their memory."""
    return Span(span.line, _longer(span.path, key))


@lru_cache(512)
def _longer(path: Path, key: str | int) -> Path:
    return (*path, key)


def stream_session(value: Mapping[str, Any]) -> str | None:
    """The id of the session in the first event of a program's stream; None for other events."""
    is_first = "init" in (value.get("type"), value.get("subtype"))
    return string(value.get("session_id")) if is_first else None
