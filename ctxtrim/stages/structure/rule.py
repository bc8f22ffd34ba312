"""The rule of a provider, and the conversation that it checks."""

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from ctxtrim.conversation.thinking import requires_thinking
from ctxtrim.conversation.turns import Shape
from ctxtrim.findings import Code, Severity
from ctxtrim.model import Message, Transcript


class CheckedMessages(Struct, frozen=True, dict=True):
    """The messages of a transcript and their shape.

    `has_tools`: the request contains tool schemas. `has_calls`: every result has its call in the
    transcript. `is_anthropic`: they are of a request to Anthropic, in which their elements count.
    `needs_thinking`: the request enables thinking, so the tool loop must start with it.
    """

    messages: Sequence[Message]
    shape: Shape
    has_tools: bool
    has_calls: bool
    is_anthropic: bool
    needs_thinking: bool

    @cached_property
    def sent(self) -> Sequence[tuple[int, Message]]:
        """The messages that are sent, with their positions. Rules ignore hidden messages."""
        return [
            (position, message)
            for position, message in enumerate(self.messages)
            if message.agent_visible
        ]


def checked(transcript: Transcript, shape: Shape, *, is_request: bool = False) -> CheckedMessages:
    """The messages of a transcript, to be checked.

    In a recording that omits all results, no call lacks its result.
    """
    if transcript.options.omits_results and not is_request:
        shape = replace(shape, unanswered=())
    has_calls = transcript.rules.records_calls and not transcript.options.continues_stored
    return CheckedMessages(
        transcript.messages,
        shape,
        has_tools=transcript.tools is not None,
        has_calls=has_calls,
        is_anthropic=transcript.options.api == "anthropic",
        needs_thinking=requires_thinking(transcript.options),
    )


class Breach(NamedTuple):
    """The position of a message that breaks a rule, and the problem."""

    position: int
    what: str


class Rule(NamedTuple):
    """A rule: its stable code, the check for breaches, and the provider's error message (source in
    brackets).

    `severity` is `warning` if a rule is not verified or applies to some models only. `for_request`:
    the rule applies only to a request about to be sent; a recording may break it.
    """

    code: Code
    breaches: Callable[[CheckedMessages], Iterable[Breach]]
    answer: str
    severity: Severity = "error"
    for_request: bool = False
