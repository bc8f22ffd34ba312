"""What `truncate` makes of one tool result, by the settings of its tool."""

import dataclasses
from bisect import bisect_left
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from msgspec.structs import replace

from ctxtrim.clipping.clipper import MODES as CLIPS
from ctxtrim.clipping.layout import Mode
from ctxtrim.clipping.limits import spilled_to
from ctxtrim.conversation.tool_results import METADATA, ToolResult
from ctxtrim.model import Message
from ctxtrim.stage import Action, Stage, run_field, setting
from ctxtrim.stages import common_settings
from ctxtrim.stages.keep_rules import KeepReason
from ctxtrim.stages.placeholder import (
    MODES,
    PLACEHOLDER,
    POINTER,
    Replacement,
    check_pointer,
    check_template,
    copy_text,
)
from ctxtrim.stages.truncate import per_tool
from ctxtrim.stages.truncate.size_limit import PathOf, SizeLimits
from ctxtrim.tokens.tokenizer import MARKS

_NOT_SMALLER = "a shorter text would not save tokens"


@dataclass(frozen=True)
class ResultSettings(Stage):
    """The settings before the keep rules: when a result is too old or too long, and what replaces
    it.
    """

    path_of: PathOf | None = run_field()
    is_brief: bool | None = run_field()
    clock: str = common_settings.clock()
    max_age: int = setting(
        5, "Keep the results of the last N steps (or turns) in full; replace older ones.", least=0
    )
    max_tokens: int = setting(
        2000, "Limit one result to N tokens, marker included; 0 for no limit.", least=0
    )
    max_lines: int = setting(
        0, "Keep at most N lines of one result, plus marker and notice; 0 for no limit.", least=0
    )
    max_bytes: int = setting(
        0, "Keep at most N bytes of one result, plus marker and notice; 0 for no limit.", least=0
    )
    max_chars: int = setting(
        0,
        "Keep at most N characters of one result, plus marker and notice; 0 for no limit.",
        least=0,
    )
    mode: Mode = setting("head-tail", "Keep this part of a clipped result.", choices=CLIPS)
    spill_above: int = setting(
        0, "Move results of more than N characters to a file; 0 for no limit.", least=0
    )
    tool: tuple[str, ...] = setting(
        (), "Override settings for one tool: NAME:max-tokens=500,mode=tail.", check=per_tool.check
    )
    replace: str = setting(
        "placeholder",
        "Choose the replacement of an old result; placeholder: a fixed text, stub: its path and "
        "size, head: its first lines and the pointer, summary: a line about it.",
        choices=MODES,
    )
    placeholder: str = setting(
        PLACEHOLDER,
        "Set the placeholder text; keys: {age}, {tokens}, {lines}, {tool}, {path}, {id} "
        "and {sha256}.",
        check=check_template,
    )
    pointer: str = setting(
        POINTER, "Set the text after the first lines with --replace head.", check=check_pointer
    )
    head_lines: int = setting(3, "Keep the first N lines with --replace head.", least=0)
    assign_ids: bool = setting(
        False, "Assign an id to results without one, so that a pointer can name it."
    )


class Verdict(NamedTuple):
    """A result as it is written, the action on it and the reason.

    `is_unsure`: the result is old but was kept (`kept_for`: why), and then clipped.
    """

    message: Message
    action: Action
    reason: str
    is_unsure: bool = False
    kept_for: str | None = None


