"""Token counts that providers reported and files recorded, in the spellings there are."""

from collections.abc import Mapping
from typing import Any

from ctxtrim.model import Usage

_REASONS = ("stopReason", "stop_reason", "finish_reason", "finishReason")
_BROKEN_OFF = ("error", "aborted", "cancelled", "canceled", "deferred")


def is_complete(answer: Mapping[str, Any]) -> bool:
    """Whether an answer came to its end. What an interrupted one recorded as its usage is no count of its prompt."""
    is_broken_off = any(answer.get(key) in _BROKEN_OFF for key in _REASONS)
    return not (is_broken_off or answer.get("error") or answer.get("isApiErrorMessage"))


def openai_usage(value: Any, message: int | None = None) -> Usage | None:
    """`{prompt_tokens, completion_tokens}`, or `total_tokens` alone; the prompt includes cached tokens."""
    return _usage(value, ("prompt_tokens",), "completion_tokens", message)


def responses_usage(value: Any, message: int | None = None) -> Usage | None:
    """`{input_tokens, output_tokens}` as OpenAI's Responses have them; the input includes what was cached."""
    return _usage(value, ("input_tokens",), "output_tokens", message)


def anthropic_usage(value: Any, message: int | None = None) -> Usage | None:
    """`{input_tokens, cache_…_input_tokens, output_tokens}`: three counters of input that do not overlap."""
    parts = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
    return _usage(value, parts, "output_tokens", message, totals=())


def pi_usage(value: Any, message: int, model: object) -> Usage | None:
    """`{input, output, cacheRead, cacheWrite}`, or `totalTokens` alone: three counters of input that do not overlap."""
    named = model if isinstance(model, str) else None
    return _usage(value, ("input", "cacheRead", "cacheWrite"), "output", message, named)


def gemini_usage(value: Any, message: int | None = None) -> Usage | None:
    """`{promptTokenCount, candidatesTokenCount, thoughtsTokenCount}`, also in snake case; what was cached is included.

    Some clients count the thoughts among the candidates too: the total, where there is one, says which.
    """
    if not isinstance(value, dict):
        return None
    prompt, answer, thoughts, total = (
        next((value[key] for key in keys if isinstance(value.get(key), int)), 0) for keys in _GEMINI
    )
    completion = min(answer + thoughts, total - prompt) if total > prompt else answer + thoughts
    if prompt:
        return Usage(prompt, completion, message)
    return Usage(0, 0, message, total_tokens=total) if total > 0 else None


_GEMINI = (
    ("promptTokenCount", "prompt_token_count", "input"),
    ("candidatesTokenCount", "candidates_token_count", "output"),
    ("thoughtsTokenCount", "thoughts_token_count", "thoughts"),
    ("totalTokenCount", "total_token_count", "total"),
)


def _usage(
    value: Any,
    prompt: tuple[str, ...],
    completion: str,
    message: int | None,
    model: str | None = None,
    totals: tuple[str, ...] = ("totalTokens", "total_tokens"),
) -> Usage | None:
    """The counters of `prompt`, which add up, and of the answer; else the first of `totals`, which is not 0."""
    if not isinstance(value, dict):
        return None
    if isinstance(value.get(prompt[0]), int):
        tokens = sum(value[key] for key in prompt if isinstance(value.get(key), int))
        answer = value.get(completion)
        if tokens:
            return Usage(tokens, answer if isinstance(answer, int) else 0, message, model)
    total = next((value[key] for key in totals if isinstance(value.get(key), int)), 0)
    return Usage(0, 0, message, model, total) if total > 0 else None
