"""How many tokens a list has, how many it may have, and a list cut down to so many."""

from dataclasses import dataclass
from typing import Any

from ctxtrim.api.fit import fitted, understood
from ctxtrim.api.messages import PlainMessages, System, Tools
from ctxtrim.api.options import Options, settings
from ctxtrim.model import Source, Transcript


@dataclass(frozen=True)
class EnforcedLimit:
    """A new list that keeps to a limit; whether anything was cut, how many messages went, and the tokens of the rest.

    A tool result counts as a message, whatever holds it.
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
    """The tokens of a request: its messages, calls and results, what frames them, and what is sent beside them.

    Counted as the model counts, else too many rather than too few. `options` are those of `count`, such as `tokenizer`
    and `safety`, by which counts that are estimates are multiplied.
    """
    asked = settings({"model": model, **options}, "estimate_tokens")
    read = understood(messages, system, tools)
    bound = asked.binding.bind(read.transcript)
    return bound.counter.tokens(read.transcript)


def compute_max_input_tokens(config: Options | None = None) -> int:
    """The tokens that a prompt may have: context window − reserve, never above the model's own max input.

    123,904 by default. A `UsageError` where the reserve leaves nothing of the window.
    """
    asked = settings(config, "compute_max_input_tokens")
    return asked.binding.bind(Transcript((), Source((), ()))).budget.available


def enforce_context_limit(
    messages: PlainMessages,
    max_input_tokens: int,
    *,
    system: System = None,
    tools: Tools = None,
    **options: Any,
) -> EnforcedLimit:
    """A list of at most so many tokens, or a `ContextOverflowError`; what fits already is not changed.

    `options` are those of `trim`, and `model` or `tokenizer`.
    """
    done = fitted(messages, settings({**options, "budget": max_input_tokens}, "enforce_context_limit"), system, tools)
    return EnforcedLimit(done.messages, done.usage.trimmed, done.usage.dropped, done.usage.final_tokens)


def trim_conversation(
    messages: PlainMessages,
    target_tokens: int,
    *,
    system: System = None,
    tools: Tools = None,
    **options: Any,
) -> list[dict[str, Any]]:
    """A list of at most so many tokens, as `enforce_context_limit` makes it."""
    asked = settings({**options, "budget": target_tokens}, "trim_conversation")
    return fitted(messages, asked, system, tools).messages
