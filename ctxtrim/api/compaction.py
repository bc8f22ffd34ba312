"""Compaction of a session: whether it is due, and the compacted list."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Unpack

from ctxtrim.api.configs import CompactConfig
from ctxtrim.api.fit import findings_of, run_stages
from ctxtrim.api.messages import M, PlainMessages, RequestFields, System, Tools, conversation
from ctxtrim.api.options import Options, Settings, parse_options
from ctxtrim.errors import must_be_function, must_be_summarizer
from ctxtrim.model import Source, Transcript
from ctxtrim.pipeline import PipelineRun, Services
from ctxtrim.stages import compaction_trigger
from ctxtrim.stages.events import OnEvent
from ctxtrim.summaries.summarizer import Summarizer


@dataclass(frozen=True)
class Compacted(Generic[M]):
    """A new list, its tokens before and after, and its summary; None if nothing was compacted.

    `findings` explain why nothing was compacted, or why the summarizer was not used.
    """

    messages: list[M]
    tokens_before: int
    tokens_after: int
    summary: str | None
    findings: tuple[str, ...]


def estimate_context_tokens(messages: PlainMessages) -> int:
    """The estimated tokens of a session: the `usage` of the last valid answer, and what follows.

    Without recorded usage: one token for every four characters of texts, reasoning and call
    payloads, 1200 for an image, none for hidden messages. Use it to decide when to compact, not to
    trim.

    Args:
        messages: dicts or SDK objects in the shape of Chat Completions or Anthropic.

    Returns:
        The number of tokens.

    Raises:
        InputError: a value is not a message; the text has its position, from 0.
    """
    return compaction_trigger.estimate(conversation(messages).transcript).tokens


def effective_token_limit(
    config: CompactConfig | None = None, **options: Unpack[CompactConfig]
) -> int | None:
    """The tokens at which a session is compacted.

    Args:
        config: `model` or `context_window`, `reserve` and `session_tokens`, in tokens.
        **options: the same keys as keywords; they take precedence.

    Returns:
        Window - reserve if a window is known and larger than the reserve, else `session_tokens`;
        None if that is 0.

    Raises:
        UsageError: an option is unknown or invalid.
    """
    settings = _session("effective_token_limit", config, options)
    return _limit(settings, Transcript((), Source((), ())))


def should_compact(
    messages: PlainMessages, config: CompactConfig | None = None, **options: Unpack[CompactConfig]
) -> bool:
    """Whether compaction is due by tokens, else by messages; never with `auto` false.

    Args:
        messages: dicts or SDK objects in the shape of Chat Completions or Anthropic.
        config: the keys of `effective_token_limit`, `max_messages` and `auto`.
        **options: the same keys as keywords; they take precedence.

    Returns:
        True if the estimated tokens reach the limit, or without a limit `max_messages`.

    Raises:
        InputError: a value is not a message; the text has its position, from 0.
        UsageError: an option is unknown or invalid.
    """
    settings = _session("should_compact", config, options)
    transcript = conversation(messages).transcript
    chosen = settings.of_stage("compact")
    size, limit = compaction_trigger.estimate(transcript), _limit(settings, transcript)
    trigger = compaction_trigger.should_compact(
        size, limit, chosen["max_messages"], auto=chosen["auto"]
    )
    return trigger.is_due


def compact(
    messages: Sequence[M],
    config: CompactConfig | None = None,
    on_event: OnEvent | None = None,
    *,
    system: System = None,
    tools: Tools = None,
    request: RequestFields = None,
    summarizer: Summarizer | None = None,
    **options: Unpack[CompactConfig],
) -> Compacted[M]:
    """Replace messages that are not recent by one summary, and excess tool results by a digest.

    Compacts even if `should_compact` is false. If the result would not be shorter, the list does
    not change.

    Args:
        messages: dicts or SDK objects in the shape of Chat Completions or Anthropic.
        config: keys of the block `compactor`, such as `keep_recent_tokens`.
        on_event: is called at the start and at the end.
        system: Anthropic's system prompt, which is counted and never dropped.
        tools: the tool schemas of the request, which are counted.
        request: further fields of the request, such as `response_format` and `thinking`.
        summarizer: writes the summary. Without it, or if it fails, rules write it.
        **options: keys of the config as keywords; they take precedence.

    Returns:
        The new list of dicts, its tokens before and after, and the summary.

    Raises:
        InputError: a message cannot be read; the text has its position, from 0.
        UsageError: an option is unknown or invalid.
    """
    settings = _session("compact", config, options)
    must_be_summarizer(summarizer, "compact: summarizer")
    if on_event is not None:
        must_be_function(on_event, "compact: on_event")
    read = conversation(messages, system, tools, request)
    meter = settings.metering.meter(read.transcript)
    services = Services(summarizer=summarizer, on_event=on_event, cause="the program requested it")
    result = run_stages(read, settings.pipeline(settings.config.spec("compact")), services, meter)
    return _compacted(read.with_messages(result.transcript), result)


def _compacted(messages: list[Any], result: PipelineRun) -> Compacted[Any]:
    """The result of a compaction."""
    return Compacted(
        messages,
        result.tokens_read,
        result.count.tokens,
        result.summary.text if result.summary is not None else None,
        findings_of(result),
    )


def _limit(settings: Settings, transcript: Transcript) -> int | None:
    """The number of tokens at which a session is compacted."""
    room = settings.metering.meter(transcript).budget.known_room
    session_tokens = settings.of_stage("compact")["session_tokens"]
    return compaction_trigger.effective_token_limit(room, session_tokens)


def _session(location: str, *options: Options | None) -> Settings:
    """The settings of configs with the keys of the block `compactor`."""
    return parse_options(location, *map(_renamed, options), preset="compact", is_session=True)


def _renamed(options: Options | None) -> Options | None:
    """The options, with the name of `session_tokens` here for its name in the block."""
    if not isinstance(options, Mapping):
        return options  # None, or an error of `parse_options`
    names = {
        "maxTokens": "session_tokens",
        "max_tokens": "session_tokens",
        "max-tokens": "session_tokens",
    }
    return {names.get(key, key): value for key, value in options.items()}
