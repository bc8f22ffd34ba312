"""The prompt management layer: a list that fits, for every request."""

from dataclasses import dataclass
from typing import Any

from ctxtrim.api.fit import OnUsage, PromptUsage, fitted, read_messages
from ctxtrim.api.messages import PlainMessages, System, Tools
from ctxtrim.api.options import Options, parse_options
from ctxtrim.summaries import Summarizer


@dataclass(frozen=True)
class FinalPrompt:
    """A list for the next request, its tokens with system prompt and tools, and whether they fit.

    They fit unless the config disables the layer. `summary` replaces the dropped messages: pass it
    with the next prompt; None if no summary was written.
    """

    messages: list[dict[str, Any]]
    token_count: int
    within_budget: bool
    usage: PromptUsage
    summary: str | None = None


def build_final_prompt(
    messages: PlainMessages,
    config: Options | None = None,
    *,
    system: System = None,
    tools: Tools = None,
    summarizer: Summarizer | None = None,
    conversation_summary: str | None = None,
    on_usage: OnUsage | None = None,
) -> FinalPrompt:
    """A list that fits the budget of the config. A list that fits is not changed.

    The config has the keys of configuration files and of the block `contextManagement`. `system` is
    Anthropic's system prompt, which is never dropped; `tools` are the schemas of the request. With
    `summarize` (or `summarizeOnTruncate`) one summary replaces the dropped messages, written by
    rules or by the summarizer. `conversation_summary` is the summary of an earlier prompt: it is
    inserted if there is room, and continued if more messages are dropped. `on_usage` is called with
    the usage. Raises `ContextOverflowError` with the messages that cannot be dropped.
    """
    settings = parse_options(config, "build_final_prompt")
    if settings.is_on:
        done = fitted(messages, settings, system, tools, summarizer, conversation_summary)
        written = done.summary.text if done.summary is not None else None
        prompt = FinalPrompt(done.messages, done.usage.final_tokens, True, done.usage, written)
    else:
        read = read_messages(messages, system, tools)
        meter = settings.metering.meter(read.transcript)
        tokens, most = meter.counter.tokens(read.transcript), meter.budget.available
        usage = PromptUsage(tokens, tokens, most, trimmed=False, dropped=0)
        prompt = FinalPrompt(read.with_messages(read.transcript), tokens, tokens <= most, usage)
    if on_usage is not None:
        on_usage(prompt.usage)
    return prompt
