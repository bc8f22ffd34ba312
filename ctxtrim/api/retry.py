"""Send a request again, once, with a shorter prompt if the provider reports that the prompt is too
long.
"""

from collections.abc import Callable
from typing import Any, TypeVar

from msgspec.structs import replace

from ctxtrim.api.fit import must_fit, read_messages, run_stages
from ctxtrim.api.messages import PlainConversation, PlainMessages, System, Tools
from ctxtrim.api.options import Options, parse_options
from ctxtrim.api.provider_errors import is_context_length_exceeded, stated_window
from ctxtrim.events import OnEvent, State, announced, state
from ctxtrim.pipeline import PipelineRun, Services
from ctxtrim.stages.compaction_trigger import estimate
from ctxtrim.summaries import Summarizer

T = TypeVar("T")

_CAUSE = "the provider says that the prompt is too long"
_LEFT = 3, 4  # fraction of the refused prompt to keep


def with_recovery(
    send: Callable[[list[Any]], T],
    messages: PlainMessages,
    config: Options | None = None,
    *,
    system: System = None,
    tools: Tools = None,
    summarizer: Summarizer | None = None,
    on_event: OnEvent | None = None,
) -> T:
    """The result of `send(messages)`.

    After a context-length error, `send` is called once more with a compacted list.

    The list is compacted to at most half, then trimmed to the window in the error (else the
    configured one) and to three quarters of the refused prompt. Other errors are raised unchanged,
    and so is an error of the second call. Raises `ContextOverflowError` from the first error if the
    list cannot fit. `on_event` is called when the compaction starts and ends.
    """
    try:
        return send(list(messages))
    except Exception as error:
        if not is_context_length_exceeded(error):
            raise
        services = Services(summarizer=summarizer, on_event=on_event)
        shorter = _shorter(
            read_messages(messages, system, tools), config, stated_window(error), services
        )
    return send(shorter)


def _shorter(
    read: PlainConversation, config: Options | None, window: int | None, services: Services
) -> list[dict[str, Any]]:
    """The messages, compacted and trimmed. `window` is the context window in the error."""
    settings = parse_options(config, "with_recovery", "compact,budget")
    meter = settings.metering.meter(read.transcript)
    tokens, most = meter.counter.tokens(read.transcript), meter.budget.available
    if window is not None:
        most = min(most, window - min(meter.budget.reserve, window // 2))
    most = max(1, min(most, tokens * _LEFT[0] // _LEFT[1]))
    budget = replace(meter.budget, limit=most, known_room=most)
    meter = replace(meter, budget=budget)

    def work() -> PipelineRun:
        spec = settings.config.spec("compact")
        recent = min(spec.settings["keep_recent_tokens"], estimate(read.transcript).tokens // 2)
        spec = replace(spec, settings={**spec.settings, "keep_recent_tokens": recent})
        stages = [spec, settings.config.spec("trim")]
        result = run_stages(
            read, settings, meter, stages, replace(services, on_event=None, cause=_CAUSE)
        )
        must_fit(result)
        return result

    result = announced(services.on_event, _CAUSE, read.transcript, tokens, work, _end_of)
    return read.with_messages(result.transcript)


def _end_of(result: PipelineRun) -> State:
    """The state after the compaction."""
    findings = [finding for step in result.steps for finding in step.findings]
    return state(result.transcript, result.count.tokens, findings)
