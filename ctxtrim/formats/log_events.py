"""Log events of CloudWatch Logs, which stores a record as a string: `{"timestamp", "message"}`,
alone, in an array, or in a list `events` or `logEvents`.
"""

from collections.abc import Iterator
from functools import lru_cache
from itertools import islice
from typing import Any

from ctxtrim.formats.fields import elements, members
from ctxtrim.text.json_paths import Path
from ctxtrim.text.records import value_in

_START = 8  # characters of a message that show whether it may be JSON
_FIRST = 8  # messages of a log service inspected to detect a format
_LISTS = ("events", "logEvents")
# FilteredLogEvent, OutputLogEvent and LiveTailSessionLogEvent of AmazonCloudWatchLogs, and the
# events of subscription filters [docs.aws.amazon.com]
_LOG_EVENT = frozenset((
    "timestamp", "message", "ingestionTime", "eventId", "id", "logStreamName",
    "logGroupIdentifier", "extractedFields",
))  # fmt: skip


def log_messages(value: object) -> Iterator[tuple[Path, str]]:
    """The messages of log events that may contain JSON, and their paths."""
    if _is_log_event(value):
        yield from _log_message(value, ())
        return
    around: Path = ()
    for key in _LISTS:
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
