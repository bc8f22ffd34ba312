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
    """A summary, the tokens of the summarized messages, its writer, and why the summarizer failed
    (None: it did not).

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
    said = settings.of_stage("summarize")
    read = read_messages(messages, system, tools)
    counter = settings.binding.bind(read.transcript).counter
    usable = [message for message in read.transcript.messages if message.role != "system"]
    found = SummaryWriter(counter, said["summary_tokens"], summarizer, said["redact"]).of(
        usable, said["summary_tokens"]
    )
    return ContextSummary(found.text, counter.tokens(read.transcript), found.by, found.trouble)
