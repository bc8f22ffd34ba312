"""The files of a conversation: their last use, and the results that show a file in use."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import NamedTuple

from ctxtrim.conversation.tool_results import result_text
from ctxtrim.conversation.turns import Shape
from ctxtrim.evidence.errors import is_abridged, is_error
from ctxtrim.evidence.tool_kinds import ToolKind, is_full_read, kind_of_tool
from ctxtrim.evidence.tool_kinds import accesses as accesses_of
from ctxtrim.model import Message
from ctxtrim.text.hashing import sha256_of

_KINDS = ("read", "write", "edit", "delete")


@dataclass(frozen=True, slots=True)
class FileReference:
    """A file that calls named: the step of the last access, and the SHA-256 (hex) of its last read
    content.

    `content_hash` is None if the file was never read. Searches and commands are not accesses.
    """

    path: str
    last_access_step: int
    content_hash: str | None


class Access(NamedTuple):
    """One call that names a file.

    `has_result`: the message at `position` is its result. `is_error` says whether the result at a
    position is an error.
    """

    path: str
    kind: ToolKind
    step: int
    position: int
    has_result: bool
    is_error: Callable[[int], bool]

    @property
    def is_successful(self) -> bool:
        """Whether the message at `position` is its successful result."""
        return self.has_result and not self.is_error(self.position)

    @property
    def is_read(self) -> bool:
        """Whether the message shows the content of the file."""
        return self.kind == "read" and self.is_successful


def file_references(shape: Shape) -> tuple[FileReference, ...]:
    """All files that were read, written, edited or deleted, least recently used first."""
    messages = shape.messages
    steps: dict[str, int] = {}
    read_positions: dict[str, int] = {}
    for access in file_accesses(shape, lambda position: is_error(messages[position])):
        steps.pop(access.path, None)  # keeps the order of last accesses
        steps[access.path] = access.step
        if access.is_read:
            read_positions[access.path] = access.position
    references = []
    for path, step in sorted(steps.items(), key=itemgetter(1)):
        position = read_positions.get(path)
        content_hash = None if position is None else sha256_of(result_text(messages[position]))
        references.append(FileReference(path, step, content_hash))
    return tuple(references)


def active_reads(
    messages: Sequence[Message], accesses: Sequence[Access], current_step: int, active_steps: int
) -> dict[int, str]:
    """The positions of results that show a file in use, each with the reason.

    A file is in use if it was read, written or edited at most `active_steps` steps before
    `current_step`, and not deleted since. Of equal reads of a file, only the newest counts; errors
    do not count.
    """
    last_accesses: dict[str, Access] = {}
    for access in accesses:
        is_recent = access.step >= current_step - active_steps
        if is_recent and (access.kind != "delete" or access.is_successful):
            last_accesses[access.path] = access
    paths = {path for path, access in last_accesses.items() if access.kind != "delete"}
    newest_reads: dict[tuple[str, str], int] = {}
    for access in accesses:
        if access.path in paths and access.is_read:
            newest_reads[access.path, result_text(messages[access.position])] = access.position
    reasons: dict[int, str] = {}
    for (path, _), position in newest_reads.items():
        reasons.setdefault(position, f"active file {path}")
    return reasons


def outdated_reads(accesses: Sequence[Access], current_step: int, active_steps: int) -> set[int]:
    """The positions of reads whose file changed later, more than `active_steps` steps before
    `current_step`.
    """
    positions: set[int] = set()
    reads: dict[str, list[int]] = {}
    for access in accesses:
        if access.is_read:
            reads.setdefault(access.path, []).append(access.position)
        elif access.kind != "read" and current_step - access.step > active_steps:
            positions.update(reads.pop(access.path, ()))
    return positions


def reread(shape: Shape, accesses: Sequence[Access]) -> dict[int, int]:
    """Reads of a file that was read in full later: from their position to that of the newest full
    read.

    Reads of several files at once are excluded.
    """
    full_reads: dict[str, int] = {}
    newer_reads: dict[int, int] = {}
    reads = [access for access in accesses if access.is_read]
    counts = Counter(access.position for access in reads)
    for access in reversed(reads):
        position, call = access.position, shape.call[access.position]
        if counts[position] > 1:
            continue
        if access.path in full_reads:
            newer_reads[position] = full_reads[access.path]
        elif call is not None and is_full_read(call) and not is_abridged(shape.messages[position]):
            full_reads[access.path] = position
    return newer_reads


def file_accesses(shape: Shape, is_error: Callable[[int], bool]) -> list[Access]:
    """The file accesses of calls, in the order of their results.

    Calls without a result are included. `is_error` as in `Access`; it is called when needed.
    """
    calls = [(position, call, True) for position, call in enumerate(shape.call) if call is not None]
    calls += [(position, call, False) for position, call in shape.unanswered]
    calls.sort(key=itemgetter(0))
    accesses, steps = [], shape.step
    for position, call, has_result in calls:
        if kind_of_tool(call.name, call.text) not in _KINDS:  # saves the search for paths
            continue
        for path, kind in dict.fromkeys(accesses_of(call)):
            if kind in _KINDS:
                step = steps[position]
                accesses.append(Access(path, kind, step, position, has_result, is_error))
    return accesses
