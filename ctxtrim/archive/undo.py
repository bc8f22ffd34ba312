"""Find the run that wrote a file, and make the bytes before that run.

A program may append lines to the file after the run, with a line break before them if the output
does not end with a line break. They follow the restored bytes::

    file      output of a run + lines
    restored  input of the run + lines

A file can begin with the output of a run without coming from that run: the run inserted nothing and
dropped the last lines, or another file begins with the same lines. These cases are refused.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ctxtrim.archive.index import Archive, Run
from ctxtrim.archive.starts import Starts
from ctxtrim.errors import ArchiveError
from ctxtrim.text.hashing import sha256


@dataclass(frozen=True)
class Undo:
    """What undoes the last run on some bytes.

    `runs` gave the first `length` bytes, the newest last. There are several if the runs have
    different inputs, and the user must choose one. `is_of_other_file`: no run is known to have
    written this file, which may begin with the same lines by chance.
    """

    runs: tuple[Run, ...]
    length: int
    is_of_other_file: bool = False


def find_undo(archive: Archive, data: bytes, path: str, source: str = "") -> Undo | None:
    """The last run that wrote these bytes, or their first lines; None if there is none.

    The last run on the file at the absolute `path` comes before runs on other files. `source` is
    the start of the SHA-256 of the input: the user knows that the run wrote the file.
    """
    whole = sha256(data)
    exact = _chosen(archive.runs(whole), path, source)
    if exact:
        return Undo(exact, len(data))
    outputs, inputs = archive.outputs(), archive.inputs()
    starts = Starts(outputs | inputs)
    starts.add(data)
    of_other_file = None
    for start, length in reversed(starts.found.items()):
        runs = _before(archive.runs(start), length, starts.found) if start in outputs else []
        is_named = bool(source) or not data[length:].strip()  # nothing but white space follows
        own = [run for run in runs if is_named or path in (run.path, run.target)]
        if chosen := _chosen(own, path, source):
            return Undo(chosen, length)
        if (chosen := _chosen(runs, path, source)) and of_other_file is None:
            of_other_file = Undo(chosen, length, is_of_other_file=True)
    return of_other_file


def _before(runs: Sequence[Run], length: int, starts: Mapping[str, int]) -> list[Run]:
    """The runs that may have written the first `length` bytes of some data.

    If the data begins with the input of a run, which is longer, these bytes are that input: the run
    left out its last lines.
    """
    return [run for run in runs if starts.get(run.input, 0) <= length]


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
