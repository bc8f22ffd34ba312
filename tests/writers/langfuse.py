"""A plain conversation as observations of Langfuse."""

import json
from typing import Any

from writers.openai_chat import openai_message
from writers.requests import split

Talk = list[dict[str, Any]]


def generation(talk: Talk, number: int = 0, trace: str | None = None) -> dict[str, Any]:
    """A request: messages alone or in an object, as values or as JSON in a string."""
    sent, received = split(talk)
    messages = [openai_message(message) for message in sent]
    has_tools = number % 2 == 1
    tools = [{"type": "function", "function": {"name": "bash"}}]
    asked: Any = {"messages": messages, "tools": tools} if has_tools else messages
    answer: Any = openai_message(received[0]) if received else None
    is_text = number % 3 == 2
    return {
        "id": f"o{number}",
        "type": "GENERATION",
        "trace_id" if is_text else "traceId": trace or f"t{number}",
        "model": "gpt-4o",
        "input": json.dumps(asked) if is_text else asked,
        "output": json.dumps(answer) if is_text and answer else answer,
        "usage_details" if is_text else "usageDetails": {"input": 30, "input_cached_tokens": 12},
    }


def trace(talk: Talk, number: int = 0) -> dict[str, Any]:
    """A trace with one request, next to an observation of another type."""
    tool = {"type": "TOOL", "traceId": f"t{number}", "id": "x", "input": {"path": "a"}}
    return {"id": f"t{number}", "observations": [tool, generation(talk, number, f"t{number}")]}
