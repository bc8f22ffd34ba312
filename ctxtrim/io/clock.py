"""The time of day, read in one place."""

import time


def now() -> str:
    """The time in UTC to the millisecond, as in `2025-01-31T12:00:00.000Z`."""
    return utc(time.time())


def ago(seconds: float) -> str:
    """The time in UTC some seconds before now, and not before 1970."""
    return utc(max(0.0, time.time() - seconds))


def utc(seconds: float) -> str:
    """A time in seconds since 1970 as text in UTC."""
    return (
        f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(seconds))}.{int(seconds % 1 * 1000):03}Z"
    )


def minute(text: str) -> str:
    """A time to the minute, for tables: `2025-01-31 12:00`."""
    return text.replace("T", " ")[:16]
