"""All evidence about the results of one conversation, each kind found once."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property

from ctxtrim.conversation.turns import Shape
from ctxtrim.evidence import active_files, duplicates
from ctxtrim.evidence.errors import is_error
from ctxtrim.evidence.quotes import quoted
from ctxtrim.evidence.used_by_calls import Use, uses_of_results
from ctxtrim.model import Message
from ctxtrim.text import Range


@dataclass(frozen=True)
class Evidence:
    """What the messages of a conversation say about its tool results, by position.

    Each kind of evidence is found when it is first needed.
    """

    shape: Shape

    @property
    def messages(self) -> Sequence[Message]:
        """The messages of the conversation."""
        return self.shape.messages

    @cached_property
    def is_error(self) -> Callable[[int], bool]:
        """Whether a result is an error."""
        return _judge(self.messages, is_loose=False)

    @cached_property
    def is_loose_error(self) -> Callable[[int], bool]:
        """Whether a result is an error if a word such as `failed` is enough."""
        return _judge(self.messages, is_loose=True)

    @cached_property
    def quotes(self) -> Mapping[int, Range]:
        """The results that the user quotes, each with the quoted range."""
        return quoted(self.shape)

    @cached_property
    def uses(self) -> Mapping[int, Sequence[Use]]:
        """The results that later calls used, each with its uses."""
        return uses_of_results(self.messages)

    def uses_by(self, callers: Sequence[bool]) -> Mapping[int, Sequence[Use]]:
        """The uses by calls of some messages only, which takes less time."""
        return uses_of_results(self.messages, callers)

    @cached_property
    def copies(self) -> Mapping[int, int]:
        """The results with the same text as a newer one, each with the newest."""
        return duplicates.copies(self.shape)

    @cached_property
    def reread(self) -> Mapping[int, int]:
        """The reads of files that were read in full later, each with the newest full read."""
        return active_files.reread(self.shape, self.accesses)

    def active_reads(self, step: int, active_steps: int) -> dict[int, str]:
        """The reads of files that were used in the last steps, each with the reason."""
        return active_files.active_reads(self.messages, self.accesses, step, active_steps)

    def outdated_reads(self, step: int, active_steps: int) -> set[int]:
        """The reads of files that changed later, before the last steps."""
        return active_files.outdated_reads(self.accesses, step, active_steps)

    @cached_property
    def accesses(self) -> Sequence[active_files.Access]:
        """The accesses of calls to files, in the order of their results."""
        return active_files.file_accesses(self.shape, self.is_error)


def _judge(messages: Sequence[Message], is_loose: bool) -> Callable[[int], bool]:
    """A cached function: whether the result at a position is an error."""
    return cache(lambda position: is_error(messages[position], is_loose))
