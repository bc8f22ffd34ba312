"""Which tool results are kept regardless of age, and the ranges of them that a clip has to show."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from msgspec import Struct
from msgspec.structs import replace

from ctxtrim.conversation.tool_results import ToolResult
from ctxtrim.conversation.turns import Shape
from ctxtrim.evidence import active_reads, chained, error_line, is_error, outdated_reads, quoted
from ctxtrim.model import Message
from ctxtrim.tokens import MARKS
from ctxtrim.tokens.counter import Counter

Range = tuple[int, int]


class Kept(Struct, frozen=True):
    """Why a result is kept (None: nothing keeps it), and the ranges of its text that a clip has to
    show.

    `in_full`: size limits do not apply either. `uses`: how many later messages took a call argument
    from it; `is_used`: a recent message did, and that is the reason.
    """

    reason: str | None
    ranges: tuple[Range, ...] = ()
    in_full: bool = False
    uses: int = 0
    is_used: bool = False


@dataclass(frozen=True)
class KeepRules:
    """The rules that keep results regardless of age.

    `small` is in tokens, 0 for none. `active_steps` None keeps no file. `tools` are regular
    expressions over names. `drops_outdated`: do not keep reads of a file that changed later, more
    than `active_steps` ago.
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
    rules: KeepRules,
    counter: Counter,
    messages: Sequence[Message],
    shape: Shape,
    tool_results: Sequence[ToolResult],
    recent: Sequence[bool],
    step: int,
) -> dict[int, Kept]:
    """The reason to keep each result, by position.

    `recent`: which messages are recent; `step`: the current step.
    """
    quotes = quoted(messages, shape) if rules.quoted else {}
    chains = chained(messages, shape) if rules.chains else {}
    active = (
        active_reads(messages, shape, step, rules.active_steps)
        if rules.active_steps is not None
        else {}
    )
    if rules.active_steps is not None and rules.drops_outdated:
        outdated = outdated_reads(messages, shape, step, rules.active_steps)
        active = {
            position: reason for position, reason in active.items() if position not in outdated
        }
    tools = [re.compile(pattern) for pattern in rules.tools]
    mark = MARKS[counter.tokenizer.exactness]

    def judged(result: ToolResult) -> Kept:
        keep = reason_of(result)
        uses = len({consumer for consumer, _, _ in chains.get(result.position, ())})
        return replace(keep, uses=uses) if uses else keep

    def reason_of(result: ToolResult) -> Kept:
        """The first reason, in order of the cost to find it; the ranges do not depend on the
        reason.
        """
        used = [
            (start, end)
            for consumer, start, end in chains.get(result.position, ())
            if recent[consumer]
        ]
        has_failed = is_error(result.message, rules.is_loose)
        line = error_line(result.text, rules.is_loose) if has_failed else None
        ranges = tuple(_shown(line, quotes.get(result.position), used))
        if result.position in active:
            return Kept(active[result.position], ranges, in_full=True)
        if any(pattern.fullmatch(result.tool) for pattern in tools):
            return Kept(f"tool {result.tool}", ranges)
        if rules.small and (size := counter.text(result.text)) < rules.small:
            return Kept(f"small: {mark}{size} < {rules.small} tokens", ranges)
        if rules.errors and has_failed:
            return Kept("error", ranges)
        if result.position in quotes:
            return Kept("quoted by the user", ranges)
        if used:
            consumer = min(
                consumer for consumer, _, _ in chains[result.position] if recent[consumer]
            )
            return Kept(f"message {messages[consumer].index} uses it", ranges, is_used=True)
        return Kept(None, ranges)

    return {result.position: judged(result) for result in tool_results}


def _shown(line: Range | None, quote: Range | None, used: Sequence[Range]) -> Iterator[Range]:
    """The non-empty ranges among the error line, the quotation and the used arguments."""
    for text_range in (line, quote, *used):
        if text_range is not None and text_range[0] < text_range[1]:
            yield text_range
