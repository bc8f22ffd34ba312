"""Send a request again, once, with a shorter prompt if the provider reports that the prompt is too
long.
"""

from collections.abc import Awaitable, Callable
from inspect import isawaitable
from typing import Any, NamedTuple, TypeVar, Unpack, cast

from msgspec.structs import replace

from ctxtrim.api.configs import PromptConfig
from ctxtrim.api.fit import must_fit, run_stages
from ctxtrim.api.messages import (
    PlainConversation,
    PlainMessages,
    RequestFields,
    System,
    Tools,
    check_shapes,
    conversation,
    message_list,
)
from ctxtrim.api.options import Settings, parse_options
from ctxtrim.api.overflow import ContextOverflowError
from ctxtrim.api.provider_errors import is_context_length_exceeded, stated_window
from ctxtrim.errors import InputError, must_be_function, must_be_summarizer
from ctxtrim.pipeline import PipelineRun, Services
from ctxtrim.stages.compaction_trigger import estimate
from ctxtrim.stages.events import OnEvent, State, announced, state
from ctxtrim.summaries.summarizer import Summarizer

T = TypeVar("T")

_CAUSE = "the provider says that the prompt is too long"
_LEFT = 3, 4  # fraction of the refused prompt to keep


def with_recovery(  # noqa: PLR0913 - the keywords are public
    send: Callable[[list[Any]], T],
    messages: PlainMessages,
    config: PromptConfig | None = None,
    *,
    system: System = None,
    tools: Tools = None,
    request: RequestFields = None,
    summarizer: Summarizer | None = None,
    on_event: OnEvent | None = None,
    **options: Unpack[PromptConfig],
) -> T:
    """The result of `send(messages)`, or of a second call with a compacted list.

    `send` is called again, once, after a context-length error. The list is compacted to at most
    half, then trimmed to the window in the error (else the configured one) and to three quarters of
    the refused prompt.

    Args:
        send: sends a list of messages. It may be a coroutine function: await the result.
        messages: dicts or SDK objects in the shape of Chat Completions or Anthropic. The first call
            gets them unchanged, the second call gets dicts.
        config: keys of the blocks `compactor` and `contextManagement`, such as `model`.
        system: Anthropic's system prompt, which is counted and never dropped.
        tools: the tool schemas of the request, which are counted.
        request: further fields of the request, such as `response_format` and `thinking`.
        summarizer: writes the summary. Without it, or if it fails, rules write it.
        on_event: is called when the compaction starts and ends.
        **options: keys of the config as keywords; they take precedence.

    Returns:
        The result of `send`; an awaitable of it if `send` returns an awaitable.

    Raises:
        ContextOverflowError: the list cannot fit. Its cause is the error of the first call.
        InputError: a message cannot be read; the text has its position, from 0. Messages of another
            API are refused before the first call.
        UsageError: an option is unknown or invalid.
        Exception: any other error of the first call, and any error of the second, unchanged.
    """
    settings = parse_options("with_recovery", config, options, preset="compact,budget")
    must_be_function(send, "with_recovery: send")
    must_be_summarizer(summarizer, "with_recovery: summarizer")
    if on_event is not None:
        must_be_function(on_event, "with_recovery: on_event")
    services = Services(summarizer=summarizer, on_event=on_event)
    refused = _Prompt(message_list(messages), system, tools, request)
    check_shapes(refused.messages)
    try:
        answer = send(list(refused.messages))
    except Exception as error:
        if not is_context_length_exceeded(error):
            raise
        shorter = refused.shorter(settings, error, services)
    else:
        if isawaitable(answer):
            return cast(T, _awaited(answer, send, refused, settings, services))
        return answer
    return send(shorter)


async def _awaited(
    answer: Awaitable[Any],
    send: Callable[[list[Any]], Any],
    refused: "_Prompt",
    settings: Settings,
    services: Services,
) -> Any:
    """The result of an awaitable, or of a second one for the shorter list."""
    try:
        return await answer
    except Exception as error:
        if not is_context_length_exceeded(error):
            raise
        shorter = refused.shorter(settings, error, services)
    return await send(shorter)


class _Prompt(NamedTuple):
    """The prompt of a request; it is read only if the provider refuses it."""

    messages: PlainMessages
    system: System
    tools: Tools
    request: RequestFields

    def shorter(self, settings: Settings, error: Exception, services: Services) -> list[Any]:
        """The messages for the second request. Another error has the given one as its cause."""
        try:
            read = conversation(self.messages, self.system, self.tools, self.request)
            return _shorter(read, settings, error, services)
        except (ContextOverflowError, InputError) as failure:
            raise failure from error


def _shorter(
    read: PlainConversation, settings: Settings, error: Exception, services: Services
) -> list[Any]:
    """The messages, compacted and trimmed to the context window in the error."""
    meter = settings.metering.meter(read.transcript)
    tokens, limit = meter.counter.tokens(read.transcript), meter.budget.available
    window = stated_window(error, tokens)
    if window is not None:
        limit = min(limit, window - min(meter.budget.reserve, window // 2))
    limit = max(1, min(limit, tokens * _LEFT[0] // _LEFT[1]))
    budget = replace(meter.budget, limit=limit, known_room=limit)
    meter = replace(meter, budget=budget)

    def work() -> PipelineRun:
        spec = settings.config.spec("compact")
        recent = min(spec.settings["keep_recent_tokens"], estimate(read.transcript).tokens // 2)
        spec = replace(spec, settings={**spec.settings, "keep_recent_tokens": recent})
        pipeline = settings.pipeline(spec, settings.config.spec("trim"))
        quiet = replace(services, on_event=None, cause=_CAUSE)
        result = run_stages(read, pipeline, quiet, meter)
        must_fit(result)
        return result

    result = announced(services.on_event, _CAUSE, read.transcript, tokens, work, _end_of)
    return read.with_messages(result.transcript)


def _end_of(result: PipelineRun) -> State:
    """The state after the compaction."""
    findings = [finding for step in result.steps for finding in step.findings]
    return state(result.transcript, result.count.tokens, findings)
