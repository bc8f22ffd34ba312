"""Recorded token usage, in the forms that providers and clients write."""

from collections.abc import Iterable, Mapping
from typing import Any

from ctxtrim.formats.fields import string
from ctxtrim.model import Message, Span
from ctxtrim.model.request import Usage

_REASONS = ("stopReason", "stop_reason", "finish_reason", "finishReason")
_BROKEN_OFF = ("error", "aborted", "cancelled", "canceled", "deferred")


def is_complete(answer: Mapping[str, Any]) -> bool:
    """Whether an answer is complete.

    The usage of an interrupted answer does not count its whole prompt.
    """
    for key in _REASONS:
        if key in answer and answer[key] in _BROKEN_OFF:
            return False
    return not (answer.get("error") or answer.get("isApiErrorMessage"))


def answers_by_span(messages: Iterable[Message]) -> dict[Span, int | None]:
    """The index of each answer, by each of its spans."""
    return {
        span: message.index
        for message in messages
        if message.role == "assistant"
        for span in message.spans
    }


def openai_usage(value: Any, message: int | None = None, model: str | None = None) -> Usage | None:
    """`{prompt_tokens, completion_tokens}` (cached tokens included), or `total_tokens` alone."""
    return _usage(value, ("prompt_tokens",), "completion_tokens", message, model)


def responses_usage(
    value: Any, message: int | None = None, model: str | None = None
) -> Usage | None:
    """`{input_tokens, output_tokens}` of OpenAI's Responses; the input includes cached tokens."""
    return _usage(value, ("input_tokens",), "output_tokens", message, model)


def anthropic_usage(value: Any, message: int | None = None) -> Usage | None:
    """`{input_tokens, cache_…_input_tokens, output_tokens}`: three counters of input that do not
    overlap.
    """
    parts = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
    return _usage(value, parts, "output_tokens", message, totals=())


def bedrock_usage(value: Any, message: int | None = None) -> Usage | None:
    """`{inputTokens, cacheRead…, cacheWriteInputTokens, outputTokens}`: three counters of input
    that do not overlap.
    """
    parts = ("inputTokens", "cacheReadInputTokens", "cacheWriteInputTokens")
    return _usage(value, parts, "outputTokens", message, totals=())


def log_usage(request: Mapping[str, Any], response: Mapping[str, Any]) -> Usage | None:
    """The counters next to the bodies of an invocation log of Bedrock: three counters of input that
    do not overlap, and `outputTokenCount`.
    """
    parts = ("inputTokenCount", "cacheReadInputTokenCount", "cacheWriteInputTokenCount")
    return _usage({**request, **response}, parts, "outputTokenCount", None, totals=())


def pi_usage(value: Any, message: int, model: object) -> Usage | None:
    """`{input, output, cacheRead, cacheWrite}`, or `totalTokens` alone: three counters of input
    that do not overlap.
    """
    parts = ("input", "cacheRead", "cacheWrite")
    return _usage(value, parts, "output", message, string(model))


def goose_usage(value: Any, message: int, model: str | None) -> Usage | None:
    """`{inputTokens, outputTokens}` (the input includes cached tokens), or `totalTokens` alone."""
    return _usage(value, ("inputTokens",), "outputTokens", message, model)


def kimi_usage(value: Any, model: str | None) -> Usage | None:
    """`{inputOther, inputCacheRead, inputCacheCreation, output}`: three counters of input that do
    not overlap.
    """
    parts = ("inputOther", "inputCacheRead", "inputCacheCreation")
    return _usage(value, parts, "output", None, model, totals=())


def langfuse_usage(value: Any, model: str | None) -> Usage | None:
    """`{input, input_…, …_input_tokens, output}`: counters of input that do not overlap.

    One with a point is a part of `input`, as in `cache_read.input_tokens` of OpenTelemetry.
    """
    if not isinstance(value, dict):
        return None
    counts = {key: count for key, count in value.items() if type(count) is int}
    whole_counts = {key: count for key, count in counts.items() if "." not in key}
    prompt = sum(count for key, count in whole_counts.items() if "input" in key)
    if not prompt:
        return openai_usage(value, model=model)
    return Usage(prompt, counts.get("output", 0), model=model)


def gemini_usage(value: Any, message: int | None = None, model: str | None = None) -> Usage | None:
    """`{promptTokenCount, candidatesTokenCount, thoughtsTokenCount}`, also in snake case.

    The prompt includes cached tokens. Some clients include thoughts in the candidates. The total,
    if present, shows which.
    """
    if not isinstance(value, dict):
        return None
    prompt, answer, thoughts, total = (
        next((value[key] for key in keys if isinstance(value.get(key), int)), 0) for keys in _GEMINI
    )
    completion = min(answer + thoughts, total - prompt) if total > prompt else answer + thoughts
    if prompt:
        return Usage(prompt, completion, message, model)
    return Usage(0, 0, message, model, total) if total > 0 else None


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
    """The summed `prompt` counters and the answer's counter; else the first of `totals` above 0."""
    if not isinstance(value, dict):
        return None
    if isinstance(value.get(prompt[0]), int):
        tokens = 0
        for key in prompt:
            count = value.get(key)
            if isinstance(count, int):
                tokens += count
        answer = value.get(completion)
        if tokens:
            return Usage(tokens, answer if isinstance(answer, int) else 0, message, model)
    total = next((value[key] for key in totals if isinstance(value.get(key), int)), 0)
    return Usage(0, 0, message, model, total) if total > 0 else None
