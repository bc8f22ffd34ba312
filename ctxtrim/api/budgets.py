"""Token counts and limits of message lists."""

from collections.abc import Sequence
from typing import Generic, Unpack

from ctxtrim.api.configs import CountConfig, PromptConfig, TrimConfig
from ctxtrim.api.fit import fitted
from ctxtrim.api.messages import M, PlainMessages, RequestFields, System, Tools, conversation
from ctxtrim.api.options import Settings, parse_options
from ctxtrim.config import mappings
from ctxtrim.config.source import SettingsSource
from ctxtrim.errors import UsageError, must_be_whole
from ctxtrim.model import Source, Transcript


class EnforcedLimit(tuple[list[M], bool, int], Generic[M]):
    """The three values of `enforce_context_limit`, and the tokens of the new list.

    It unpacks to `messages`, `truncated` (whether the list differs from the given one) and
    `dropped_count` (messages; each tool result counts as a message). `token_count` includes system
    prompt, tools and framing.
    """

    token_count: int

    def __new__(
        cls, messages: list[M], truncated: bool, dropped_count: int, token_count: int
    ) -> "EnforcedLimit[M]":
        """The three values and an attribute."""
        values = super().__new__(cls, (messages, truncated, dropped_count))
        values.token_count = token_count
        return values

    def __getnewargs__(self) -> tuple[list[M], bool, int, int]:
        return (*self, self.token_count)

    def __repr__(self) -> str:
        return (
            f"EnforcedLimit(messages=[{len(self.messages)} messages], truncated={self.truncated}, "
            f"dropped_count={self.dropped_count}, token_count={self.token_count})"
        )

    @property
    def messages(self) -> list[M]:
        """The new list."""
        return self[0]

    @property
    def truncated(self) -> bool:
        """Whether the new list differs from the given one."""
        return self[1]

    @property
    def dropped_count(self) -> int:
        """The number of dropped messages."""
        return self[2]


def estimate_tokens(
    messages: PlainMessages,
    model: str | None = None,
    *,
    system: System = None,
    tools: Tools = None,
    request: RequestFields = None,
    **options: Unpack[CountConfig],
) -> int:
    """The tokens of a request: messages, calls, results, framing, system prompt and tools.

    The count is the model's own, or an estimate that is rather too high.

    Args:
        messages: dicts or SDK objects in the shape of Chat Completions or Anthropic.
        model: selects the tokenizer; without it, `o200k_base` counts.
        system: Anthropic's system prompt, a text or blocks.
        tools: the tool schemas of the request.
        request: further fields of the request, such as `response_format` and `thinking`.
        **options: `tokenizer`. `safety` divides budgets, so it has no effect on a count.

    Returns:
        The number of tokens.

    Raises:
        InputError: a message cannot be read; the text has its position, from 0.
        UsageError: an option is unknown or invalid.
    """
    settings = parse_options("estimate_tokens", {"model": model, **options})
    read = conversation(messages, system, tools, request)
    meter = settings.metering.meter(read.transcript)
    return meter.counter.tokens(read.transcript)


def compute_max_input_tokens(
    config: PromptConfig | None = None, **options: Unpack[PromptConfig]
) -> int:
    """The most tokens of a prompt: context window - reserve, at most the model's max input.

    Args:
        config: `model`, `context_window`, `reserve` or `budget`, in tokens. Without
            `context_window`, the window is that of the model, at most 128,000; an unknown model is
            no error, and has 128,000.
        **options: the same keys as keywords; they take precedence.

    Returns:
        The number of tokens, by default 123,904.

    Raises:
        UsageError: an option is unknown or invalid, or the reserve is as large as the window.
    """
    settings = parse_options("compute_max_input_tokens", config, options)
    return settings.metering.meter(Transcript((), Source((), ()))).budget.available


def enforce_context_limit(
    messages: Sequence[M],
    max_input_tokens: int,
    *,
    system: System = None,
    tools: Tools = None,
    request: RequestFields = None,
    **options: Unpack[TrimConfig],
) -> EnforcedLimit[M]:
    """A list of at most `max_input_tokens` tokens. A list that fits is not changed.

    Args:
        messages: dicts or SDK objects in the shape of Chat Completions or Anthropic.
        max_input_tokens: the most tokens of messages, system prompt, tools and framing.
        system: Anthropic's system prompt, which is counted and never dropped.
        tools: the tool schemas of the request, which are counted.
        request: further fields of the request, such as `response_format` and `thinking`.
        **options: `model` or `tokenizer`, and the settings of `trim`.

    Returns:
        Three values: the new list, whether it differs, and the number of dropped messages. Its
        `token_count` is the tokens of the new list. Messages are dicts, also those of SDK objects.

    Raises:
        ContextOverflowError: messages that cannot be dropped exceed the limit.
        InputError: a message cannot be read; the text has its position, from 0.
        UsageError: an option is unknown or invalid.
    """
    settings = _limited("enforce_context_limit", "max_input_tokens", max_input_tokens, options)
    done = fitted(conversation(messages, system, tools, request), settings)
    usage = done.usage
    return EnforcedLimit(done.messages, usage.trimmed, usage.dropped, usage.final_tokens)


def trim_conversation(
    messages: Sequence[M],
    target_tokens: int,
    *,
    system: System = None,
    tools: Tools = None,
    request: RequestFields = None,
    **options: Unpack[TrimConfig],
) -> list[M]:
    """A list of at most `target_tokens` tokens, as from `enforce_context_limit`.

    Args:
        messages: dicts or SDK objects in the shape of Chat Completions or Anthropic.
        target_tokens: the most tokens of messages, system prompt, tools and framing.
        system: Anthropic's system prompt, which is counted and never dropped.
        tools: the tool schemas of the request, which are counted.
        request: further fields of the request, such as `response_format` and `thinking`.
        **options: `model` or `tokenizer`, and the settings of `trim`.

    Returns:
        A new list of dicts. A list that fits has equal messages.

    Raises:
        ContextOverflowError: messages that cannot be dropped exceed the limit.
        InputError: a message cannot be read; the text has its position, from 0.
        UsageError: an option is unknown or invalid.
    """
    settings = _limited("trim_conversation", "target_tokens", target_tokens, options)
    return fitted(conversation(messages, system, tools, request), settings).messages


def _limited(location: str, name: str, limit: int, options: TrimConfig) -> Settings:
    """The settings of a call whose argument `name` is the limit.

    Raises `UsageError`, also for an option that would set another one.
    """
    must_be_whole(limit, f"{location}: {name}", least=1)
    settings = parse_options(location, options, {"budget": limit})
    shared_values = mappings.read(SettingsSource(location), options).shared
    for key in ("budget", "context_window", "reserve"):
        if key in shared_values:
            raise UsageError(f"{location}: {key}: not an option here; the limit is {name}")
    return settings
