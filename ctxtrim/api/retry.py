"""A request that is sent again, once, with a shorter prompt where the provider says that it was too long."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeVar

from ctxtrim.api.fit import Beside, must_fit, ran, understood
from ctxtrim.api.messages import Conversation, PlainMessages, System, Tools
from ctxtrim.api.options import Options, settings
from ctxtrim.api.provider_errors import is_context_length_exceeded, told_window
from ctxtrim.events import Event, OnEvent, announced
from ctxtrim.model import Transcript
from ctxtrim.pipeline import PipelineRun
from ctxtrim.stages.compaction_trigger import estimate
from ctxtrim.summaries import Summarizer

T = TypeVar("T")

_CAUSE = "the provider says that the prompt is too long"
_LEFT = 3, 4  # of what was refused, where nobody says how much is too much


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
    """What `send` gives for the messages; on a context-length error it is called once more, with a compacted list.

    The list is compacted to half at least, and trimmed where that is not enough: to the window that the error tells,
    else the one in force, and to three quarters of what was refused. All other errors are raised as they come, and so
    is that of the second call. A `ContextOverflowError` from the first one where the list cannot be made to fit.
    `on_event` is told when the compaction starts and how it ended.
    """
    try:
        return send(list(messages))
    except Exception as error:
        if not is_context_length_exceeded(error):
            raise
        beside = Beside(summarizer, on_event=on_event)
        shorter = _shorter(understood(messages, system, tools), config, told_window(error), beside)
    return send(shorter)


def _shorter(read: Conversation, config: Options | None, window: int | None, beside: Beside) -> list[dict[str, Any]]:
    """The messages, compacted and trimmed; `window` is what the model is told to hold."""
    asked = settings(config, "with_recovery", "compact,budget")
    bound = asked.binding.bind(read.transcript)
    tokens, most = bound.counter.tokens(read.transcript), bound.budget.available
    if window is not None:
        most = min(most, window - min(bound.budget.reserve, window // 2))
    most = max(1, min(most, tokens * _LEFT[0] // _LEFT[1]))
    bound = replace(bound, budget=replace(bound.budget, limit=most, known_room=most))

    def work() -> PipelineRun:
        spec = asked.config.spec("compact")
        recent = min(spec.settings["keep_recent_tokens"], estimate(read.transcript).tokens // 2)
        spec = replace(spec, settings={**spec.settings, "keep_recent_tokens": recent})
        stages = [spec, asked.config.spec("trim")]
        result = ran(read, asked, bound, stages, replace(beside, on_event=None, cause=_CAUSE))
        must_fit(result, bound)
        return result

    start = Event("start", _CAUSE, tokens, _visible(read.transcript))
    result = announced(beside.on_event or _nobody, start, work, _told)
    return read.with_messages(result.transcript)


def _told(result: PipelineRun) -> tuple[int, int, str | None]:
    """What is told at the end."""
    troubles = [one.message for step in result.steps for one in step.findings if one.severity != "info"]
    return result.count.tokens, _visible(result.transcript), "; ".join(troubles) or None


def _visible(transcript: Transcript) -> int:
    return sum(message.agent_visible for message in transcript.messages)


def _nobody(event: Event) -> None:
    """Nobody is told."""
