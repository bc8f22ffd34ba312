"""A plain conversation as a standard logging payload of LiteLLM."""

from typing import Any

from writers.openai_chat import openai_message
from writers.requests import split

Talk = list[dict[str, Any]]


def payload(talk: Talk, number: int = 0, trace: str | None = None) -> dict[str, Any]:
    """A successful request."""
    sent, received = split(talk)
    choices = [{"index": 0, "message": openai_message(message)} for message in received]
    return {
        "id": f"chatcmpl-{number}",
        "trace_id": trace or f"t{number}",
        "call_type": "acompletion",
        "status": "success",
        "model": "gpt-4o",
        "prompt_tokens": 40,
        "completion_tokens": 2,
        "model_parameters": {"tools": [{"type": "function", "function": {"name": "bash"}}]},
        "messages": [openai_message(message) for message in sent],
        "response": {"id": f"chatcmpl-{number}", "choices": choices},
    }
