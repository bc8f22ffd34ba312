"""Splits a plain conversation into the requests of a trace, as an agent loop sends them."""

from typing import Any

Talk = list[dict[str, Any]]


def split(talk: Talk) -> tuple[Talk, Talk]:
    """What was sent, and the answer: the last message if it is the model's."""
    is_answered = bool(talk) and talk[-1]["role"] == "assistant"
    return (talk[:-1], talk[-1:]) if is_answered else (talk, [])


def growing(talk: Talk) -> list[Talk]:
    """The conversation up to each answer of the model."""
    return [
        talk[: position + 1]
        for position, message in enumerate(talk)
        if message["role"] == "assistant"
    ]
