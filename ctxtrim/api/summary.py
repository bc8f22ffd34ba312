"""A summary of a list of messages, written by rules or by a summarizer."""

from dataclasses import dataclass
from typing import Any

from ctxtrim.api.fit import read_messages
from ctxtrim.api.messages import PlainMessages, System, Tools
from ctxtrim.api.options import parse_options
from ctxtrim.placement.summary import SummaryWriter
from ctxtrim.summaries import Summarizer


@dataclass(frozen=True)
class ContextSummary:
    """A summary, its writer, the tokens of the messages, and why the summarizer failed, if so.

    `summary` is empty if there are no facts, or if it would not be shorter.
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
    """The summary of all messages except system messages, never longer than the messages.

    `options` are those of `summarize`, such as `summary_tokens` (1000) and `redact`, and `model` or
    `tokenizer`. If the summarizer fails, rules write the summary. Summaries in the list are merged
    into the new one.
    """
    settings = parse_options(options, "summarize_context")
    chosen = settings.of_stage("summarize")
    read = read_messages(messages, system, tools)
    counter = settings.metering.meter(read.transcript).counter
    usable = [message for message in read.transcript.messages if message.role != "system"]
    most = chosen["summary_tokens"]
    written = SummaryWriter(counter, most, summarizer, chosen["redact"]).of(usable, most)
    tokens = counter.tokens(read.transcript)
    return ContextSummary(written.text, tokens, written.by, written.trouble)
