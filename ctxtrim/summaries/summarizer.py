"""Who writes summaries, and what is done where that goes wrong: the seam to LLMs."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from ctxtrim.errors import SummaryError
from ctxtrim.summaries.excerpts import bounded
from ctxtrim.summaries.prompts import INPUT
from ctxtrim.summaries.redaction import redacted
from ctxtrim.tokens import Tokenizer

REDACT = "Mask what looks like a key in summaries, and in what is sent to be summarized."
"""The help of the setting `redact`."""


@dataclass(frozen=True, slots=True)
class Reply:
    """What a summarizer answered, and the tokens that it was charged for, where it says so."""

    text: str
    prompt_tokens: int | None = None
    completion_tokens: int | None = None


class Summarizer(Protocol):
    """Answers a prompt with a summary."""

    @property
    def name(self) -> str:
        """The name that reports show."""
        ...

    def summarize(self, prompt: str, max_tokens: int) -> Reply:
        """The answer to a prompt, which should have at most `max_tokens` tokens; a `SummaryError` where none came."""
        ...


@dataclass(frozen=True, slots=True)
class Request:
    """What is asked of a summarizer, and what its answer must keep to.

    `prompt` has at most `most_input` characters or is cut; the answer may have `limit` tokens and `most` characters
    (None: as many as it likes), and must have fewer tokens than `replaces`, those of what it stands for. `redacts`:
    secrets are masked in the prompt and in the answer.
    """

    prompt: str
    limit: int
    replaces: int
    tokenizer: Tokenizer
    most: int | None = None
    most_input: int = INPUT
    redacts: bool = True


@dataclass(frozen=True, slots=True)
class Summary:
    """A summary, who wrote it, and why it was not the one who was asked (None: it was). `reply`: what was charged.

    `text` is empty where the fallback had nothing to say either.
    """

    text: str
    by: str
    trouble: str | None = None
    reply: Reply | None = None


FALLBACK = "facts"
"""The name of whoever writes where no summarizer can."""


def summarized(request: Request, summarizer: Summarizer | None, fallback: Callable[[], str]) -> Summary:
    """The summary that a summarizer writes; the fallback's where there is none, it fails or its answer is of no use."""
    if summarizer is None:
        return Summary(fallback(), FALLBACK)
    prompt = bounded(redacted(request.prompt)[0] if request.redacts else request.prompt, request.most_input)
    try:
        reply = summarizer.summarize(prompt, request.limit)
    except SummaryError as error:  # reports and logs show its message, which may quote what the summarizer read
        return Summary(fallback(), FALLBACK, f"{summarizer.name}: {redacted(str(error))[0]}")
    text = (redacted(reply.text)[0] if request.redacts else reply.text).strip()
    trouble = _trouble(request, text)
    if trouble is None:
        return Summary(text, summarizer.name, None, reply)
    return Summary(fallback(), FALLBACK, f"{summarizer.name}: {trouble}", reply)


def _trouble(request: Request, text: str) -> str | None:
    """Why an answer is of no use."""
    if not text:
        return "the summary is empty"
    if request.most is not None and len(text) > request.most:
        return f"the summary has {len(text)} characters, and {request.most} are allowed"
    tokens = request.tokenizer.count(text)
    if tokens >= request.replaces:
        return f"the summary has {tokens} tokens, and what it replaces has {request.replaces}"
    if tokens > request.limit:
        return f"the summary has {tokens} tokens, and {request.limit} are allowed"
    return None
