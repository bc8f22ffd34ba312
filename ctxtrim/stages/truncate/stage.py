"""Shorten tool results: replace old results, clip long ones.

Count, order, role, ids and all other fields are kept. The outcome of each result::

    pinned, or replaced before             keep
    same as a newer result (dedupe)        point to the newer result
    older than max_age, no keep rule       replace: placeholder, stub, first lines, one-line summary
    too long, and not a file in use        spill or clip; a clip shows the ranges worth keeping
    all others                             keep

A result is changed only if it gets smaller.
"""

import dataclasses
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from msgspec.structs import replace

from ctxtrim.clipping.clipper import MODES as CLIPS
from ctxtrim.clipping.layout import Mode
from ctxtrim.clipping.limits import spilled_to
from ctxtrim.conversation import pins
from ctxtrim.conversation.tool_results import METADATA, ToolResult, results
from ctxtrim.conversation.turns import Shape
from ctxtrim.evidence.duplicates import copies
from ctxtrim.evidence.evidence import Evidence
from ctxtrim.model import Message, Transcript
from ctxtrim.stage import KEEP, Action, Outcome, Stage, change_of, run_field, setting
from ctxtrim.stages import common_settings
from ctxtrim.stages.keep_rules import KEEP_SMALL, KeepReason, KeepRules
from ctxtrim.stages.placeholder import (
    MODES,
    PLACEHOLDER,
    POINTER,
    Replacement,
    check_pointer,
    check_template,
    copy_text,
    no_trace_id,
)
from ctxtrim.stages.truncate import per_tool
from ctxtrim.stages.truncate.size_limit import PathOf, SizeLimits
from ctxtrim.text.numbers import several
from ctxtrim.tokens.tokenizer import MARKS

_NOT_SMALLER = "a shorter text would not save tokens"


@dataclass(frozen=True)
class _Limits(Stage):
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


