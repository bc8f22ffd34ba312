"""The prompt management layer: a list that fits, for every request."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Generic, Unpack

from ctxtrim.api.configs import PromptConfig
from ctxtrim.api.fit import OnUsage, PromptUsage, fitted
from ctxtrim.api.messages import M, PlainConversation, RequestFields, System, Tools, conversation
from ctxtrim.api.options import Settings, parse_options
from ctxtrim.errors import must_be_function, must_be_summarizer, must_be_text
from ctxtrim.summaries.summarizer import Summarizer


@dataclass(frozen=True)
class FinalPrompt(Generic[M]):
    """A list for the next request, its tokens with system prompt and tools, and whether they fit.

    They fit unless the config disables the layer. `summary` covers the messages that were dropped
    from this list and earlier ones: pass it with the next prompt. It knows which they are, so that
    the summarizer is called only for others. It is None if there is none.
    `findings` say, among others, why the summarizer was not used.
    """

    messages: list[M]
    token_count: int
    within_budget: bool
    usage: PromptUsage
    summary: str | None = None
    findings: tuple[str, ...] = ()


def build_final_prompt(  # noqa: PLR0913 - the keywords are public
    messages: Sequence[M],
    config: PromptConfig | None = None,
    *,
    system: System = None,
    tools: Tools = None,
    request: RequestFields = None,
    summarizer: Summarizer | None = None,
    conversation_summary: str | None = None,
    on_usage: OnUsage | None = None,
    **options: Unpack[PromptConfig],
) -> FinalPrompt[M]:
    """A list that fits the budget of the config. A list that fits is not changed.

    Args:
        messages: dicts or SDK objects in the shape of Chat Completions or Anthropic.
        config: keys of `ctxtrim.toml` and of the block `contextManagement`, such as `model`,
            `context_window` and `reserve` in tokens. With `summarize` one summary replaces the
            dropped messages. With `enabled` false the list is only counted.
        system: Anthropic's system prompt, which is counted and never dropped.
        tools: the tool schemas of the request, which are counted.
        request: further fields of the request, such as `response_format` and `thinking`.
        summarizer: writes the summary. Without it, or if it fails, rules write it.
        conversation_summary: the summary of an earlier prompt. It is inserted if there is room,
            and continued if more messages are dropped. A text of your own gets a title. A blank
            text is no summary.
        on_usage: is called with the usage of the prompt, in tokens.
        **options: keys of the config as keywords; they take precedence.

    Returns:
        The new list of dicts, its tokens with system prompt and tools, the summary (the new one,
        else `conversation_summary`), and the findings.

    Raises:
        ContextOverflowError: messages that cannot be dropped exceed the budget. It lists them.
        InputError: a message cannot be read; the text has its position, from 0.
        UsageError: an option is unknown or invalid.
    """
    settings = parse_options("build_final_prompt", config, options)
    if conversation_summary is not None:
        must_be_text(conversation_summary, "build_final_prompt: conversation_summary")
    must_be_summarizer(summarizer, "build_final_prompt: summarizer")
    if on_usage is not None:
        must_be_function(on_usage, "build_final_prompt: on_usage")
    is_blank = conversation_summary is None or not conversation_summary.strip()
    earlier = None if is_blank else conversation_summary
    read = conversation(messages, system, tools, request)
    if settings.is_on:
        prompt = _fitted(read, settings, summarizer, earlier)
    else:
        prompt = _counted(read, settings, earlier)
    if on_usage is not None:
        on_usage(prompt.usage)
    return prompt


def _fitted(
    read: PlainConversation,
    settings: Settings,
    summarizer: Summarizer | None,
    earlier: str | None,
) -> FinalPrompt[Any]:
    """The list that fits, and its summary."""
    done = fitted(read, settings, summarizer, earlier)
    usage = done.usage
    return FinalPrompt(done.messages, usage.final_tokens, True, usage, done.summary, done.findings)


def _counted(read: PlainConversation, settings: Settings, earlier: str | None) -> FinalPrompt[Any]:
    """The unchanged list, its tokens, and the earlier summary."""
    meter = settings.metering.meter(read.transcript)
    tokens, available = meter.counter.tokens(read.transcript), meter.budget.available
    usage = PromptUsage(tokens, tokens, available, trimmed=False, dropped=0)
    messages = read.with_messages(read.transcript)
    return FinalPrompt(messages, tokens, tokens <= available, usage, earlier)
