"""Keep so many tool results in view: of older steps a digest is left.

The oldest step goes first, calls and results together, until no more results than that are left. Its digest is the
client's message, which the person is not shown. Where a format can say that a message is hidden the step stays in the
file, else it is dropped. A step stays that is pinned, that still waits for a result, that nothing has followed yet,
or whose digest would not be smaller.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from operator import not_

from ctxtrim import pins
from ctxtrim.archiving import Archiving, fell_back
from ctxtrim.counter import Counter
from ctxtrim.digests import MODES, Digests, Step, steps
from ctxtrim.model import Transcript
from ctxtrim.stage import Change, Outcome, change_of, seam, setting
from ctxtrim.summaries import REDACT, Summarizer, titles
from ctxtrim.tokens import Budget


@dataclass(frozen=True)
class Cutoff:
    """Old steps give way to their digests, one each."""

    counter: Counter
    budget: Budget
    summarizer: Summarizer | None = seam()
    tool_cutoff: int = setting(10, "How many tool results the model sees at most; older steps go.", least=0)
    tool_summary: str = setting(
        "llm", "Who writes digests of tool results: an LLM where one is configured; off: they all stay.", choices=MODES
    )
    summary_place: str = setting(
        "in-place",
        "Where digests stand: where the step was, or before the newest prompt.",
        choices=("in-place", "append"),
    )
    redact: bool = setting(True, REDACT, is_restricted=not_)
    pin: tuple[str, ...] = setting((), pins.PIN, check=pins.check)

    def __call__(self, transcript: Transcript) -> Outcome:
        """Changes name every message that went, and the results that stayed although they are too many."""
        messages = transcript.messages
        visible = sum(message.role == "tool" and message.agent_visible for message in messages)
        if visible <= self.tool_cutoff or self.tool_summary == "off":
            return Outcome(transcript)
        where = self.counter.shape(messages)
        costs = [cost.total for cost in self.counter.costs(messages)]
        held = pins.pinned(messages, where, self.pin)
        digests = Digests(self.counter, self.tool_summary, self.summarizer, self.redact)
        archiving = Archiving(transcript, where, self.summary_place == "append")
        stayed: list[Change] = [change_of(messages, place, "kept", why) for place, why in held.items()]
        troubles: dict[str, None] = {}
        reason = f"{visible} tool results > {self.tool_cutoff}"
        for step in steps(messages, where, held.keys()):
            if visible <= self.tool_cutoff:
                break
            if not archiving.can_take(step):
                stayed += self._stays(transcript, step, "two prompts would stand side by side")
                continue
            found = digests.of([step], titles.STEP, sum(costs[place] for place in step.positions))
            if found.trouble is not None:
                troubles[found.trouble] = None
            if not found.text:
                stayed += self._stays(transcript, step, "a digest would not be smaller")
                continue
            archiving.take(step)
            archiving.put(found.text, step)
            visible -= len(step.results)
        if not archiving.gone:
            return Outcome(transcript, tuple(stayed))
        after, changes = archiving.finish(reason)
        if self.counter.tokens(after) >= self.counter.tokens(transcript):
            return Outcome(transcript)
        return Outcome(after, (*changes, *stayed), tuple(map(fell_back, troubles)))

    def _stays(self, transcript: Transcript, step: Step, why: str) -> Sequence[Change]:
        return [change_of(transcript.messages, one.position, "kept", why) for one in step.results]
