"""`check`: report whether a transcript fits its budget and has a valid structure."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, ClassVar

from ctxtrim.conversation.tool_results import result_text, tool_name
from ctxtrim.conversation.turns import Shape, visible
from ctxtrim.findings import Finding, overflow
from ctxtrim.model import Transcript
from ctxtrim.stage import RULES, Outcome, Stage, setting
from ctxtrim.stages.largest import largest
from ctxtrim.stages.structure import PAIRING, PROFILES, STRICT_ROLES, findings
from ctxtrim.stages.structure.rule import Rule
from ctxtrim.text.numbers import fraction
from ctxtrim.tokens.tokenizer import MARKS

_NAMED = 5  # of the largest messages
_ADVICE = "These are its largest messages; make it fit with `ctxtrim trim`, or raise the budget."
_TOOLS = 3  # that a finding about the share of tools names


@dataclass(frozen=True)
class Check(Stage):
    """Check that the transcript fits the budget and the limits and keeps the structure rules.

    Findings only: `overflow`, the codes of limits that a transcript is above, and those of the
    structure rules that it breaks.
    """

    is_verdict: ClassVar[bool] = True

    profile: str = setting(
        "",
        f"Check the structure rules of a provider: {', '.join(PROFILES)}.",
        choices=("", *PROFILES),
        panel=RULES,
    )
    as_: str = setting(
        "recording",
        "Report rules that apply only to a request as warnings (recording) or errors (request): "
        "a call without a result at the end; with --profile anthropic, gemini or strict also an "
        "answer at the end.",
        choices=("recording", "request"),
        panel=RULES,
    )
    max_messages: int | None = setting(
        None,
        "Set the maximum number of messages; compacted ones do not count.",
        least=1,
        panel=RULES,
    )
    max_tokens_per_result: int | None = setting(
        None, "Set the maximum tokens of one tool result.", least=1, panel=RULES
    )
    max_tool_share: float = setting(
        1.0,
        "Set the maximum share of tokens in tool calls and results, as in 60% or 0.6.",
        least=0,
        check=fraction,
        units={"%": 0.01},
        panel=RULES,
    )

    @staticmethod
    def accepts_bounds(settings: Mapping[str, Any]) -> bool:
        """Whether no limit needs the tokens of parts of a transcript."""
        return not settings["max_tokens_per_result"] and settings["max_tool_share"] >= 1

    def __call__(self, transcript: Transcript) -> Outcome:
        """Without a profile, only the pairing of calls and results is checked, and strict roles."""
        shape = self.counter.shape(transcript.messages)
        is_request = self.as_ == "request"
        broken = findings(self._rules(transcript), transcript, shape, is_request=is_request)
        return Outcome(
            transcript,
            findings=(
                *self._overflow(transcript),
                *self._messages(transcript),
                *self._results(transcript, shape),
                *self._tools(transcript),
                *broken,
            ),
        )

    def _rules(self, transcript: Transcript) -> Sequence[Rule]:
        if self.profile:
            return PROFILES[self.profile]
        strict = transcript.strict_roles
        return STRICT_ROLES[strict] if strict else PAIRING

    def _overflow(self, transcript: Transcript) -> Iterator[Finding]:
        tokens = self.counter.tokens(transcript)
        if tokens > self.budget.available:
            exactness = self.counter.exactness(transcript)
            details = [subject.text for subject in largest(self.counter, transcript, _NAMED)]
            available = self.budget.available
            yield overflow(transcript, tokens, available, details, exactness, _ADVICE)

    def _messages(self, transcript: Transcript) -> Iterator[Finding]:
        """The finding about too many messages."""
        limit, number = self.max_messages, len(visible(transcript.messages))
        if limit is not None and number > limit:
            text = f"{number:,} messages, above max-messages {limit:,}"
            yield Finding("max-messages", "error", text, transcript.line)

    def _results(self, transcript: Transcript, shape: Shape) -> Iterator[Finding]:
        """A finding for each result with too many tokens."""
        limit, messages = self.max_tokens_per_result, transcript.messages
        if limit is None:
            return
        mark = MARKS[self.counter.exactness(transcript)]
        above = f"above max-tokens-per-result {limit:,}"
        for position in visible(messages):
            message = messages[position]
            result = message.result
            if result is None:
                continue
            tokens = self.counter.text(result_text(message))
            if tokens > limit:
                name = tool_name(result, shape.call[position])
                text = f"result of {name}: {mark}{tokens:,} tokens, {above}"
                line = transcript.line_of(message)
                yield Finding("max-tokens-per-result", "error", text, line, message.index, tokens)

    def _tools(self, transcript: Transcript) -> Iterator[Finding]:
        """The finding about too large a share of calls and results."""
        if self.max_tool_share >= 1:
            return
        count = self.counter.count(transcript)
        tokens = sum(count.by_tool.values())
        if tokens > self.max_tool_share * count.tokens:
            largest_tools = ", ".join(
                f"{name} {cost / count.tokens:.1%}"
                for name, cost in islice(count.by_tool.items(), _TOOLS)
            )
            text = (
                f"tools have {tokens / count.tokens:.1%} of the tokens, above max-tool-share "
                f"{100 * self.max_tool_share:.4g}% ({largest_tools})"
            )
            yield Finding("max-tool-share", "error", text, transcript.line, tokens=tokens)
