"""The usage log: one JSON line for each transcript of each run.

::

    {"time": "2025-01-31T12:00:00.000Z", "path": "a.jsonl", "line": 1, "id": "…", "model": "gpt-4o",
     "original": 9011, "final": 4512, "max": 8000, "trimmed": true, "dropped": 12}

`original`, `final` and `max` are tokens; `dropped` is the difference of the message counts. Mean
utilization is the mean of `final` / `max`; the trimmed share is the mean of `trimmed`.
"""

from typing import Any

from ctxtrim.reports.model import Row


def entry(row: Row, moment: str) -> dict[str, Any]:
    """The log entry of a transcript."""
    return {
        "time": moment,
        "path": row.path,
        "line": row.line,
        "id": row.id,
        "model": row.model,
        "original": row.tokens_read,
        "final": row.count.tokens,
        "max": row.budget.available,
        "trimmed": row.count.tokens < row.tokens_read,
        "dropped": row.messages_read - row.messages,
    }
