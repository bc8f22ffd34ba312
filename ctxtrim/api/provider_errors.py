"""Whether an error says that a prompt was too long, whoever raised it."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from ctxtrim.errors import ContextOverflowError

_DEPTH = 8  # errors behind an error that are looked at
_LONG = 20_000  # characters of what an error says
_CODES = frozenset((
    "context_length_exceeded", "context_window_exceeded", "model_context_window_exceeded", "max_tokens_exceeded",
    "string_above_max_length", "contextwindowexceedederror", "contextlengthexceedederror", "contextoverflowerror",
    "exceed_context_size_error",
))  # fmt: skip
"""Codes and types of errors, in lower case, that mean nothing else."""

# What providers and servers say. OpenAI: maximum context length is …; Anthropic: prompt is too long: … tokens > …
# maximum, input length and `max_tokens` exceed context limit; Gemini: the input token count (…) exceeds the maximum;
# Bedrock: input is too long for requested model, too many input tokens; vLLM: the decoder prompt is longer than the
# maximum model length; llama.cpp: exceeds the available context size; Groq: reduce the length of the messages; xAI:
# maximum prompt length.
_TEXT = re.compile(
    r"context[ _-]?(?:length|window|limit|size)"
    r"|(?:maximum|max|model'?s?|available|total) context\b"
    r"|context_length_exceeded"
    r"|exceeds? (?:the )?(?:available |maximum )?context"
    r"|(?:prompt|input|request|conversation|messages?)(?: \w+)? (?:is|are|was) (?:too long|too large for)"
    r"|too many (?:input |prompt |total )?tokens"
    r"|(?:token|input) (?:count|limit|length)\b[^.]{0,40}\bexceed"
    r"|(?:tokens?|prompt|input)\b[^.]{0,80}\bexceeds? (?:the )?(?:model'?s? )?(?:maximum|max|limit)"
    r"|exceed(?:s|ed)? (?:the )?(?:maximum|max)[^.]{0,40}\btokens?"
    r"|token limit (?:was )?exceeded"
    r"|(?:maximum|max) (?:prompt|input|model|sequence) (?:length|tokens?)"
    r"|reduce the length of (?:the|your) (?:messages|prompt|input)",
    re.IGNORECASE,
)
_OTHER = re.compile(
    r"rate[ _-]?limit|(?:tokens|requests)[ _-]per[ _-](?:min|hour|day|second)|too many requests|\b[TR]P[DM]\b"
    r"|\bquota\b|throttl|try again (?:in|later)|retry after",
    re.IGNORECASE,
)
_OTHER_CODES = frozenset(("rate_limit_exceeded", "rate_limit_error", "insufficient_quota", "tokens", "requests"))
_CODE_KEYS = ("code", "type", "error_type")
_RATE = 429


def is_context_length_exceeded(error: BaseException) -> bool:
    """Whether an error, or one that it was raised from, says that the prompt was too long for the model.

    It is told by its type or its code, else by its text; errors of clients are looked at by their attributes
    (`code`, `type`, `status_code`, `body`). A limit of tokens in a minute is another thing.
    """
    return any(map(_says, _behind(error)))


def _behind(error: BaseException) -> Iterator[BaseException]:
    """An error and those that it came from."""
    seen: list[BaseException] = []
    waiting = [error]
    while waiting and len(seen) < _DEPTH:
        one = waiting.pop(0)
        if any(one is other for other in seen):
            continue
        seen.append(one)
        yield one
        if isinstance(one, BaseExceptionGroup):
            waiting += one.exceptions
        behind = one.__cause__ or (None if one.__suppress_context__ else one.__context__)
        waiting += [behind] if behind is not None else []


def _says(error: BaseException) -> bool:
    if isinstance(error, ContextOverflowError):
        return True
    codes = {one.lower() for key, one in _told(error) if key in _CODE_KEYS} | {type(error).__name__.lower()}
    if codes & _CODES:
        return True
    text = "\n".join(_texts(error))
    if getattr(error, "status_code", None) == _RATE or codes & _OTHER_CODES or _OTHER.search(text):
        return False
    return _TEXT.search(text) is not None


def _texts(error: BaseException) -> Iterator[str]:
    """What an error says."""
    yield str(error)[:_LONG]
    yield from (one[:_LONG] for key, one in _told(error) if key == "message")


def _told(error: BaseException) -> Iterator[tuple[str, str]]:
    """The texts among its attributes and in what the provider answered, by their names."""
    yield from _members(getattr(error, "__dict__", {}))


def _members(value: Any, depth: int = 0) -> Iterator[tuple[str, str]]:
    """The texts in what a provider answered, under the keys that stand right above them."""
    if isinstance(value, Mapping) and depth < 3:
        for key, one in value.items():
            if isinstance(one, str):
                yield str(key), one
            elif key in ("error", "body", "detail"):
                yield from _members(one, depth + 1)


_WINDOW = re.compile(
    r"(?:maximum|max|limit|context (?:size|window|length))[^\d.]{0,40}?(\d[\d,]{2,})"
    r"|(\d[\d,]{2,}) (?:tokens )?(?:maximum|limit)",
    re.IGNORECASE,
)


def stated_window(error: BaseException) -> int | None:
    """The smallest number of tokens that an error names as what the model can hold; None where it names none."""
    found = [
        int((match[1] or match[2]).replace(",", ""))
        for one in _behind(error)
        for text in _texts(one)
        for match in _WINDOW.finditer(text)
    ]
    return min(found, default=None)
