"""A summary of a list of messages: facts in the words that were used, or what a summarizer writes."""

from dataclasses import dataclass
from typing import Any

from ctxtrim.api.fit import understood
from ctxtrim.api.messages import PlainMessages, System, Tools
from ctxtrim.api.options import settings
from ctxtrim.placement import SummaryWriter
from ctxtrim.summaries import Summarizer


@dataclass(frozen=True)
class ContextSummary:
    """A summary and the tokens of what it is of; who wrote it, and why it was not the summarizer (None: it was).

    `summary` is empty where nothing is to be told, or it would not be shorter.
    """

    summary: str
    original_tokens: int
    by: str
    trouble: str | None


def summarize_context(
    messages: PlainMessages,
    *,
    system: System = None,
    tools: Tools = None,
    summarizer: Summarizer | None = None,
    **options: Any,
) -> ContextSummary:
    """The summary of all messages but system messages, never longer than they are.

    `options` are those of `summarize`, such as `summary_tokens` (1000) and `redact`, and `model` or `tokenizer`. Where
    the summarizer fails, facts take its place. Summaries in the list are merged into the new one.
    """
    asked = settings(options, "summarize_context")
    said = asked.of_stage("summarize")
    read = understood(messages, system, tools)
    counter = asked.binding.bind(read.transcript).counter
    told = [message for message in read.transcript.messages if message.role != "system"]
    found = SummaryWriter(counter, said["summary_tokens"], summarizer, said["redact"]).of(told, said["summary_tokens"])
    return ContextSummary(found.text, counter.tokens(read.transcript), found.by, found.trouble)
