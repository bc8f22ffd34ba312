"""Recognizes the errors with which providers and clients report that a prompt is too long."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from ctxtrim.api.overflow import ContextOverflowError

_DEPTH = 8  # errors of a chain that are examined
_LONG = 20_000  # characters of a message that are examined
_CODES = frozenset((
    "context_length_exceeded", "context_window_exceeded", "model_context_window_exceeded",
    "max_tokens_exceeded", "string_above_max_length", "contextwindowexceedederror",
    "contextlengthexceedederror", "contextoverflowerror", "exceed_context_size_error",
    "tokens_limit_reached",
))  # fmt: skip
"""Codes and types of errors, in lower case, that have no other meaning."""

# Messages of providers and servers. OpenAI: maximum context length is …; Anthropic: prompt is too
# long: … tokens > … maximum, input length and `max_tokens` exceed context limit; Gemini: the input
# token count (…) exceeds the maximum; Bedrock: input is too long for requested model, too many
# input tokens; vLLM: the decoder prompt is longer than the maximum model length; llama.cpp: exceeds
# the available context size; Groq: reduce the length of the messages; xAI: maximum prompt length;
# Moonshot: exceeded model token limit; GitHub Models: request body too large, max size … tokens;
# TGI: `inputs` tokens + `max_new_tokens` must be <= …, `inputs` must have less than … tokens.
_TEXT = re.compile(
    r"context[ _-]?(?:length|window|limit|size)"
    r"|(?:maximum|max|model'?s?|available|total) context\b"
    r"|context_length_exceeded"
    r"|exceeds? (?:the )?(?:available |maximum )?context"
    r"|(?:prompt|input|request|conversation|messages?)(?: \w+)? (?:is|are|was)"
    r" (?:too long|too large for)"
    r"|too many (?:input |prompt |total )?tokens"
    r"|(?:token|input) (?:count|limit|length)\b[^.]{0,40}\bexceed"
    r"|(?:tokens?|prompt|input)\b[^.]{0,80}\bexceeds? (?:the )?(?:model'?s? )?(?:maximum|max|limit)"
    r"|exceed(?:s|ed)? (?:the )?(?:maximum|max)[^.]{0,40}\btokens?"
    r"|token limit (?:was )?exceeded"
    r"|(?:maximum|max) (?:prompt|input|model|sequence) (?:length|tokens?)"
    r"|reduce the length of (?:the|your) (?:messages|prompt|input)"
    r"|exceed(?:s|ed)? (?:the )?model'?s? token limit"
    r"|too large for [^\n]{1,80} model\. max size: \d+ tokens"
    r"|`inputs` (?:tokens \+ `max_new_tokens` must be|must have less than)",
    re.IGNORECASE,
)
_OTHER = re.compile(
    r"rate[ _-]?limit|(?:tokens|requests)[ _-]per[ _-](?:min|hour|day|second)"
    r"|too many requests|\b[TR]P[DM]\b"
    r"|\bquota\b|throttl|try again (?:in|later)|retry after"
    # the answer is too long: Groq, Bedrock
    r"|(?<!\+ `)\bmax_(?:\w{1,20}_)?tokens`? must be (?:less|<=)|maximum tokens you requested",
    re.IGNORECASE,
)
_OTHER_CODES = frozenset(
    ("rate_limit_exceeded", "rate_limit_error", "insufficient_quota", "tokens", "requests")
)
_CODE_KEYS = ("code", "type", "error_type")
_ATTRIBUTES = (*_CODE_KEYS, "message", "error", "body", "detail")
"""Attributes that may be of the class, or properties."""
_RATE = 429


def is_context_length_exceeded(error: BaseException) -> bool:
    """Whether an error, or one that caused it, reports that the prompt is too long.

    The type and the code decide, else the text. Code and text come from the attributes of client
    errors (`code`, `type`, `status_code`, `body`). Rate limits, such as tokens per minute, are
    different errors.

    Args:
        error: an exception of a client of a provider, or of any other library.

    Returns:
        True for a context-length error; false for a value that is no exception. Nothing is raised.
    """
    return isinstance(error, BaseException) and any(map(_is_too_long, _chain(error)))


def _chain(error: BaseException) -> Iterator[BaseException]:
    """An error, its causes, and the errors of exception groups."""
    seen: list[BaseException] = []
    pending = [error]
    while pending and len(seen) < _DEPTH:
        current = pending.pop(0)
        if any(current is other for other in seen):
            continue
        seen.append(current)
        yield current
        if isinstance(current, BaseExceptionGroup):
            pending += current.exceptions
        cause = current.__cause__ or (None if current.__suppress_context__ else current.__context__)
        if cause is not None:
            pending.append(cause)


def _is_too_long(error: BaseException) -> bool:
    if isinstance(error, ContextOverflowError):
        return True
    codes = {text.lower() for key, text in _details(error) if key in _CODE_KEYS} | {
        type(error).__name__.lower()
    }
    if codes & _CODES:
        return True
    text = "\n".join(_texts(error))
    if _attribute(error, "status_code") == _RATE or codes & _OTHER_CODES or _OTHER.search(text):
        return False
    return _TEXT.search(text) is not None


def _texts(error: BaseException) -> Iterator[str]:
    """The messages of an error."""
    yield str(error)[:_LONG]
    yield from (text[:_LONG] for key, text in _details(error) if key == "message")


def _details(error: BaseException) -> Iterator[tuple[str, str]]:
    """The names and texts of the attributes of an error, and of the response in them."""
    named = {name: _attribute(error, name) for name in _ATTRIBUTES}
    yield from _members(named | vars(error))


def _attribute(error: BaseException, name: str) -> Any:
    """An attribute of an error; None if it is missing or its property fails."""
    try:
        return getattr(error, name, None)
    except Exception:  # noqa: BLE001 - code of other libraries, such as of a closed client
        return None


def _members(value: Any, depth: int = 0) -> Iterator[tuple[str, str]]:
    """The keys and texts of a response, including those of nested errors."""
    if isinstance(value, Mapping) and depth < 3:
        for key, inner in value.items():
            if isinstance(inner, str):
                yield str(key), inner
            elif key in ("error", "body", "detail"):
                yield from _members(inner, depth + 1)


# A number is the size of a request if another one follows in a sum or a comparison.
_NUMBER = (
    r"(?<![\w-])(\d[\d,]{0,15}(?:\.\d{1,3})?)(?: ?([km]))?\b( tokens?\b)?"
    r"(?! ?(?:tokens? ?)?[+>])"
)
_WINDOWS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"(?:maximum|max(?!_(?:\w{1,20}_)?tokens)|limit|context (?:size|window|length))"
        rf"[^\d.]{{0,40}}?{_NUMBER}",
        rf"{_NUMBER} (?:context )?(?:maximum|limit|window)\b",
        rf"(?:less than|must be <=) {_NUMBER}",
    )
)
_COMPARED = re.compile(rf"[\d,] ?(?:tokens? )?> ?{_NUMBER}", re.IGNORECASE)
# MiniMax: context window exceeds limit (2013)
_CODE_AFTER_LIMIT = re.compile(r"\blimit \([\d,]+\)", re.IGNORECASE)
_FACTORS = {"": 1, "k": 1000, "m": 1_000_000}
_SMALLEST = 100  # tokens
_FAR_BELOW = 10  # times smaller than the refused prompt


def stated_window(error: BaseException, prompt_tokens: int = 0) -> int | None:
    """The smallest context window that an error names, in tokens; None if it names no window.

    A number far below `prompt_tokens`, the size of the refused prompt, is a window only if the text
    calls it tokens or compares the prompt with it.
    """
    least = prompt_tokens // _FAR_BELOW
    texts = [text for current in _chain(error) for text in _texts(current)]
    windows = [
        tokens
        for text in texts
        for tokens, is_certain in _numbers(_CODE_AFTER_LIMIT.sub("limit", text))
        if tokens >= _SMALLEST and (is_certain or tokens >= least)
    ]
    return min(windows, default=None)


def _numbers(text: str) -> Iterator[tuple[int, bool]]:
    """The numbers in a text that may be windows, and whether nothing else can be meant."""
    for pattern in (*_WINDOWS, _COMPARED):
        for number, suffix, unit in pattern.findall(text):
            tokens = float(number.replace(",", "")) * _FACTORS[suffix.lower()]
            yield int(tokens), bool(unit) or pattern is _COMPARED
