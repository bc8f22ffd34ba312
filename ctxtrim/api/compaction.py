"""Compaction of a session: whether it is due, and the compacted list."""

from dataclasses import dataclass
from typing import Any

from ctxtrim.api.fit import read_messages, run_stages
from ctxtrim.api.messages import PlainMessages, System, Tools, conversation
from ctxtrim.api.options import Options, Settings, parse_options
from ctxtrim.events import OnEvent
from ctxtrim.model import Source, Transcript
from ctxtrim.pipeline import Services
from ctxtrim.stages import compaction_trigger
from ctxtrim.summaries import Summarizer


@dataclass(frozen=True)
class Compacted:
    """A new list, its tokens before and after, and its summary; None if nothing was compacted.

    `findings` explain why nothing was compacted, or why the summarizer was not used.
    """

    messages: list[dict[str, Any]]
    tokens_before: int
    tokens_after: int
    summary: str | None
    findings: tuple[str, ...]


def estimate_context_tokens(messages: PlainMessages) -> int:
    """The estimated tokens of a session: the `usage` of the last valid answer, and what follows.

    Without recorded usage: one token for every four characters of texts, reasoning and call
    payloads, 1200 for an image, none for hidden messages. Use it to decide when to compact, not to
    trim.
    """
    return compaction_trigger.estimate(conversation(messages).transcript).tokens


def effective_token_limit(config: Options | None = None) -> int | None:
    """The tokens at which a session is compacted: window − reserve, else `maxTokens`, if any."""
    settings = _session(config, "effective_token_limit")
    return _limit(settings, Transcript((), Source((), ())))


def should_compact(messages: PlainMessages, config: Options | None = None) -> bool:
    """Whether compaction is due by tokens, else by messages; never with `autoCompact` false."""
    settings = _session(config, "should_compact")
    transcript = conversation(messages).transcript
    chosen = settings.of_stage("compact")
    limit = _limit(settings, transcript)
    return compaction_trigger.should_compact(
        compaction_trigger.estimate(transcript), limit, chosen["max_messages"], chosen["auto"]
    ).is_due


def compact(
    messages: PlainMessages,
    config: Options | None = None,
    on_event: OnEvent | None = None,
    *,
    system: System = None,
    tools: Tools = None,
    summarizer: Summarizer | None = None,
) -> Compacted:
    """Replace messages that are not recent by one summary, and excess tool results by a digest.

    Compacts even if `should_compact` is false. The config has the keys of the block `compactor`.
    `on_event` is called at the start and at the end. If the result would not be shorter, the list
    does not change.
    """
    settings = _session(config, "compact")
    read = read_messages(messages, system, tools)
    meter = settings.metering.meter(read.transcript)
    services = Services(summarizer=summarizer, on_event=on_event, cause="it was asked for")
    result = run_stages(read, settings, meter, [settings.config.spec("compact")], services)
    findings = tuple(
        finding.message
        for step in result.steps
        for finding in step.findings
        if finding.code != "trigger"
    )
    summary = result.summary.text if result.summary is not None else None
    return Compacted(
        read.with_messages(result.transcript),
        result.tokens_read,
        result.count.tokens,
        summary,
        findings,
    )


def _limit(settings: Settings, transcript: Transcript) -> int | None:
    """The number of tokens at which a session is compacted."""
    room = settings.metering.meter(transcript).budget.known_room
    session_tokens = settings.of_stage("compact")["session_tokens"]
    return compaction_trigger.effective_token_limit(room, 0, session_tokens)


def _session(config: Options | None, location: str) -> Settings:
    """The settings of a config with the keys of the block `compactor`."""
    names = {
        "maxTokens": "session_tokens",
        "max_tokens": "session_tokens",
        "max-tokens": "session_tokens",
    }
    options = {names.get(key, key): value for key, value in (config or {}).items()}
    return parse_options(options, location, "compact", is_session=True)
