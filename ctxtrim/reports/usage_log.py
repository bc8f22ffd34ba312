"""The usage log: one JSON line for each transcript of each run.

::

    {"time": "2025-01-31T12:00:00.000Z", "path": "a.jsonl", "line": 1, "id": "…", "model": "gpt-4o",
     "original": 9011, "final": 4512, "max": 8000, "trimmed": true, "dropped": 12,
     "written": true}

`original`, `final` and `max` are tokens; `dropped` is the number of messages as read that left the
transcript. It is not `written` if it was left out, and by runs that write none. One that was left
out is not `trimmed` and lost no message; `final` is the size of the result that did not fit. Mean
utilization is the mean of `final` / `max`; the trimmed share is the mean of `trimmed`.
"""

from typing import Any

from ctxtrim.reports.model import Row


def entry(row: Row, moment: str, *, writes: bool) -> dict[str, Any]:
    """The log entry of a transcript. `writes`: the run writes transcripts."""
    return {
        "time": moment,
        "path": row.path,
        "line": row.line,
        "id": row.id,
        "model": row.model,
        "original": row.tokens_read,
        "final": row.count.tokens,
        "max": row.budget.available,
        "trimmed": row.is_written and row.count.tokens < row.tokens_read,
        "dropped": row.dropped if row.is_written else 0,
        "written": writes and row.is_written,
    }
