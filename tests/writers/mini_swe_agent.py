"""A plain conversation as a trajectory of mini-swe-agent's Responses models."""

from typing import Any

from writers.openai_responses import items


def trajectory(talk: list[dict[str, Any]], number: int = 0) -> dict[str, Any]:
    """A trajectory. The items of an answer are those of its response."""
    values = [value for message in talk for value in _elements(message, len(talk) + number)]
    exit_message = {"role": "exit", "content": "Done.", "extra": {"exit_status": "Submitted"}}
    return {
        "info": {"config": {"model": {"model_name": "openai/gpt-5"}}},
        "messages": [*values, exit_message],
        "trajectory_format": "mini-swe-agent-1.1",
    }


def _elements(message: dict[str, Any], number: int) -> list[dict[str, Any]]:
    if message["role"] == "assistant":
        return [_response(message, number)]
    extra = {"extra": {"raw_output": "raw", "timestamp": 1.10}}
    return [value | extra for value in items([message])]


def _response(message: dict[str, Any], number: int) -> dict[str, Any]:
    output = items([message])
    if number % 2:
        thought = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAA"}
        output = [thought, *output]
    return {
        "id": "resp_1",
        "object": "response",
        "model": "gpt-5",
        "output": output,
        "tools": [{"type": "function", "name": "bash"}],
        "usage": {"input_tokens": 9, "output_tokens": 2},
        "extra": {"actions": [], "cost": 0.01},
    }
