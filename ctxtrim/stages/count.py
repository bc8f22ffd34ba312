"""`count`: report the largest messages."""

from dataclasses import dataclass
from typing import ClassVar

from ctxtrim.model import Transcript
from ctxtrim.stage import REPORT, Outcome, Stage, setting
from ctxtrim.stages.largest import largest


@dataclass(frozen=True)
class LargestMessages(Stage):
    """List the largest messages. Every report shows the costs of all messages."""

    is_verdict: ClassVar[bool] = True

    largest: int = setting(5, "List the N largest messages.", least=0, panel=REPORT)

    def __call__(self, transcript: Transcript) -> Outcome:
        """The transcript as it is, with its largest messages."""
        return Outcome(transcript, large=tuple(largest(self.counter, transcript, self.largest)))