@dataclass(frozen=True)
class Truncate(KeepRules, _Limits):
    """Shorten tool results that are too old or too long.

    The order of the base classes is the order of the settings, last base first.
    """

    keep_small: int = setting(100, KEEP_SMALL, least=0, panel=KEEP)
    pin: tuple[str, ...] = common_settings.pin()
    dedupe: bool = setting(
        False, "Keep only the newest of equal results of a tool; point to it from the others."
    )
    metadata: bool = setting(False, "Add _originalLength and _truncatedAt to shortened results.")
    current_step: int | None = setting(
        None, "Count ages from this step. [default: the last step]", least=0
    )
    current_turn: int | None = setting(
        None, "Count ages from this turn. [default: the last turn]", least=0
    )

    @staticmethod
    def idle(settings: Mapping[str, Any]) -> str:
        """Why nothing changes."""
        age, clock, max_tokens = settings["max_age"], settings["clock"], settings["max_tokens"]
        limits = [f"older than {several(age, clock.removesuffix('s'))}"] if clock != "none" else []
        limits += [f"longer than {max_tokens:,} tokens"] if max_tokens else []
        advice = "; try --max-age 1" if clock != "none" and age > 1 else ""
        return f"no result {' or '.join(limits) or 'above a limit'} can be shortened{advice}"

    @staticmethod
    def unused(settings: Mapping[str, Any]) -> Mapping[str, str]:
        """The settings of other clocks and replacements."""
        reasons = per_tool.unused_replacements(settings)
        if settings["clock"] != "turns":
            reasons["current_turn"] = "without --clock turns"
        if settings["clock"] == "none":
            reasons["max_age"] = "with --clock none"
        return reasons

    @staticmethod
    def moves_results(settings: Mapping[str, Any]) -> bool:
        """Whether results of any tool are moved to files."""
        rules = per_tool.rules(settings["tool"]).values()
        return bool(settings["spill_above"]) or any(rule.get("spill_above") for rule in rules)

    def __call__(self, transcript: Transcript) -> Outcome:
        """Changes name every tool result, kept results with the reason unless the run is brief."""
        messages = transcript.messages
        shape = self.counter.shape(messages)
        ages = shape.ages(
            self.clock, self.current_turn if self.clock == "turns" else self.current_step
        )
        tool_results = results(shape, ages)
        for result in tool_results:
            if self._replacement.lacks_id(result):
                return Outcome(transcript, (), (no_trace_id(transcript, result.message),))
        keep_reasons = self._keep_reasons(shape, ages, tool_results)
        pinned = pins.pinned(shape, self.pin)
        newer = copies(shape) if self.dedupe else {}
        by_position = {result.position: result for result in tool_results} if newer else {}
        verdicts: dict[int, _Verdict] = {}
        for result in tool_results:
            position = result.position
            if position in pinned:
                verdicts[position] = _Verdict(result.message, "kept", pinned[position])
                continue
            newest = by_position.get(newer.get(position, -1))
            verdicts[position] = self._rule(result)._verdict(
                result, keep_reasons[position], newest, shape.fan[position]
            )
        unsure = [result for result in tool_results if verdicts[result.position].is_unsure]
        if unsure:
            verdicts = self._second_verdicts(unsure, verdicts, shape, ages)
        changes = [
            change_of(messages, position, verdict.action, verdict.reason)
            for position, verdict in verdicts.items()
            if verdict.action != "kept" or not self.is_brief
        ]
        return Outcome(replace(transcript, messages=_edited(messages, verdicts)), tuple(changes))

    def _second_verdicts(
        self,
        unsure: Sequence[ToolResult],
        verdicts: Mapping[int, "_Verdict"],
        shape: Shape,
        ages: Sequence[int],
    ) -> dict[int, "_Verdict"]:
        """All verdicts if old results are replaced whose clip does not show the range that kept
        them.

        A replacement may be what kept another result, so this is repeated until nothing changes.
        """
        verdicts, waiting = dict(verdicts), {result.position: result for result in unsure}
        while waiting:
            shape_after = replace(shape, messages=_edited(shape.messages, verdicts))
            clips = [result for result in results(shape_after, ages) if result.position in waiting]
            keep_reasons = self._keep_reasons(shape_after, ages, clips)
            lost = [clip for clip in clips if keep_reasons[clip.position].reason is None]
            if not lost:
                break
            for clip in lost:
                position, rule, fan = clip.position, self._rule(clip), shape.fan[clip.position]
                # a clip may have more lines than its result, so that its first lines are smaller
                message = rule._replaced(waiting.pop(position), fan) or rule._replaced(clip, fan)
                if message is not None:
                    reason = f"age {clip.age} > {rule.max_age}"
                    kept_for = verdicts[position].kept_for
                    if kept_for is not None:
                        reason += f"; the range that kept it ({kept_for}) does not fit"
                    verdicts[position] = _Verdict(message, "truncated", reason)
        return verdicts

    def _rule(self, result: ToolResult) -> "Truncate":
        """The stage with the settings of the result's tool."""
        return self._rules.get(result.tool.lower(), self)

    def _verdict(
        self, result: ToolResult, keep: KeepReason, newest: ToolResult | None, fan: int
    ) -> "_Verdict":
        """The verdict on a result that is not pinned."""
        if not result.is_rewritable:
            return _Verdict(result.message, "kept", "not rewritable")
        if self._replacement.is_done(result.text) or spilled_to(result.text) is not None:
            return _Verdict(result.message, "kept", "truncated before")
        is_old = self._is_old(result.age)
        if newest is not None:
            shorter = self._smaller(result, copy_text(newest), fan)
            if shorter is not None:
                return _Verdict(shorter, "truncated", f"same as message {newest.message.index}")
        if is_old and keep.reason is None:
            shorter = self._replaced(result, fan)
            if shorter is not None:
                return _Verdict(shorter, "truncated", f"age {result.age} > {self.max_age}")
        if keep.in_full:
            return _Verdict(result.message, "kept", keep.reason or "")
        return self._clipped(result, keep, fan, is_old)

    def _clipped(self, result: ToolResult, keep: KeepReason, fan: int, is_old: bool) -> "_Verdict":
        """The verdict on a result by its size limits."""

        def cost(text: str) -> int:
            return self.counter.cost(result.with_text(text), fan).total

        limits, counter = self._limits, self.counter
        short = limits.shortened(result.text, lambda: keep.ranges, counter, cost, self.path_of)
        if short is not None:
            message = self._smaller(result, short.text, fan)
            if message is not None:
                action: Action = "archived" if short.is_spilled else "truncated"
                return _Verdict(message, action, short.reason, is_old, keep.reason)
            reason = _NOT_SMALLER
        elif is_old:
            reason = _NOT_SMALLER if keep.reason is None else keep.reason
        elif self.clock == "none":
            reason = "within the limits"
        else:
            reason = f"age {result.age} <= {self.max_age}"
        return _Verdict(result.message, "kept", reason)

    def _replaced(self, result: ToolResult, fan: int) -> Message | None:
        """A result with its replacement text; None if that is not smaller."""

        def tokens() -> str:
            mark = MARKS[self.counter.tokenizer.exactness]
            return f"{mark}{self.counter.text(result.text)}"

        text = self._replacement.of(result, tokens)
        if self.replace == "head" and self.max_tokens and self._exceeds(text):

            def with_lines(lines: int) -> str:
                return dataclasses.replace(self._replacement, lines=lines).of(result, tokens)

            fewer = range(1, self.head_lines)
            fitting = bisect_left(fewer, True, key=lambda n: self._exceeds(with_lines(n)))
            text = with_lines(fitting)
        return self._smaller(result, text, fan)

    def _exceeds(self, text: str) -> bool:
        """Whether a text has more tokens than a result may have."""
        return self.counter.text(text) > self.max_tokens

    def _smaller(self, result: ToolResult, text: str, fan: int) -> Message | None:
        """A result with another text; None if that is not smaller."""
        shorter = result.with_text(text)
        if self.counter.cost(shorter, fan).total >= self.counter.cost(result.message, fan).total:
            return None
        if self.metadata:
            length = dict(result.message.metadata).get(METADATA[0], len(result.text))
            shorter = replace(
                shorter, metadata=tuple(zip(METADATA, (length, result.age), strict=True))
            )
        return shorter

    def _is_old(self, age: int) -> bool:
        return self.clock != "none" and age > self.max_age

    def _window(self) -> int:
        if self.active_steps is None and self.clock == "steps":
            return self.max_age
        return super()._window()

    def _keep_reasons(
        self, shape: Shape, ages: Sequence[int], tool_results: Sequence[ToolResult]
    ) -> dict[int, KeepReason]:
        """The reason to keep each result, by position."""
        recent = [not self._is_old(age) for age in ages]
        step = shape.steps if self.current_step is None else self.current_step
        return self.keep_reasons(self.counter, Evidence(shape), tool_results, recent, step)

    @cached_property
    def _rules(self) -> Mapping[str, "Truncate"]:
        """Copies of the stage with the settings of single tools, by tool name."""
        return {
            name: dataclasses.replace(self, **rule)  # type: ignore[arg-type]
            for name, rule in per_tool.rules(self.tool).items()
        }

    @cached_property
    def _replacement(self) -> Replacement:
        return Replacement(
            self.replace, self.placeholder, self.pointer, self.head_lines, self.assign_ids
        )

    @cached_property
    def _limits(self) -> SizeLimits:
        return SizeLimits(
            tokens=self.max_tokens,
            lines=self.max_lines,
            bytes=self.max_bytes,
            characters=self.max_chars,
            mode=self.mode,
            spill=self.spill_above,
        )


class _Verdict(NamedTuple):
    """A result as it is written, the action on it and the reason.

    `is_unsure`: the result is old but was kept (`kept_for`: why), and then clipped.
    """

    message: Message
    action: Action
    reason: str
    is_unsure: bool = False
    kept_for: str | None = None


def _edited(messages: Sequence[Message], verdicts: Mapping[int, _Verdict]) -> tuple[Message, ...]:
    """The messages with results as they are written."""
    edited = list(messages)
    for position, verdict in verdicts.items():
        edited[position] = verdict.message
    return tuple(edited)
