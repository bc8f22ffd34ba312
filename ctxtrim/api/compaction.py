"""The compaction of a session: whether it is due, and a list with one summary in the place of what is old."""

from dataclasses import dataclass
from typing import Any

from ctxtrim.api.fit import Beside, ran, understood
from ctxtrim.api.messages import PlainMessages, System, Tools, conversation
from ctxtrim.api.options import Options, Settings, settings
from ctxtrim.events import OnEvent
from ctxtrim.metering import Bound
from ctxtrim.model import Source, Transcript
from ctxtrim.stages.compact import Compact
from ctxtrim.stages.compaction_trigger import estimate
from ctxtrim.summaries import Summarizer


@dataclass(frozen=True)
class Compacted:
    """A new list, its tokens before and after, and the summary that stands in it; None where nothing was compacted.

    `findings` say why nothing was, or what stood in for a summarizer.
    """

    messages: list[dict[str, Any]]
    tokens_before: int
    tokens_after: int
    summary: str | None
    findings: tuple[str, ...]


def estimate_context_tokens(messages: PlainMessages) -> int:
    """About how many tokens a session holds: what the last valid answer recorded as its `usage`, and what follows it.

    Where none did, a token for every four characters of texts, reasoning and call payloads, 1200 for an image, none for
    what is hidden. It decides when to compact, and is no measure to trim by.
    """
    return estimate(conversation(messages).transcript).tokens


def effective_token_limit(config: Options | None = None) -> int | None:
    """The tokens at which a session is compacted: window − reserve, else `maxTokens`; None where there is no limit."""
    asked = _session(config, "effective_token_limit")
    return _stage(asked, asked.binding.bind(Transcript((), Source((), ())))).limit


def should_compact(messages: PlainMessages, config: Options | None = None) -> bool:
    """Whether a session is to be compacted: never with `autoCompact` false, else by tokens, else by messages."""
    asked = _session(config, "should_compact")
    read = conversation(messages)
    return _stage(asked, asked.binding.bind(read.transcript)).trigger(read.transcript).is_due


def compact(
    messages: PlainMessages,
    config: Options | None = None,
    on_event: OnEvent | None = None,
    *,
    system: System = None,
    tools: Tools = None,
    summarizer: Summarizer | None = None,
) -> Compacted:
    """A list with one summary in the place of all that is not recent, and one digest of tool results in excess.

    Whether it is due is asked by `should_compact`; here it is done. The config has the keys of the block `compactor`.
    `on_event` is told of the start and the end. Never a longer list; where nothing would be won, the same.
    """
    asked = _session(config, "compact")
    read = understood(messages, system, tools)
    bound = asked.binding.bind(read.transcript)
    beside = Beside(summarizer, on_event=on_event, cause="it was asked for")
    result = ran(read, asked, bound, [asked.config.spec("compact")], beside)
    said = tuple(one.message for step in result.steps for one in step.findings if one.code != "trigger")
    summary = result.summary.text if result.summary is not None else None
    return Compacted(read.with_messages(result.transcript), result.tokens_read, result.count.tokens, summary, said)


def _stage(asked: Settings, bound: Bound) -> Compact:
    return Compact(bound.counter, bound.budget, **asked.of_stage("compact"))


def _session(config: Options | None, where: str) -> Settings:
    """The settings of a config whose max tokens are those of the session, as in the block `compactor`."""
    names = {"maxTokens": "session_tokens", "max_tokens": "session_tokens", "max-tokens": "session_tokens"}
    options = {names.get(key, key): value for key, value in (config or {}).items()}
    return settings(options, where, "compact", is_session=True)
