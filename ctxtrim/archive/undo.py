"""Find the run that wrote a file, and make the bytes before that run.

A program may append lines to the file after the run, with a line break before them if the output
does not end with a line break. They follow the restored bytes::

    file      output of a run + lines
    restored  input of the run + lines
"""

import hashlib
import re
from collections.abc import Sequence, Set
from dataclasses import dataclass

from ctxtrim.archive.blobs import sha256
from ctxtrim.archive.index import Archive, Run
from ctxtrim.errors import ArchiveError

_ENDS = re.compile(rb"\n|\}(?=\{)")
"""Where an output may end: before or after a line break, or between two values on a line."""


@dataclass(frozen=True)
class Undo:
    """What undoes the last run on some bytes.

    `runs` gave the first `length` bytes, the newest last. There are several if the runs have
    different inputs, and the user must choose one.
    """

    runs: tuple[Run, ...]
    length: int


def find_undo(archive: Archive, data: bytes, path: str, source: str = "") -> Undo | None:
    """The last run that wrote these bytes, or their first lines; None if there is none.

    The last run on the file at the absolute `path` comes before runs on other files. `source` is
    the start of the SHA-256 of the input. A run that left out the last lines of these bytes did not
    write them.
    """
    whole = sha256(data)
    runs = _chosen(archive.runs(whole), path, source)
    if runs:
        return Undo(runs, len(data))
    for output, length in reversed(_starts(data, archive.outputs())):
        runs = _chosen([run for run in archive.runs(output) if run.input != whole], path, source)
        if runs:
            return Undo(runs, length)
    return None


def undone(archive: Archive, run: Run, data: bytes, length: int) -> bytes:
    """The bytes before a run that wrote the first `length` bytes of `data`; the others follow.

    Raises `ArchiveError` unless the restored bytes have the SHA-256 of the input.
    """
    whole = b"".join(archive.restored(run, data[:length]))
    if sha256(whole) != run.input:
        raise ArchiveError(
            f"{archive.folder}: the archive was changed: the restored bytes are not the "
            f"input {run.input}"
        )
    rest = data[length:]
    if rest and whole and not (whole.endswith(b"\n") or rest.startswith(b"\n")):
        whole += b"\n"
    return whole + rest


def _chosen(runs: Sequence[Run], path: str, source: str) -> tuple[Run, ...]:
    """The run to undo of some with one output, or several with different inputs."""
    runs = [run for run in runs if run.input.startswith(source)]
    runs = [run for run in runs if run.input != run.output] or runs  # a run may change nothing
    runs = [run for run in runs if run.path == path][-1:] or runs
    return tuple(runs) if len({run.input for run in runs}) > 1 else tuple(runs[-1:])


def _starts(data: bytes, known: Set[str]) -> list[tuple[str, int]]:
    """The SHA-256 and the length of each start of some bytes that is a known output."""
    digest, length = hashlib.sha256(), 0
    starts = []
    for end in _ENDS.finditer(data):
        for place in (end.start(), end.end()):
            if place > length:
                digest.update(data[length:place])
                length = place
                if (output := digest.copy().hexdigest()) in known:
                    starts.append((output, length))
    return starts
