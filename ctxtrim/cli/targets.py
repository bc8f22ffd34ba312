"""Where the output of each input goes, settled before a byte is written."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ctxtrim.errors import UsageError
from ctxtrim.io.inputs import Input, is_same
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
        raise UsageError("--in-place needs files; standard input has no place to write back to")
    if not writes:
        return Targets(writes=False)
    if in_place:
        return Targets(in_place=True)
    if output is None:
        return Targets(shares_stdout=len(sources) > 1)
    return Targets(files=_files([source for source in sources if source.problem is None], Path(output), output))


def must_be_apart(report: Path, sources: Sequence[Input], aims: Targets) -> None:
    """A report never takes the place of an input or an output."""
    taken = [Path(source.path) for source in sources if not source.is_stdin] + list((aims.files or {}).values())
    for path in taken:
        if is_same(report, path):
            raise UsageError(f"--report {report}: that is where a transcript is; give the report a path of its own")


def _files(sources: Sequence[Input], output: Path, spelled: str) -> dict[str, Path]:
    if len(sources) == 1 and sources[0].relative == Path(sources[0].path).name:
        is_folder = output.is_dir() or spelled.endswith("/")
        if is_folder and sources[0].is_stdin:
            raise UsageError(f"-o {spelled}: standard input has no name; give a file")
        return {sources[0].path: output / sources[0].relative if is_folder else output}
    if output.exists() and not output.is_dir():
        raise UsageError(f"-o {spelled}: several inputs need a folder, and this is a file")
    found: dict[str, Path] = {}
    taken: dict[Path, str] = {}
    for source in sources:
        if source.is_stdin:
            raise UsageError(f"-o {spelled}: standard input has no name to write under; read it alone")
        target = output / source.relative
        if taken.get(target) == source.path:
            raise UsageError(f"{source.path} is named twice")
        if target in taken:
            raise UsageError(f"{taken[target]} and {source.path} would both be written to {target}; write them apart")
        taken[target] = source.path
        found[source.path] = target
    return found
