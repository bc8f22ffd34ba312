"""Files that a conversation works on: when each was last used, and which results show one that is in use."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from heapq import merge
from itertools import pairwise
from operator import itemgetter

from ctxtrim.conversation.tool_results import result_text
from ctxtrim.conversation.turns import Shape
from ctxtrim.evidence.errors import is_abridged, is_error
from ctxtrim.evidence.tool_kinds import ToolKind, accesses, is_full_read
from ctxtrim.model import Message

_KINDS = ("read", "write", "edit", "delete")


@dataclass(frozen=True, slots=True)
class FileReference:
    """A file that calls named: the step of the last one, and the SHA-256 (hex) of what was last read of it.

    `content_hash` is None where it was never read; a call that searches or runs something is no access.
    """

    path: str
    last_access_step: int
    content_hash: str | None


@dataclass(frozen=True, slots=True)
class _Access:
    """One call that names a file; `is_answer`: at `position` stands its result, and no failure."""

    path: str
    kind: ToolKind
    step: int
    position: int
    is_answer: bool


def file_references(messages: Sequence[Message], where: Shape) -> tuple[FileReference, ...]:
    """All files that were read, written, edited or deleted, the one used longest ago first."""
    steps: dict[str, int] = {}
    newest: dict[str, int] = {}
    for access in _accesses(messages, where):
        steps.pop(access.path, None)  # so that the order is that of the last accesses
        steps[access.path] = access.step
        if access.kind == "read" and access.is_answer:
            newest[access.path] = access.position
    return tuple(
        FileReference(path, step, _hash(messages[newest[path]]) if path in newest else None)
        for path, step in sorted(steps.items(), key=lambda item: item[1])
    )


def active_reads(messages: Sequence[Message], where: Shape, current_step: int, active_steps: int) -> dict[int, str]:
    """The positions of results that show a file in use, each with the reason.

    In use is what was read, written or edited at most `active_steps` steps before `current_step`, and not deleted
    since. Of reads of one file with the same content only the newest shows it; an error shows none.
    """
    last: dict[str, _Access] = {}
    shown: dict[tuple[str, str], int] = {}
    for access in _accesses(messages, where):
        if access.kind != "delete" or access.is_answer:
            last[access.path] = access
        if access.kind == "read" and access.is_answer:
            shown[access.path, result_text(messages[access.position])] = access.position
    reasons: dict[int, str] = {}
    for (path, _), position in shown.items():
        used = last[path]
        if used.kind != "delete" and current_step - used.step <= active_steps:
            reasons.setdefault(position, f"active file {path}")
    return reasons


def outdated_reads(messages: Sequence[Message], where: Shape, current_step: int, active_steps: int) -> set[int]:
    """The positions of reads whose file changed afterwards, more than `active_steps` steps before `current_step`."""
    outdated: set[int] = set()
    waiting: dict[str, list[int]] = {}
    for access in _accesses(messages, where):
        if access.kind == "read" and access.is_answer:
            waiting.setdefault(access.path, []).append(access.position)
        elif access.kind != "read" and current_step - access.step > active_steps:
            outdated.update(waiting.pop(access.path, ()))
    return outdated


def reread(messages: Sequence[Message], where: Shape) -> dict[int, int]:
    """Reads of a file that was read in full later: from their position to that of the newest full read.

    A read of several files at once is in none.
    """
    newest: dict[str, int] = {}
    found: dict[int, int] = {}
    reads = [access for access in _accesses(messages, where) if access.kind == "read" and access.is_answer]
    several = {one.position for one, other in pairwise(reads) if one.position == other.position}
    for access in reversed(reads):
        if access.position in several:
            continue
        if access.path in newest:
            found[access.position] = newest[access.path]
        else:
            call = where.call[access.position]
            if call is not None and is_full_read(call) and not is_abridged(messages[access.position]):
                newest[access.path] = access.position
    return found


def _accesses(messages: Sequence[Message], where: Shape) -> Iterator[_Access]:
    """What calls did to files, in the order of their results; those without one are about to do it."""
    answered = ((position, call, True) for position, call in enumerate(where.call) if call is not None)
    waiting = ((position, call, False) for position, call in where.unanswered)
    for position, call, has_result in merge(answered, waiting, key=itemgetter(0)):
        found = [(path, kind) for path, kind in dict.fromkeys(accesses(call)) if kind in _KINDS]
        if found:
            is_answer = has_result and not is_error(messages[position])
            for path, kind in found:
                yield _Access(path, kind, where.step[position], position, is_answer)


def _hash(message: Message) -> str:
    return sha256(result_text(message).encode("utf-8", "surrogatepass")).hexdigest()
