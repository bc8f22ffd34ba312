"""Shorten tool results: replace old results, clip long ones.

Count, order, role, ids and all other fields are kept. The outcome of each result (`result_rule`)::

    pinned, or replaced before             keep
    same as a newer result (dedupe)        point to the newer result
    older than max_age, no keep rule       replace: placeholder, stub, first lines, one-line summary
    too long, and not a file in use        spill or clip; a clip shows the ranges worth keeping
    all others                             keep

A result is changed only if it gets smaller.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from msgspec.structs import replace

from ctxtrim.conversation import pins
from ctxtrim.conversation.tool_results import ToolResult, results
from ctxtrim.conversation.turns import Shape
from ctxtrim.evidence.duplicates import copies
from ctxtrim.evidence.evidence import Evidence
from ctxtrim.findings import Finding
from ctxtrim.model import Message, Transcript
from ctxtrim.stage import KEEP, Outcome, change_of, setting
from ctxtrim.stages import common_settings
from ctxtrim.stages.keep_rules import KEEP_SMALL, KeepReason, KeepRules
from ctxtrim.stages.placeholder import no_trace_id
from ctxtrim.stages.truncate import per_tool
from ctxtrim.stages.truncate.result_rule import ResultRule, ResultSettings, Verdict
from ctxtrim.text.numbers import several


@dataclass(frozen=True)
class Truncate(KeepRules, ResultSettings):
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
        limits, advice = [], ""
        if clock != "none":
            limits.append(f"older than {several(age, clock.removesuffix('s'))}")
            advice = "; try --max-age 1" if age > 1 else ""
        if max_tokens:
            limits.append(f"longer than {max_tokens:,} tokens")
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
        now = self.current_turn if self.clock == "turns" else self.current_step
        ages = shape.ages(self.clock, now)
        tool_results = results(shape, ages)
        for result in tool_results:
            if self._rule.replacement.lacks_id(result):
                return Outcome(transcript, (), (no_trace_id(transcript, result.message),))
        keep_reasons = self._keep_reasons(shape, ages, tool_results)
        pinned = pins.pinned(shape, self.pin)
        newer = copies(shape) if self.dedupe else {}
        by_position = {result.position: result for result in tool_results} if newer else {}
        verdicts: dict[int, Verdict] = {}
        for result in tool_results:
            position = result.position
            if position in pinned:
                verdicts[position] = Verdict(result.message, "kept", pinned[position])
                continue
            newest = by_position.get(newer.get(position, -1))
            verdicts[position] = self._rule_of(result).verdict(
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
        findings: tuple[Finding, ...] = ()
        if all(verdict.action == "kept" for verdict in verdicts.values()):
            in_full = [
                result
                for result in tool_results
                if result.position not in pinned and keep_reasons[result.position].in_full
            ]
            findings = self._nothing(in_full, transcript)
        edited = replace(transcript, messages=_edited(messages, verdicts))
        return Outcome(edited, tuple(changes), findings)

    def _nothing(
        self, in_full: Sequence[ToolResult], transcript: Transcript
    ) -> tuple[Finding, ...]:
        """Why nothing is shortened, if some of the results that are kept in full are too long."""
        long = [result for result in in_full if self._rule_of(result).is_too_long(result.text)]
        if not long:
            return ()
        number = several(len(long), "tool result")
        noun = "that is too long shows a file" if len(long) == 1 else "that are too long show files"
        text = f"nothing was shortened: {number} {noun} in use; try --no-keep-active-files"
        return (Finding("nothing-to-replace", "info", text, transcript.line),)

    def _second_verdicts(
        self,
        unsure: Sequence[ToolResult],
        verdicts: Mapping[int, Verdict],
        shape: Shape,
        ages: Sequence[int],
    ) -> dict[int, Verdict]:
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
                position, rule, fan = clip.position, self._rule_of(clip), shape.fan[clip.position]
                # a clip may have more lines than its result, so that its first lines are smaller
                message = rule.replaced(waiting.pop(position), fan) or rule.replaced(clip, fan)
                if message is not None:
                    reason = f"age {clip.age} > {rule.settings.max_age}"
                    kept_for = verdicts[position].kept_for
                    if kept_for is not None:
                        reason += f"; the range that kept it ({kept_for}) does not fit"
                    verdicts[position] = Verdict(message, "truncated", reason)
        return verdicts

    def _window(self) -> int:
        if self.active_steps is None and self.clock == "steps":
            return self.max_age
        return super()._window()

    def _keep_reasons(
        self, shape: Shape, ages: Sequence[int], tool_results: Sequence[ToolResult]
    ) -> dict[int, KeepReason]:
        """The reason to keep each result, by position."""
        recent = [not self._rule.is_old(age) for age in ages]
        step = shape.steps if self.current_step is None else self.current_step
        return self.keep_reasons(self.counter, Evidence(shape), tool_results, recent, step)

    def _rule_of(self, result: ToolResult) -> ResultRule:
        """The rule for the results of the result's tool."""
        return self._rules.get(result.tool.lower(), self._rule)

    @cached_property
    def _rule(self) -> ResultRule:
        # of a copy, because a cycle of references would keep the transcript in memory
        return ResultRule(dataclasses.replace(self), self.metadata)

    @cached_property
    def _rules(self) -> Mapping[str, ResultRule]:
        """The rules for single tools with settings of their own, by tool name."""
        return {
            name: ResultRule(
                dataclasses.replace(self, **rule),  # type: ignore[arg-type]
                self.metadata,
            )
            for name, rule in per_tool.rules(self.tool).items()
        }


def _edited(messages: Sequence[Message], verdicts: Mapping[int, Verdict]) -> tuple[Message, ...]:
    """The messages with results as they are written."""
    edited = list(messages)
    for position, verdict in verdicts.items():
        edited[position] = verdict.message
    return tuple(edited)
