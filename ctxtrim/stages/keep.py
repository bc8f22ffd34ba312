"""What keeps a tool result from going by age, and the place in it that was worth keeping."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from ctxtrim.conversation.tool_results import Result
from ctxtrim.conversation.turns import Shape
from ctxtrim.evidence import active_reads, chained, error_line, is_error, outdated_reads, quoted
from ctxtrim.model import Message
from ctxtrim.tokens import MARKS
from ctxtrim.tokens.counter import Counter

Range = tuple[int, int]


@dataclass(frozen=True)
class Kept:
    """Why a result stays, None where nothing keeps it; the ranges of its text that a clip has to show.

    `in_full`: no limit of size holds for it either. `uses`: how many later messages took an argument of a call from it;
    `is_used`: a recent one did, and that is the reason.
    """

    reason: str | None
    ranges: tuple[Range, ...] = ()
    in_full: bool = False
    uses: int = 0
    is_used: bool = False


@dataclass(frozen=True)
class Retaining:
    """What is asked for: each of these keeps results, however old they are.

    `small` is in tokens, 0 for none; `active_steps` None keeps no file; `tools` are names, as regular expressions.
    `drops_outdated`: reads of a file that changed more than `active_steps` ago since then are not kept.
    """

    errors: bool
    is_loose: bool
    small: int
    quoted: bool
    chains: bool
    active_steps: int | None
    tools: tuple[str, ...]
    drops_outdated: bool = False


def kept(
    asked: Retaining,
    counter: Counter,
    messages: Sequence[Message],
    where: Shape,
    found: Sequence[Result],
    recent: Sequence[bool],
    step: int,
) -> dict[int, Kept]:
    """What keeps each of some results, by position. `recent`: which messages are not old; `step`: the current one."""
    quotes = quoted(messages, where) if asked.quoted else {}
    chains = chained(messages, where) if asked.chains else {}
    active = active_reads(messages, where, step, asked.active_steps) if asked.active_steps is not None else {}
    if asked.active_steps is not None and asked.drops_outdated:
        outdated = outdated_reads(messages, where, step, asked.active_steps)
        active = {position: reason for position, reason in active.items() if position not in outdated}
    tools = [re.compile(pattern) for pattern in asked.tools]
    mark = MARKS[counter.tokenizer.exactness]

    def judged(one: Result) -> Kept:
        found = reason_of(one)
        uses = len({consumer for consumer, _, _ in chains.get(one.position, ())})
        return replace(found, uses=uses) if uses else found

    def reason_of(one: Result) -> Kept:
        """The reasons, the cheapest to find first; the ranges are the same whatever the reason."""
        used = [(start, end) for consumer, start, end in chains.get(one.position, ()) if recent[consumer]]
        has_failed = is_error(one.message, asked.is_loose)
        line = error_line(one.text, asked.is_loose) if has_failed else None
        ranges = tuple(_shown(line, quotes.get(one.position), used))
        if one.position in active:
            return Kept(active[one.position], ranges, in_full=True)
        if any(pattern.fullmatch(one.tool) for pattern in tools):
            return Kept(f"tool {one.tool}", ranges)
        if asked.small and (size := counter.text(one.text)) < asked.small:
            return Kept(f"small: {mark}{size} < {asked.small} tokens", ranges)
        if asked.errors and has_failed:
            return Kept("error", ranges)
        if one.position in quotes:
            return Kept("quoted by the user", ranges)
        if used:
            consumer = min(consumer for consumer, _, _ in chains[one.position] if recent[consumer])
            return Kept(f"message {messages[consumer].index} uses it", ranges, is_used=True)
        return Kept(None, ranges)

    return {one.position: judged(one) for one in found}


def _shown(line: Range | None, quote: Range | None, used: Sequence[Range]) -> Iterator[Range]:
    """Where the error stands, what was quoted, what is used: without what is empty."""
    for one in (line, quote, *used):
        if one is not None and one[0] < one[1]:
            yield one
