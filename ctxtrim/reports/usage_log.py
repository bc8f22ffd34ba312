"""How full the context was, run by run: one JSON line for each transcript.

::

    {"time": "2025-01-31T12:00:00.000Z", "path": "a.jsonl", "line": 1, "id": "…", "model": "gpt-4o",
     "original": 9011, "final": 4512, "max": 8000, "trimmed": true, "dropped": 12}

Tokens as counted; `dropped` is by how many the messages have become fewer. Mean utilisation is the mean of `final` /
`max`, the trimmed share that of `trimmed`.
"""

from typing import Any

from ctxtrim.reports.model import Row


def entry(row: Row, moment: str) -> dict[str, Any]:
    """What the log says of a transcript at some time of day."""
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
