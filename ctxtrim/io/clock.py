"""The time of day, read in one place."""

import time


def now() -> str:
    """The time in UTC to the millisecond, as in `2025-01-31T12:00:00.000Z`."""
    seconds = time.time()
    return (
        f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(seconds))}.{int(seconds % 1 * 1000):03}Z"
    )