@dataclass(frozen=True)
class ResultRule:
    """The limits for the results of a tool, and the verdicts by them.

    `adds_metadata`: shortened results get members with their length and age.
    """

    settings: ResultSettings
    adds_metadata: bool

    @cached_property
    def replacement(self) -> Replacement:
        """The text that replaces an old result."""
        settings = self.settings
        return Replacement(
            settings.replace,
            settings.placeholder,
            settings.pointer,
            settings.head_lines,
            settings.assign_ids,
        )

    def is_old(self, age: int) -> bool:
        """Whether a result of an age is too old."""
        return self.settings.clock != "none" and age > self.settings.max_age

    def verdict(
        self, result: ToolResult, keep: KeepReason, newest: ToolResult | None, fan: int
    ) -> Verdict:
        """The verdict on a result that is not pinned."""
        if not result.is_rewritable:
            return Verdict(result.message, "kept", "not rewritable")
        if self.replacement.is_done(result.text) or spilled_to(result.text) is not None:
            return Verdict(result.message, "kept", "truncated before")
        is_old = self.is_old(result.age)
        if newest is not None:
            shorter = self._smaller(result, copy_text(newest), fan)
            if shorter is not None:
                return Verdict(shorter, "truncated", f"same as message {newest.message.index}")
        if is_old and keep.reason is None:
            shorter = self.replaced(result, fan)
            if shorter is not None:
                return Verdict(shorter, "truncated", f"age {result.age} > {self.settings.max_age}")
        if keep.in_full:
            return Verdict(result.message, "kept", keep.reason or "")
        return self._clipped(result, keep, fan, is_old)

    def _clipped(self, result: ToolResult, keep: KeepReason, fan: int, is_old: bool) -> Verdict:
        """The verdict on a result by its size limits."""
        settings, counter = self.settings, self.settings.counter

        def cost(text: str) -> int:
            return counter.cost(result.with_text(text), fan).total

        limits, path_of = self._limits, settings.path_of
        short = limits.shortened(result.text, lambda: keep.ranges, counter, cost, path_of)
        if short is not None:
            message = self._smaller(result, short.text, fan)
            if message is not None:
                action: Action = "archived" if short.is_spilled else "truncated"
                return Verdict(message, action, short.reason, is_old, keep.reason)
            reason = _NOT_SMALLER
        elif is_old:
            reason = _NOT_SMALLER if keep.reason is None else keep.reason
        elif settings.clock == "none":
            reason = "within the limits"
        else:
            reason = f"age {result.age} <= {settings.max_age}"
        return Verdict(result.message, "kept", reason)

    def replaced(self, result: ToolResult, fan: int) -> Message | None:
        """A result with its replacement text; None if that is not smaller."""
        settings, counter = self.settings, self.settings.counter

        def tokens() -> str:
            return f"{MARKS[counter.tokenizer.exactness]}{counter.text(result.text)}"

        text = self.replacement.of(result, tokens)
        if settings.replace == "head" and self.is_too_long(text):

            def with_lines(lines: int) -> str:
                return dataclasses.replace(self.replacement, lines=lines).of(result, tokens)

            fewer = range(1, settings.head_lines)
            fitting = bisect_left(fewer, True, key=lambda n: self.is_too_long(with_lines(n)))
            text = with_lines(fitting)
        return self._smaller(result, text, fan)

    def is_too_long(self, text: str) -> bool:
        """Whether a text has more tokens than a result may have."""
        return 0 < self.settings.max_tokens < self.settings.counter.text(text)

    def _smaller(self, result: ToolResult, text: str, fan: int) -> Message | None:
        """A result with another text; None if that is not smaller."""
        shorter, counter = result.with_text(text), self.settings.counter
        if counter.cost(shorter, fan).total >= counter.cost(result.message, fan).total:
            return None
        if self.adds_metadata:
            length = dict(result.message.metadata).get(METADATA[0], len(result.text))
            shorter = replace(
                shorter, metadata=tuple(zip(METADATA, (length, result.age), strict=True))
            )
        return shorter

    @cached_property
    def _limits(self) -> SizeLimits:
        settings = self.settings
        return SizeLimits(
            tokens=settings.max_tokens,
            lines=settings.max_lines,
            bytes=settings.max_bytes,
            characters=settings.max_chars,
            mode=settings.mode,
            spill=settings.spill_above,
        )
