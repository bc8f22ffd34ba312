"""What a rule of a provider is, and the conversation it looks at."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from ctxtrim.conversation.turns import Shape
from ctxtrim.model import Message
from ctxtrim.stage import Severity


@dataclass(frozen=True)
class Conversation:
    """The messages of a transcript and their shape; `has_tools`: the request would carry tool schemas.

    `records_calls` is that of `Transcript`.
    """

    messages: Sequence[Message]
    shape: Shape
    has_tools: bool = False
    records_calls: bool = True

    @cached_property
    def sent(self) -> Sequence[tuple[int, Message]]:
        """The messages that are sent, with their positions: a rule says nothing of hidden ones."""
        return [(position, message) for position, message in enumerate(self.messages) if message.agent_visible]


class Breach(NamedTuple):
    """A place where a rule is broken: the position of the message, and what is wrong with it."""

    position: int
    what: str


class Rule(NamedTuple):
    """A rule: its stable code, what breaks it, and what the provider answers (as reported; the source in brackets).

    `severity` is `warning` where a rule is not verified or holds for some models only. `for_request`: it holds only for
    a request that is about to be sent, so that a recording may break it.
    """

    code: str
    breaches: Callable[[Conversation], Iterable[Breach]]
    answer: str
    severity: Severity = "error"
    for_request: bool = False


class Profile(NamedTuple):
    """The rules of a provider."""

    name: str
    rules: tuple[Rule, ...]
