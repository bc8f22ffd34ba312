"""A summary of a list of messages, written by rules or by a summarizer."""

from typing import Unpack

from ctxtrim.api.configs import SummaryConfig
from ctxtrim.api.messages import PlainMessages, RequestFields, System, Tools, conversation
from ctxtrim.api.options import parse_options
from ctxtrim.errors import must_be_summarizer
from ctxtrim.stages.placement.summary_writer import SummaryWriter
from ctxtrim.summaries.summarizer import Summarizer


class ContextSummary(tuple[str, int]):
    """The two values of `summarize_context`, its writer, and why the summarizer failed.

    It unpacks to `summary` and `original_tokens` (of the messages). `by` names the writer;
    `trouble` is None unless the summarizer failed.
    """

    by: str
    trouble: str | None

    def __new__(
        cls, summary: str, original_tokens: int, by: str, trouble: str | None
    ) -> "ContextSummary":
        """The two values and two attributes."""
        values = super().__new__(cls, (summary, original_tokens))
        values.by, values.trouble = by, trouble
        return values

    def __getnewargs__(self) -> tuple[str, int, str, str | None]:
        return (*self, self.by, self.trouble)

    def __repr__(self) -> str:
        return (
            f"ContextSummary(summary={self.summary!r}, original_tokens={self.original_tokens}, "
            f"by={self.by!r}, trouble={self.trouble!r})"
        )

    @property
    def summary(self) -> str:
        """The text; empty if there are no facts, or if it would not be shorter."""
        return self[0]

    @property
    def original_tokens(self) -> int:
        """The tokens of the messages."""
        return self[1]


def summarize_context(
    messages: PlainMessages,
    *,
    system: System = None,
    tools: Tools = None,
    request: RequestFields = None,
    summarizer: Summarizer | None = None,
    **options: Unpack[SummaryConfig],
) -> ContextSummary:
    """The summary of all messages except system messages, never longer than the messages.

    Summaries in the list are merged into the new one.

    Args:
        messages: dicts or SDK objects in the shape of Chat Completions or Anthropic.
        system: Anthropic's system prompt; it is counted, not summarized.
        tools: the tool schemas of the request, which are counted.
        request: further fields of the request, such as `response_format` and `thinking`.
        summarizer: writes the summary. Without it, or if it fails, rules write it.
        **options: `summary_tokens` (at most, by default 1000), `redact`, `model` or `tokenizer`.

    Returns:
        Two values: the text of the summary, and the tokens of the messages.

    Raises:
        InputError: a message cannot be read; the text has its position, from 0.
        UsageError: an option is unknown or invalid.
    """
    settings = parse_options("summarize_context", options)
    must_be_summarizer(summarizer, "summarize_context: summarizer")
    chosen = settings.of_stage("summarize")
    read = conversation(messages, system, tools, request)
    counter = settings.metering.meter(read.transcript).counter
    usable = [message for message in read.transcript.messages if message.role != "system"]
    limit = chosen["summary_tokens"]
    writer = SummaryWriter(counter, limit, summarizer, redacts=chosen["redact"])
    written = writer.of(usable, limit)
    tokens = counter.tokens(read.transcript)
    return ContextSummary(written.text, tokens, written.by, written.trouble)
