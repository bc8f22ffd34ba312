"""Token counts and limits of message lists."""

from dataclasses import dataclass
from typing import Any

from ctxtrim.api.fit import fitted, read_messages
from ctxtrim.api.messages import PlainMessages, System, Tools
from ctxtrim.api.options import Options, parse_options
from ctxtrim.model import Source, Transcript


@dataclass(frozen=True)
class EnforcedLimit:
    """A new list within a limit, whether it was truncated, and its dropped messages and tokens.

    Each tool result counts as a message.
    """

    messages: list[dict[str, Any]]
    truncated: bool
    dropped_count: int
    token_count: int


def estimate_tokens(
    messages: PlainMessages,
    model: str | None = None,
    *,
    system: System = None,
    tools: Tools = None,
    **options: Any,
) -> int:
    """The tokens of a request: messages, calls, results, framing, system prompt and tools.

    The count is the model's own, or an estimate that is rather too high. `options` are those of
    `count`, such as `tokenizer` and `safety`, the factor for estimates.
    """
    settings = parse_options({"model": model, **options}, "estimate_tokens")
    read = read_messages(messages, system, tools)
    meter = settings.metering.meter(read.transcript)
    return meter.counter.tokens(read.transcript)


def compute_max_input_tokens(config: Options | None = None) -> int:
    """The most tokens of a prompt: context window − reserve, at most the model's max input.

    The default is 123,904.

    Raises `UsageError` if the reserve is as large as the window.
    """
    settings = parse_options(config, "compute_max_input_tokens")
    return settings.metering.meter(Transcript((), Source((), ()))).budget.available


def enforce_context_limit(
    messages: PlainMessages,
    max_input_tokens: int,
    *,
    system: System = None,
    tools: Tools = None,
    **options: Any,
) -> EnforcedLimit:
    """A list of at most `max_input_tokens` tokens. A list that fits is not changed.

    `options` are those of `trim`, and `model` or `tokenizer`. Raises `ContextOverflowError` if no
    such list exists.
    """
    done = fitted(
        messages,
        parse_options({**options, "budget": max_input_tokens}, "enforce_context_limit"),
        system,
        tools,
    )
    return EnforcedLimit(
        done.messages, done.usage.trimmed, done.usage.dropped, done.usage.final_tokens
    )


def trim_conversation(
    messages: PlainMessages,
    target_tokens: int,
    *,
    system: System = None,
    tools: Tools = None,
    **options: Any,
) -> list[dict[str, Any]]:
    """A list of at most `target_tokens` tokens, as from `enforce_context_limit`."""
    settings = parse_options({**options, "budget": target_tokens}, "trim_conversation")
    return fitted(messages, settings, system, tools).messages
