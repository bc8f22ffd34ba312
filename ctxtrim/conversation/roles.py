"""The order of roles in a conversation, which edits keep: which messages have to stay for it, and
how it is restored after others were dropped.

`elements` keeps the order that strict providers demand, `alternation` that of other conversations.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from ctxtrim.conversation.alternation import (
    has_late_system,
    is_alternating,
    separate_answers,
    separate_prompts,
    with_answers_after_system,
)
from ctxtrim.conversation.elements import Separation, starts_and_alternates
from ctxtrim.conversation.turns import Shape
from ctxtrim.model import StrictRoles

ROLES_ALTERNATE = "roles alternate"
"""Why a message is kept that separates two messages of one role."""


@dataclass(frozen=True)
class RoleOrder:
    """The order of roles in a conversation as read. `strict`: that of its transcript.

    Elements alternate if the provider demands it and they do so already. In all other conversations
    user and assistant stay alternating if they are, and answers follow system messages in the
    middle.
    """

    shape: Shape
    strict: StrictRoles

    @cached_property
    def is_strict(self) -> bool:
        """Whether the provider demands alternating elements, and they alternate."""
        return bool(self.strict) and starts_and_alternates(self.shape.messages, self.strict)

    @cached_property
    def alternates(self) -> bool:
        """Whether user and assistant alternate: elements if the order is strict, else messages."""
        return self.is_strict or is_alternating(self.shape)

    @cached_property
    def _has_late_system(self) -> bool:
        return has_late_system(self.shape.messages)

    @property
    def is_free(self) -> bool:
        """Whether the order demands nothing."""
        return not (self.alternates or self._has_late_system)

    def with_separators(
        self, costs: Sequence[int], protected: Mapping[int, str]
    ) -> Mapping[int, str]:
        """The protected messages and those that have to stay between them, each with its reason."""
        if not self.is_strict:
            return self.with_answers(costs, protected)
        positions = range(len(self.shape.messages))
        dropped = set(positions) - protected.keys()
        self.separate(costs, sum(costs), dropped, protected)
        return {at: protected.get(at, ROLES_ALTERNATE) for at in positions if at not in dropped}

    def with_answers(self, costs: Sequence[int], kept: Mapping[int, str]) -> Mapping[int, str]:
        """The kept messages and answers to system messages in the middle, each with its reason."""
        if not self._has_late_system:
            return kept
        return with_answers_after_system(self.shape, costs, kept)

    def separate(
        self, costs: Sequence[int], room: int, dropped: set[int], protected: Mapping[int, str]
    ) -> None:
        """Keep the order although messages are dropped: restore some if there is room (`room`,
        tokens), or drop others that are not protected. Edits `dropped`, a set of positions.
        """
        if self.is_strict:
            Separation(self.shape, self.strict, costs, room, dropped, protected).separate()
        elif not self.is_free:
            separate_prompts(
                self.shape, costs, room, dropped, protected, alternates=self.alternates
            )

    def separate_after_summary(
        self,
        costs: Sequence[int],
        room: int,
        dropped: set[int],
        kept: Mapping[int, str],
        protected: Mapping[int, str],
    ) -> None:
        """Keep the order although a summary by the user replaces the dropped messages. Answers are
        separated too. Of the kept messages, prompts that are not protected may be dropped.
        """
        if self.is_strict:
            Separation(self.shape, self.strict, costs, room, dropped, kept, is_led=True).separate()
            return
        if self._has_late_system:
            protected = kept
        self.separate(costs, room, dropped, protected)
        separate_answers(self.shape, dropped)
