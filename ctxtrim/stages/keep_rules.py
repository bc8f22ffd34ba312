"""The rules that keep tool results regardless of age: their settings, and the results that they
keep with the ranges that a clip has to show.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

from msgspec import Struct

from ctxtrim.conversation import pins
from ctxtrim.conversation.tool_results import ToolResult
from ctxtrim.evidence.errors import error_line
from ctxtrim.evidence.evidence import Evidence
from ctxtrim.evidence.used_by_calls import Use, used_ranges
from ctxtrim.stage import KEEP, setting
from ctxtrim.text import Range
from ctxtrim.tokens.counter import Counter
from ctxtrim.tokens.tokenizer import MARKS

_ACTIVE_STEPS = 5  # default: files that were read or changed in the last N steps are in use

KEEP_SMALL = "Keep results of fewer than N tokens as if they were recent."


class KeepReason(Struct, frozen=True, dict=True):
    """Why a result is kept (None: nothing keeps it).

    `facts` are those of its conversation. `in_full`: size limits do not apply either. `uses`: how
    many later messages took a call argument from it; `is_used`: a recent message did, and that is
    the reason.
    """

    reason: str | None
    result: ToolResult
    facts: "_Facts"  # a function for each result would need 200 bytes
    in_full: bool
    uses: int
    is_used: bool

    @cached_property
    def ranges(self) -> tuple[Range, ...]:
        """The ranges of the text that a clip has to show, most important first.

        They are found only if the result is clipped.
        """
        return tuple(self.facts.ranges(self.result))


@dataclass(frozen=True)
class KeepRules:
    """The settings of the keep rules. A stage that keeps results inherits them.

    `drops_outdated`: do not keep reads of a file that changed later, before the active steps.
    `counts_uses`: the stage needs the number of all uses.
    """

    drops_outdated: ClassVar[bool] = False
    counts_uses: ClassVar[bool] = False

    keep_errors: bool = setting(True, "Keep error results as if they were recent.", panel=KEEP)
    errors: str = setting(
        "strict",
        "Detect errors by flags, exit codes and first lines (strict), "
        "or by words anywhere (loose).",
        choices=("strict", "loose"),
        panel=KEEP,
    )
    keep_small: int = setting(0, KEEP_SMALL, least=0, panel=KEEP)
    keep_quoted: bool = setting(
        True, "Keep results quoted by the user as if they were recent.", panel=KEEP
    )
    keep_chains: bool = setting(
        True, "Keep results used by recent calls as if they were recent.", panel=KEEP
    )
    keep_active_files: bool = setting(
        True,
        "Keep reads of files in use as if they were recent; truncate keeps them in full.",
        panel=KEEP,
    )
    active_steps: int | None = setting(
        None,
        "Treat files read or changed in the last N steps as in use. [default: the max age in "
        "steps, else 5]",
        least=0,
        panel=KEEP,
    )
    keep_tools: tuple[str, ...] = setting(
        (),
        "Keep results of tools matching a regular expression as if they were recent.",
        check=pins.expression,
        panel=KEEP,
    )

    def keep_reasons(
        self,
        counter: Counter,
        evidence: Evidence,
        tool_results: Sequence[ToolResult],
        recent: Sequence[bool],
        step: int,
    ) -> dict[int, KeepReason]:
        """The reason to keep each result, by position.

        `recent`: which messages are recent; `step`: the current step.
        """
        facts = _Facts(self, counter, evidence, recent, step, self._window())
        return {result.position: facts.reason_to_keep(result) for result in tool_results}

    def _window(self) -> int:
        """The number of steps for which a file is in use."""
        return _ACTIVE_STEPS if self.active_steps is None else self.active_steps


@dataclass(frozen=True)
class _Facts:
    """What the rules look at, by position of a result. Each fact is found when it is first needed.

    `recent`: which messages are recent; `step`: the current step; `window`: the number of steps for
    which a file is in use.
    """

    rules: KeepRules
    counter: Counter
    evidence: Evidence
    recent: Sequence[bool]
    step: int
    window: int

    def reason_to_keep(self, result: ToolResult) -> KeepReason:
        """The first reason to keep a result, in order of the cost to find it.

        The ranges do not depend on the reason.
        """
        rules, position, small = self.rules, result.position, self.rules.keep_small
        uses = self.uses.get(position, ()) if rules.counts_uses else ()
        number = len({use.position for use in uses}) if uses else 0
        in_full = is_used = False
        reason: str | None = None
        if position in self.active:
            reason, in_full = self.active[position], True
        elif self.tools and any(pattern.fullmatch(result.tool) for pattern in self.tools):
            reason = f"tool {result.tool}"
        elif small and (size := self.counter.result(result.message, result.text)) < small:
            mark = MARKS[self.counter.tokenizer.exactness]
            reason = f"small: {mark}{size:,} < {small:,} tokens"
        elif rules.keep_errors and self.is_error(position):
            reason = "error"
        elif position in self.quotes:
            reason = "quoted by the user"
        elif used := self.recent_uses(position):
            index = self.evidence.messages[used[0].position].index
            reason, is_used = f"message {index} used it", True
        return KeepReason(reason, result, self, in_full, number, is_used)

    @cached_property
    def active(self) -> Mapping[int, str]:
        """The reads of files in use, with the reasons."""
        if not self.rules.keep_active_files:
            return {}
        active = self.evidence.active_reads(self.step, self.window)
        if self.rules.drops_outdated:
            for position in self.evidence.outdated_reads(self.step, self.window):
                active.pop(position, None)
        return active

    @cached_property
    def is_error(self) -> Callable[[int], bool]:
        """Whether a result is an error."""
        is_loose = self.rules.errors == "loose"
        return self.evidence.is_loose_error if is_loose else self.evidence.is_error

    @cached_property
    def quotes(self) -> Mapping[int, Range]:
        """The results that the user quotes, with the ranges."""
        return self.evidence.quotes if self.rules.keep_quoted else {}

    @cached_property
    def uses(self) -> Mapping[int, Sequence[Use]]:
        """The uses of results that count."""
        if not self.rules.keep_chains:
            return {}
        return self.evidence.uses if self.rules.counts_uses else self.evidence.uses_by(self.recent)

    def recent_uses(self, position: int) -> list[Use]:
        """The uses of a result by recent messages."""
        return [use for use in self.uses.get(position, ()) if self.recent[use.position]]

    def ranges(self, result: ToolResult) -> Iterator[Range]:
        """The ranges of the text of a result that a clip has to show."""
        position, text = result.position, result.text
        is_loose = self.rules.errors == "loose"
        line = error_line(text, is_loose) if self.is_error(position) else None
        used = used_ranges(text, self.recent_uses(position))
        return (
            text_range
            for text_range in (line, self.quotes.get(position), *used)
            if text_range and text_range[0] < text_range[1]
        )

    @cached_property
    def tools(self) -> Sequence[re.Pattern[str]]:
        """The tools whose results are kept."""
        return [re.compile(pattern) for pattern in self.rules.keep_tools]
