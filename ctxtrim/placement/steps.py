"""Replace the oldest steps by digests until no more tool results are visible than allowed."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from ctxtrim.conversation.turns import Shape, current_task
from ctxtrim.model import Message, Transcript
from ctxtrim.placement.digests import Digests, Step, steps
from ctxtrim.placement.leads import can_lead, is_digest, leads, with_leads
from ctxtrim.placement.replace import replace_messages, takes_turns
from ctxtrim.stage import Action, Change, Finding, change_of
from ctxtrim.summaries import markers
from ctxtrim.summaries.digests import Entry, bounded, entries_of, written

_MOST = 4096  # tokens that all digests of a transcript have together, and at most this part of the budget:
_SHARE = 8
_ASKED = 300  # tokens: about a digest that an LLM writes


@dataclass(frozen=True)
class Cut:
    """The transcript with digests, and what was done to each message; results that are too many may be kept.

    `is_cut`: whether any step was replaced.
    """

    transcript: Transcript
    changes: tuple[Change, ...] = ()
    findings: tuple[Finding, ...] = ()
    is_cut: bool = False


def visible_results(transcript: Transcript) -> int:
    """The number of tool results that the model sees."""
    return sum(message.role == "tool" and message.agent_visible for message in transcript.messages)


def cut_off(
    transcript: Transcript,
    digests: Digests,
    budget: int,
    held: Mapping[int, str],
    cutoff: int,
    appends: bool = False,
    is_compaction: bool = False,
) -> Cut:
    """Replace the oldest steps by digests until at most `cutoff` results are visible.

    `budget` in tokens bounds all digests together. `held` are the positions of messages that are kept, each with the
    reason. `appends`: digests precede the newest prompt instead of following the step. `is_compaction`: one digest for
    all steps.
    """
    visible = visible_results(transcript)
    if visible <= cutoff or digests.mode == "off":
        return Cut(transcript)
    messages = transcript.messages
    reason = f"{visible} tool results > {cutoff}"
    counter = digests.counter
    where = counter.shape(messages)
    costs = [cost.total for cost in counter.costs(messages)]
    sites = _Sites(transcript, where, appends)
    stayed = [change_of(messages, place, "kept", why) for place, why in held.items()]
    taken: list[Step] = []
    newest = _newest(messages, cutoff)
    for step in steps(messages, where, held.keys()):
        if visible <= cutoff or step.results[0].position >= newest:
            break
        why = sites.obstacle(step)
        if why is not None:
            stayed += [change_of(messages, result.position, "kept", why) for result in step.results]
            continue
        sites.take(step)
        taken.append(step)
        visible -= len(step.results)
    most = min(_MOST, budget // _SHARE)
    entries, troubles = _entries(taken, digests, costs, most, is_compaction)
    if not entries:
        return Cut(transcript, tuple(stayed))
    after, changes = _placed(transcript, sites, entries, most, digests, reason)
    if counter.tokens(after) >= counter.tokens(transcript):
        why = "a digest would not be smaller"
        stayed += [change_of(messages, result.position, "kept", why) for step in taken for result in step.results]
        return Cut(transcript, tuple(stayed))
    findings = tuple(
        Finding("summary", "warning", f"{trouble}; lines about the results stand in its place") for trouble in troubles
    )
    return Cut(after, (*changes, *stayed), findings, is_cut=True)


def _newest(messages: Sequence[Message], number: int) -> int:
    """The position of the first of the newest results that the model sees; these are kept."""
    seen = [at for at, message in enumerate(messages) if message.role == "tool" and message.agent_visible]
    return seen[-number] if number else len(messages)


def _entries(
    taken: Sequence[Step], digests: Digests, costs: Sequence[int], most: int, is_compaction: bool
) -> tuple[list[tuple[Step, Entry]], list[str]]:
    """The digest of each step, or one of all steps with the last of them; and why an LLM did not write some."""
    found: list[tuple[Step, Entry]] = []
    troubles: dict[str, None] = {}
    groups = [taken] if is_compaction and taken else [[step] for step in taken]
    asked = len(groups) - max(1, most // 2 // _ASKED)  # older digests are kept briefly, so no LLM is asked
    for number, group in enumerate(groups):
        tokens = sum(costs[place] for step in group for place in step.positions)
        digest = digests.of(group, tokens, asks=number >= asked)
        if digest.trouble is not None:
            troubles[digest.trouble] = None
        found.append((group[-1], Entry(markers.DIGEST if is_compaction else markers.STEP, digest.text)))
    return found, list(troubles)


@dataclass
class _Sites:
    """Where the digests of removed steps may stand.

    Where roles must alternate, the next visible message is an answer that can begin with the digests.
    """

    transcript: Transcript
    where: Shape
    appends: bool
    gone: set[int] = field(default_factory=set)

    def __post_init__(self) -> None:
        messages = self.transcript.messages
        self.alternates = takes_turns(messages)
        self.joins = self.transcript.must_alternate and not self.transcript.hides
        self.task = current_task(messages) if self.appends and not self.joins else None
        seen = [
            place
            for place, message in enumerate(messages)
            if message.agent_visible and message.role != "system" and not is_digest(message)
        ]
        self._after: dict[int, int] = dict(pairwise(seen))
        self._ends = list(_ends(self.where.exchange))

    def obstacle(self, step: Step) -> str | None:
        """Why a digest of the step finds no place; None where it does."""
        if not (self.joins and self.alternates):
            return None
        after = self._after.get(step.positions[-1])
        if after is not None:
            answer = self.transcript.messages[after]
            if answer.role == "assistant" and can_lead(answer, self.transcript.adds_texts):
                return None
        return "no answer follows that can begin with its digest"

    def take(self, step: Step) -> None:
        """Remove a step."""
        self.gone.update(step.positions)

    def of(self, step: Step) -> int:
        """The position before which a digest stands: no exchange continues there, and no system message follows."""
        messages = self.transcript.messages
        if self.task is not None:
            return self.task
        place = step.positions[-1]
        while True:
            if self._ends[place] > place:
                place = self._ends[place]
            elif place + 1 < len(messages) and messages[place + 1].role == "system":
                place += 1
            else:
                return place + 1


def _placed(
    transcript: Transcript,
    sites: _Sites,
    entries: Sequence[tuple[Step, Entry]],
    most: int,
    digests: Digests,
    reason: str,
) -> tuple[Transcript, list[Change]]:
    """The transcript with new and earlier digests, which are bounded together, and what was done to each message."""
    messages = list(transcript.messages)
    groups = _groups(messages, sites, entries)
    flat = [entry for _, some in groups for entry in some]
    texts = iter(bounded(flat, most, digests.counter.text))
    new: dict[int, str] = {}
    gone, merged = set(sites.gone), []
    for (place, is_known), some in groups:
        text = written([entry for entry in (Entry(title, next(texts)) for title, _ in some) if entry.text])
        if not is_known:
            new |= {place: text} if text else {}
        elif text != leads(messages[place]).digests:
            if not text and is_digest(messages[place]):
                gone.add(place)
            else:
                messages[place] = with_leads(messages[place], leads(messages[place]).summary, text or None)
                merged.append(place)
    whole = replace(transcript, messages=tuple(messages))
    found = replace_messages(whole, gone, digests=new, alternates=sites.alternates)
    old = transcript.messages
    changes = [change_of(old, place, "summarized", reason) for place in sorted(gone)]
    changes += [change_of(old, place, "merged", "all digests are bounded together") for place in merged]
    after = found.transcript.messages
    for place in found.touched:
        action: Action = "inserted" if after[place].index is None else "merged"
        changes.append(change_of(after, place, action, "a digest of the steps before it"))
    return found.transcript, changes


_Group = tuple[tuple[int, bool], list[Entry]]


def _groups(messages: Sequence[Message], sites: _Sites, entries: Sequence[tuple[Step, Entry]]) -> list[_Group]:
    """All digests in order, by the message that they precede, or that already begins with them or consists of them.

    Digests of an answer that is removed go to the place of its own; new ones join a message of digests before them.
    """
    at: dict[int, list[Entry]] = {}
    for step, entry in entries:
        at.setdefault(sites.of(step), []).append(entry)
    groups: list[_Group] = []
    moved: list[Entry] = []
    last: list[Entry] | None = None  # the digests right before, where they are a message of their own
    for place in range(len(messages) + 1):
        if place in at:
            new = [*moved, *at[place]]
            moved = []
            if last is None:
                groups.append(((place, False), last := new))
            else:
                last += new
        if place == len(messages):
            break
        message = messages[place]
        if not message.agent_visible or message.role == "system":
            continue
        known = leads(message).digests
        if place in sites.gone:
            moved += entries_of(known) if known is not None else []
            continue
        last = None
        if known is not None:
            groups.append(((place, True), entries_of(known)))
            last = groups[-1][1] if is_digest(message) and not sites.joins else None
    return groups


def _ends(exchange: Sequence[int]) -> Iterator[int]:
    """For each position the last message of all exchanges that have begun by then."""
    last: Mapping[int, int] = {home: place for place, home in enumerate(exchange)}
    end = -1
    for home in exchange:
        end = max(end, last[home])
        yield end
