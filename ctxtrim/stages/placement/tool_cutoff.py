"""Replace the oldest steps by digests until no more tool results are visible than allowed."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import takewhile
from typing import NamedTuple

from msgspec.structs import replace

from ctxtrim.conversation.protection import required
from ctxtrim.conversation.turns import visible
from ctxtrim.findings import Finding
from ctxtrim.model import Message, Transcript
from ctxtrim.stage import Action, Change, Outcome, change_of
from ctxtrim.stages.placement.digest_sites import DigestSites
from ctxtrim.stages.placement.digest_writer import DigestWriter, Step, steps
from ctxtrim.stages.placement.leads import is_digest, leads, with_leads
from ctxtrim.stages.placement.message_replacement import replace_messages
from ctxtrim.summaries import markers
from ctxtrim.summaries.digests import DigestEntry, bounded_texts, digest_text, entries_of
from ctxtrim.summaries.excerpts import without_marks

_MAX_DIGESTS = 4096  # tokens of all digests together
_SHARE = 8  # and at most this fraction of the budget
_DIGEST = 300  # tokens: the usual length of a digest by an LLM


def cut_off(
    transcript: Transcript,
    writer: DigestWriter,
    budget: int,
    protected: Mapping[int, str],
    cutoff: int,
    *,
    appends: bool = False,
    is_compaction: bool = False,
) -> Outcome:
    """Replace the oldest steps by digests until at most `cutoff` results are visible.

    The changes also name the results that are kept although they exceed the limit. `budget`, in
    tokens, limits all digests together. `protected` maps positions of kept messages to reasons.
    `appends`: insert digests before the newest prompt, not after the step. `is_compaction`: write
    one digest for all steps.
    """
    messages = transcript.messages
    seen = [position for position in visible(messages) if messages[position].role == "tool"]
    if len(seen) <= cutoff or writer.mode == "off":
        return Outcome(transcript)
    newest = seen[-cutoff] if cutoff else len(messages)
    excess = len(seen) - cutoff
    reason = f"{len(seen)} tool results > {cutoff}"
    counter = writer.counter
    shape = counter.shape(messages)
    costs = [cost.total for cost in counter.costs(messages)]
    sites = DigestSites(transcript, shape, appends)
    protected = required(transcript, shape) | dict(protected)
    kept = [change_of(messages, position, "kept", why) for position, why in protected.items()]
    old = takewhile(lambda step: step.results[0].position < newest, steps(shape, protected.keys()))
    replaced, blocked = sites.replaceable(old, excess)
    kept += _kept(messages, blocked, "no answer follows that can begin with its digest")
    limit = min(_MAX_DIGESTS, budget // _SHARE)
    entries, troubles = _entries(replaced, writer, costs, limit, is_compaction)
    if not entries:
        return Outcome(transcript, tuple(kept))
    after, changes = _placed(transcript, sites, entries, limit, writer, reason)
    if counter.tokens(after) >= counter.tokens(transcript):
        kept += _kept(messages, replaced, "a digest would not be smaller")
        return Outcome(transcript, tuple(kept))
    return Outcome(after, (*changes, *kept), tuple(map(_warning, troubles)))


def _warning(trouble: str) -> Finding:
    """The finding for digests that an LLM did not write."""
    return Finding("summary", "warning", f"{trouble}; using one line per result instead")


def _kept(messages: Sequence[Message], steps: Sequence[Step], why: str) -> Iterator[Change]:
    """The changes of the results of steps that are kept."""
    for step in steps:
        for result in step.results:
            yield change_of(messages, result.position, "kept", why)


def _entries(
    taken: Sequence[Step],
    writer: DigestWriter,
    costs: Sequence[int],
    limit: int,
    is_compaction: bool,
) -> tuple[list[tuple[Step, DigestEntry]], list[str]]:
    """The digest of each step, or one digest of all steps with the last step.

    Also returns why an LLM did not write some.
    """
    entries: list[tuple[Step, DigestEntry]] = []
    troubles: dict[str, None] = {}
    groups = [taken] if is_compaction and taken else [[step] for step in taken]
    # Older digests are shortened anyway, so no LLM writes them.
    first_by_llm = len(groups) - max(1, limit // 2 // _DIGEST)
    for number, group in enumerate(groups):
        tokens = sum(costs[position] for step in group for position in step.positions)
        digest = writer.of(group, tokens, may_ask=number >= first_by_llm)
        if digest.trouble is not None:
            troubles[digest.trouble] = None
        entries.append(
            (group[-1], DigestEntry(markers.DIGEST if is_compaction else markers.STEP, digest.text))
        )
    return entries, list(troubles)


def _placed(
    transcript: Transcript,
    sites: DigestSites,
    entries: Sequence[tuple[Step, DigestEntry]],
    limit: int,
    writer: DigestWriter,
    reason: str,
) -> tuple[Transcript, list[Change]]:
    """The transcript with new and earlier digests within one limit, and the change
    of each message.
    """
    messages = list(transcript.messages)
    groups = _groups(messages, sites, entries)
    texts = _texts(groups, limit, writer.counter.text, transcript.marks)
    new: dict[int, str] = {}
    dropped, merged = set(sites.dropped), []
    for (position, has_digests, _), text in zip(groups, texts, strict=True):
        if not has_digests:
            if text:
                new[position] = text
            continue
        message = messages[position]
        summary, digests, _ = leads(message)
        if text == digests:
            continue
        if not text and is_digest(message):
            dropped.add(position)
        else:
            messages[position] = with_leads(message, summary, text or None)
            merged.append(position)
    whole = replace(transcript, messages=tuple(messages))
    placed = replace_messages(whole, dropped, digests=new, alternates=sites.alternates)
    old = transcript.messages
    changes = [change_of(old, position, "summarized", reason) for position in sorted(dropped)]
    changes += [
        change_of(old, position, "merged", "all digests are bounded together")
        for position in merged
    ]
    after = placed.transcript.messages
    for position in placed.touched:
        action: Action = "inserted" if after[position].index is None else "merged"
        changes.append(change_of(after, position, action, "a digest of the steps before it"))
    return placed.transcript, changes


class _Group(NamedTuple):
    """Digests that are shown together: those of the message at `position` if it `has_digests`,
    else new ones before it.
    """

    position: int
    has_digests: bool
    entries: list[DigestEntry]


def _groups(
    messages: Sequence[Message], sites: DigestSites, entries: Sequence[tuple[Step, DigestEntry]]
) -> list[_Group]:
    """All digests in order, by the message that they precede, lead or fill.

    Digests of a removed answer move to the new digest of that step. New digests join a preceding
    message of digests.
    """
    new_entries: dict[int, list[DigestEntry]] = {}
    for step, entry in entries:
        new_entries.setdefault(sites.position(step), []).append(entry)
    groups: list[_Group] = []
    moved: list[DigestEntry] = []
    # the preceding digests, if they are a separate message
    open_group: list[DigestEntry] | None = None
    for position in range(len(messages) + 1):
        if position in new_entries:
            new = [*moved, *new_entries[position]]
            moved = []
            if open_group is None:
                open_group = new
                groups.append(_Group(position, False, new))
            else:
                open_group += new
        if position == len(messages):
            break
        message = messages[position]
        if not message.agent_visible or message.role == "system":
            continue
        digests = leads(message).digests
        if position in sites.dropped:
            moved += entries_of(digests) if digests is not None else []
            continue
        open_group = None
        if digests is not None:
            group = _Group(position, True, entries_of(digests))
            groups.append(group)
            open_group = group.entries if is_digest(message) and not sites.joins else None
    return groups


def _texts(
    groups: Sequence[_Group], limit: int, size: Callable[[str], int], marks: Iterable[str]
) -> list[str]:
    """The text of each group, all together within about `limit` tokens, measured by `size`.

    Empty for a group whose digests have no room. `marks`: the texts that refer to attachments,
    which a digest must not have.
    """
    entries = [
        DigestEntry(title, without_marks(text, marks))
        for group in groups
        for title, text in group.entries
    ]
    bounded = iter(bounded_texts(entries, limit, size))
    texts: list[str] = []
    for group in groups:
        shortened = [DigestEntry(title, next(bounded)) for title, _ in group.entries]
        texts.append(digest_text([entry for entry in shortened if entry.text]))
    return texts
