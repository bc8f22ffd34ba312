"""Where the output of each input goes, settled before a byte is written."""

import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ctxtrim.errors import STDIN, UsageError, source_name
from ctxtrim.io.inputs import Input, mode_of
from ctxtrim.io.outputs import Nowhere, Sink, Stdout, in_place, write_to


@dataclass(frozen=True)
class Targets:
    """One of four: standard output, files (by input path), in place, or nowhere.

    `shares_stdout`: several inputs go to standard output. `frees_stdout`: no transcript goes there.
    """

    files: dict[str, Path] | None = None
    in_place: bool = False
    writes: bool = True
    shares_stdout: bool = False

    @property
    def frees_stdout(self) -> bool:
        """Whether a report may go to standard output."""
        return not self.writes or self.in_place or self.files is not None

    @property
    def holds_back(self) -> bool:
        """Whether a file is only replaced once all of its transcripts are settled."""
        return self.writes and self.frees_stdout

    def sink(self, source: Input) -> Sink:
        """Where the bytes of an input go."""
        if not self.writes:
            return Nowhere()
        if self.in_place:
            return in_place(Path(source.path))
        if self.files is not None:
            return write_to(self.files[source.path], makes_folders=True)
        return Stdout()


def targets(sources: Sequence[Input], *, writes: bool, output: str | None, in_place: bool) -> Targets:
    """The targets that the options ask for; a `UsageError` where they contradict each other or the inputs."""
    if in_place and output is not None:
        raise UsageError("--in-place and -o exclude each other")
    if in_place and any(source.is_stdin for source in sources):
        raise UsageError(f"--in-place needs files; {source_name(STDIN)} has no place to write back to")
    if not writes:
        return Targets(writes=False)
    if in_place:
        return Targets(in_place=True)
    if output is None:
        return Targets(shares_stdout=len(sources) > 1)
    return Targets(files=_files([source for source in sources if source.problem is None], Path(output), output))


def must_be_distinct(sources: Sequence[Input], aims: Targets, others: Mapping[str, Path | None]) -> None:
    """A `UsageError` if two outputs are one file, if an output is an input, or if one of them lies in the archive.

    `others` are the other outputs by their options, `--archive` (a folder) among them. Links, hard links and different
    spellings of a path are seen through. Devices, such as /dev/null, may be named twice.
    """
    archive = others.get("--archive")
    outputs = [(f"-o {path}", path) for path in (aims.files or {}).values()]
    outputs += [(f"{option} {path}", path) for option, path in others.items() if path and option != "--archive"]
    if not aims.frees_stdout:
        outputs.append(("standard output", Path("/dev/stdout")))
    named = [(source.path, _STDIN if source.is_stdin else Path(source.path)) for source in sources]
    written: dict[_Place, str] = {}
    for name, place in _places(outputs):
        if place in written:
            raise UsageError(f"{written[place]} and {name} are the same file; give each a path of its own")
        written[place] = name
    read: dict[_Place, str] = {}
    for name, place in _places(named) if written or aims.in_place else ():
        if place in written:
            raise UsageError(
                f"{written[place]} and the input {name} are the same file; give another path, or replace the input "
                "with --in-place"
            )
        if aims.in_place and place in read:
            raise UsageError(f"{read[place]} and {name} are the same file; name it once")
        read[place] = name
    if archive is None:
        return
    inside = Path(os.path.realpath(archive))
    for name, path in [*named, *outputs]:
        if Path(os.path.realpath(path)).is_relative_to(inside):
            raise UsageError(f"{name} lies in the archive {archive}; give a path outside of it")


_Place = tuple[int | str, ...]
_STDIN = Path("/dev/stdin")


def _places(paths: Sequence[tuple[str, Path]]) -> Iterator[tuple[str, _Place]]:
    """What identifies each file: device and inode, or the folder's and the name of a file that is still to be made."""
    for name, path in paths:
        try:
            found = path.stat()
        except OSError:
            yield name, _place_to_be(Path(os.path.realpath(path)))
        else:
            if stat.S_ISREG(found.st_mode) or stat.S_ISFIFO(found.st_mode):
                yield name, (found.st_dev, found.st_ino)


def _place_to_be(path: Path) -> _Place:
    try:
        folder = path.parent.stat()
    except OSError:  # that is still to be made as well
        return (os.path.normcase(path),)
    return (folder.st_dev, folder.st_ino, os.path.normcase(path.name))


def _files(sources: Sequence[Input], output: Path, spelled: str) -> dict[str, Path]:
    if len(sources) == 1 and sources[0].relative == Path(sources[0].path).name:
        is_folder = stat.S_ISDIR(mode_of(output)) or spelled.endswith("/")
        if is_folder and sources[0].is_stdin:
            raise UsageError(f"-o {spelled}: {sources[0].name} has no file name; give a file")
        return {sources[0].path: output / sources[0].relative if is_folder else output}
    mode = mode_of(output)
    if mode and not stat.S_ISDIR(mode):
        raise UsageError(f"-o {spelled}: several inputs need a folder, and this is a file")
    found: dict[str, Path] = {}
    taken: dict[Path, str] = {}
    for source in sources:
        if source.is_stdin:
            raise UsageError(f"-o {spelled}: {source.name} has no file name to write under; read it alone")
        target = output / source.relative
        if taken.get(target) == source.path:
            raise UsageError(f"{source.path} is named twice")
        if target in taken:
            raise UsageError(f"{taken[target]} and {source.path} would both be written to {target}; write them apart")
        taken[target] = source.path
        found[source.path] = target
    return found
