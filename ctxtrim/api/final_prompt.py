"""The prompt management layer: called before every request, it gives a list that fits, or says what does not."""

from dataclasses import dataclass
from typing import Any

from ctxtrim.api.fit import Beside, OnUsage, PromptUsage, fitted, understood
from ctxtrim.api.messages import PlainMessages, System, Tools
from ctxtrim.api.options import Options, settings
from ctxtrim.summaries import Summarizer


@dataclass(frozen=True)
class FinalPrompt:
    """A new list for the next request, its tokens with all that is sent beside it, and whether they are in the budget.

    They are, unless the config says that the layer is not enabled. `summary` is what was put in the place of messages
    that went, to be given back with the next prompt; None where none was written.
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
    """A list that fits what the config leaves for the prompt; what fits already is not changed.

    The config has the keys of configuration files, and those of the block `contextManagement`. `system` is a prompt
    beside Anthropic's messages, which always stays; `tools` are the schemas that will be sent. With `summarize` (or
    `summarizeOnTruncate`) one summary stands for what went, of facts or by the summarizer; `conversation_summary` is
    the one of an earlier prompt, which is put back where there is room and continued where more goes. `on_usage` is
    told what the prompt took. A `ContextOverflowError` names what could not go.
    """
    asked = settings(config, "build_final_prompt")
    if asked.is_on:
        done = fitted(messages, asked, system, tools, Beside(summarizer, conversation_summary))
        written = done.summary.text if done.summary is not None else None
        prompt = FinalPrompt(done.messages, done.usage.final_tokens, True, done.usage, written)
    else:
        read = understood(messages, system, tools)
        bound = asked.binding.bind(read.transcript)
        tokens, most = bound.counter.tokens(read.transcript), bound.budget.available
        usage = PromptUsage(tokens, tokens, most, trimmed=False, dropped=0)
        prompt = FinalPrompt(read.with_messages(read.transcript), tokens, tokens <= most, usage)
    if on_usage is not None:
        on_usage(prompt.usage)
    return prompt
