"""The protocol of summarizers, the seam to LLMs, and the fallback if one fails."""

from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Literal, Protocol

from msgspec import Struct

from ctxtrim.errors import SummaryError
from ctxtrim.summaries.excerpts import bounded
from ctxtrim.summaries.markers import unmarked
from ctxtrim.summaries.prompts import MAX_PROMPT
from ctxtrim.summaries.redaction import redacted
from ctxtrim.tokens.tokenizer import Tokenizer, without_lone_surrogates


@dataclass(frozen=True, slots=True)
class Reply:
    """The answer of a summarizer, and the tokens that it reports."""

    text: str
    prompt_tokens: int | None = None
    completion_tokens: int | None = None


class Summarizer(Protocol):
    """A service that answers a prompt with a summary."""

    @property
    def name(self) -> str:
        """The name in reports."""
        ...

    def summarize(self, prompt: str, max_tokens: int) -> Reply | str:
        """The answer to a prompt, of at most `max_tokens` tokens.

        After any exception, rules write the summary; reports show its message.
        """
        ...


@dataclass(frozen=True, slots=True)
class SummaryRequest:
    """A prompt for a summarizer and the limits of its answer.

    `prompt` is cut to `MAX_PROMPT` characters. The answer may have `limit` tokens and `max_chars`
    characters (None: any number), and must have fewer tokens than the text that it replaces
    (`replaces`). `redacts`: mask secrets in prompt and answer.
    """

    prompt: str
    limit: int
    replaces: int
    tokenizer: Tokenizer
    redacts: bool
    max_chars: int | None = None


class Summary(Struct, frozen=True):
    """A summary, its author, and why the summarizer did not write it (None: it did).

    `text` is empty if the fallback is empty too. `origin`: a summarizer may have any name.
    """

    text: str
    by: str
    trouble: str | None = None
    origin: Literal["rules", "store", "model"] = "rules"


FALLBACK = "facts"
"""The author of a summary that no summarizer wrote."""


def name_of(summarizer: Summarizer) -> str:
    """The name of a summarizer in reports; that of its type if it has none that can be read."""
    try:
        return str(summarizer.name)
    except Exception:  # noqa: BLE001 - programs bring their own
        return type(summarizer).__name__


def summarized(
    request: SummaryRequest, summarizer: Summarizer, fallback: Callable[[], str]
) -> Summary:
    """The summary by a summarizer; the fallback if it fails or its answer breaks a limit."""
    name = name_of(summarizer)
    prompt = bounded(redacted(request.prompt, request.redacts), MAX_PROMPT)
    try:
        reply = _reply(summarizer.summarize(prompt, request.limit))
    except Exception as error:  # noqa: BLE001 - programs bring their own, and rules always work
        # the message may quote the prompt, and reports show it
        return Summary(fallback(), FALLBACK, f"{name}: {redacted(_message(error))}")
    text = unmarked(redacted(without_lone_surrogates(reply.text), request.redacts))
    trouble = _trouble(request, text)
    if trouble is None:
        return Summary(text, name, origin="model")
    return Summary(fallback(), FALLBACK, f"{name}: {trouble}")


def _message(error: Exception) -> str:
    """The message of an exception, with its type unless it is a `SummaryError`."""
    try:
        text = str(error)
    except Exception:  # noqa: BLE001 - programs bring their own
        return type(error).__name__
    return text if isinstance(error, SummaryError) else f"{type(error).__name__}: {text}"


def _reply(answer: object) -> Reply:
    """The reply of a summarizer, which may be only its text; a `SummaryError` for other values."""
    if isinstance(answer, Coroutine):
        answer.close()  # else Python warns that nothing awaits it
        raise SummaryError("expected a Reply or a text, found a coroutine; define it with `def`")
    reply = Reply(answer) if isinstance(answer, str) else answer
    if not isinstance(reply, Reply):
        raise SummaryError(f"expected a Reply or a text, found {type(answer).__name__}")
    if not isinstance(reply.text, str):
        raise SummaryError(f"expected a Reply with a text, found {type(reply.text).__name__}")
    return reply


def _trouble(request: SummaryRequest, text: str) -> str | None:
    """Why an answer is rejected."""
    if not text:
        return "the summary is empty"
    if request.max_chars is not None and len(text) > request.max_chars:
        return f"the summary has {len(text):,} characters, and {request.max_chars:,} are allowed"
    tokens = request.tokenizer.count(text)
    if tokens >= request.replaces:
        return f"the summary has {tokens:,} tokens, the messages it replaces {request.replaces:,}"
    if tokens > request.limit:
        return f"the summary has {tokens:,} tokens, and {request.limit:,} are allowed"
    return None
