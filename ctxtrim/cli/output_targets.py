"""The output target of each input, checked before a byte is written."""

import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from ctxtrim.errors import STDIN, STDOUT, UsageError, source_name
from ctxtrim.io.compression import SUFFIXES
from ctxtrim.io.inputs import Input
from ctxtrim.io.outputs import Nowhere, Sink, Stdout, in_place, write_to
from ctxtrim.io.paths import FileIdentity, file_identity, mode_of
from ctxtrim.io.walk import has_transcript_suffix

_NOT_WRITTEN = (".bz2", ".xz", ".7z", ".zip")  # endings of compressions that no output has


class Targets(Struct, frozen=True):
    """The target of a run: standard output, `files` by input path, in place, or none (not
    `writes`).

    `shares_stdout`: several inputs are written to standard output. `checks_first`: a file that
    cannot be replaced is refused before it is read, even if it would not change.
    """

    files: dict[str, Path] | None = None
    in_place: bool = False
    writes: bool = True
    shares_stdout: bool = False
    checks_first: bool = False

    @property
    def frees_stdout(self) -> bool:
        """Whether a report may be written to standard output."""
        return not self.writes or self.holds_back

    @property
    def holds_back(self) -> bool:
        """Whether a file is replaced only after all of its transcripts are finished."""
        return self.in_place or self.files is not None

    def path(self, source: Input) -> Path | None:
        """The file that gets the output of an input, if the output is a file."""
        if self.in_place:
            return Path(source.path)
        return self.files[source.path] if self.files is not None else None

    def sink(self, source: Input) -> Sink:
        """The sink for the output of an input."""
        if not self.writes:
            return Nowhere()
        if self.in_place:
            return in_place(Path(source.path), checks_first=self.checks_first)
        if self.files is not None:
            return write_to(self.files[source.path], makes_folders=True)
        return Stdout()


def resolve_targets(
    sources: Sequence[Input],
    *,
    writes: bool,
    output: str | None,
    in_place: bool,
    is_jsonl: bool,
    checks_first: bool,
) -> Targets:
    """The targets from the options. `is_jsonl`: files in folders get the ending of JSON lines.
    `checks_first`: see `Targets`.

    Raises `UsageError` if they contradict each other or the inputs.
    """
    if in_place and output is not None:
        raise UsageError("--in-place and -o cannot be combined; give one of them")
    for source in sources if in_place else ():
        if source.is_stdin or source.path in _STDIN_PATHS:
            raise UsageError(f"--in-place needs files; {source.name} cannot be replaced")
    for source in sources if in_place else ():
        if source.container is not None:
            raise UsageError(
                f"{source.name} cannot be edited in place: {source.container.name} is only read; "
                "write its transcripts with -o x.jsonl"
            )
    if not writes:
        return Targets(writes=False)
    if in_place:
        return Targets(in_place=True, checks_first=checks_first)
    if output is None or output == STDOUT:
        return Targets(shares_stdout=len(sources) > 1)
    readable = [source for source in sources if source.problem is None]
    return Targets(files=_files(readable, Path(output), output, is_jsonl))


def must_be_distinct(
    sources: Sequence[Input],
    targets: Targets,
    others: Mapping[str, Path | None],
    files_read: Sequence[tuple[str, Path]],
    archive: Path | None,
    *,
    can_replace: bool,
) -> None:
    """Raise `UsageError` if two outputs are one file, if an output is an input, or if a path is
    inside the archive.

    `others` are the other outputs by option. `files_read` are read next to the inputs: names and
    paths. Symbolic links, hard links and different forms of a path are resolved. Devices, such as
    /dev/null, may be named twice. `can_replace`: the command has --in-place.
    """
    outputs = [(f"-o {path}", path) for path in (targets.files or {}).values()]
    if not targets.frees_stdout:
        outputs.append(("standard output", Path("/dev/stdout")))
    replaceable = {name for name, _ in outputs} if can_replace else set()
    outputs += [(f"{option} {path}", path) for option, path in others.items() if path]
    written: dict[FileIdentity, str] = {}
    for name, place in _places(outputs):
        _must_be_new(name, place, written)
        written[place] = name
    for name, place in _places(files_read):
        _must_be_new(name, place, written)
    named = [(source.path, _STDIN if source.is_stdin else Path(source.path)) for source in sources]
    read: dict[FileIdentity, str] = {}
    for name, place in _places(named) if written or targets.in_place else ():
        if place in written:
            raise _input_error(written[place], name, written[place] in replaceable)
        if targets.in_place and place in read and not _are_links(read[place], name, sources):
            raise UsageError(f"{read[place]} and {name} are the same file; name it once")
        read[place] = name
    if archive is not None:
        must_be_outside(archive, [*named, *outputs])


_STDIN = Path("/dev/stdin")
_STDIN_PATHS = ("/dev/stdin", "/dev/fd/0", "/proc/self/fd/0")  # the system's names


def _input_error(output: str, name: str, is_replaceable: bool) -> UsageError:
    """The error of an output that is an input."""
    advice = ", or replace the input with --in-place" if is_replaceable and name != STDIN else ""
    return UsageError(
        f"{output} and the input {source_name(name)} are the same file; give another path{advice}"
    )


def _are_links(name: str, other: str, sources: Sequence[Input]) -> bool:
    """Whether two inputs are hard links in one walked folder: each is refused if it changes."""
    folders = {source.folder for source in sources if source.path in (name, other)}
    return name != other and None not in folders and len(folders) == 1


def _must_be_new(name: str, place: FileIdentity, written: Mapping[FileIdentity, str]) -> None:
    if place in written:
        raise UsageError(f"{written[place]} and {name} are the same file; give each its own path")


def must_be_outside(archive: Path, paths: Sequence[tuple[str, Path]]) -> None:
    """Raise `UsageError` if one of the paths, given with their names, is inside the archive."""
    inside = Path(os.path.realpath(archive))
    for name, path in paths:
        if Path(os.path.realpath(path)).is_relative_to(inside):
            raise UsageError(
                f"{name} is inside the archive {archive}; give a path outside the archive"
            )


def _places(paths: Sequence[tuple[str, Path]]) -> Iterator[tuple[str, FileIdentity]]:
    """The names of files with their identities."""
    for name, path in paths:
        place = file_identity(path)
        if place is not None:
            yield name, place


def _files(sources: Sequence[Input], output: Path, text: str, is_jsonl: bool) -> dict[str, Path]:
    """The output file of each input by its path. `text` is the output path as the user wrote it."""
    if len(sources) == 1 and sources[0].relative == Path(sources[0].path).name:
        return {sources[0].path: _file(sources[0], output, text, is_jsonl)}
    mode = mode_of(output)
    if mode and not stat.S_ISDIR(mode):
        raise UsageError(f"-o {text}: expected a folder for several inputs, found a file")
    if not mode and not text.endswith("/") and has_transcript_suffix(output):
        raise UsageError(
            f"-o {text}: expected a folder for several inputs; name one, or write {text}/"
        )
    files: dict[str, Path] = {}
    taken: dict[Path, str] = {}
    for source in sources:
        if source.is_stdin:
            raise UsageError(
                f"-o {text}: {source.name} has no file name; read it in a separate run"
            )
        target = output / _named(source, is_jsonl)
        if taken.get(target) == source.path:
            raise UsageError(f"{source.path} is named twice; name it once")
        if target in taken:
            raise UsageError(
                f"{taken[target]} and {source.path} would both be written to {target}; "
                "write them in separate runs"
            )
        taken[target] = source.path
        files[source.path] = target
    return files


def _file(source: Input, output: Path, text: str, is_jsonl: bool) -> Path:
    """The output file of a single input: the output path, or a file in it if it is a folder."""
    mode = mode_of(output)
    # the outputs of a folder go into a folder, also if there is only one
    is_walked = source.folder is not None
    is_new_folder = is_walked and not mode and not has_transcript_suffix(output)
    if not (stat.S_ISDIR(mode) or text.endswith("/") or is_new_folder):
        _must_name_lines(source, output, text)
        _must_be_written(output, text)
        return output
    if source.is_stdin:
        raise UsageError(f"-o {text}: {source.name} has no file name; give the path of a file")
    return output / _named(source, is_jsonl)


def _must_name_lines(source: Input, output: Path, text: str) -> None:
    """Raise `UsageError` if an output of JSON lines would have the ending of a container."""
    if output.suffix and output.suffix == Path(source.path).suffix and source.container is not None:
        raise UsageError(
            f"-o {text}: {source.name} is {source.container.name}, and the output has JSON lines; "
            f"write to {text}.jsonl"
        )


def _must_be_written(output: Path, text: str) -> None:
    """Raise `UsageError` for an ending that would say something else than the bytes."""
    if output.suffix.lower() in _NOT_WRITTEN:
        raise UsageError(
            f"-o {text}: {output.suffix} files are not written; use the ending "
            f"{' or '.join(SUFFIXES)}"
        )


def _named(source: Input, is_jsonl: bool) -> Path:
    """The path of an output inside a folder; the ending of a compressed file stays."""
    if not is_jsonl or source.container is not None:
        return Path(source.written)
    path = Path(source.relative)
    compressed = path.suffix if path.suffix in SUFFIXES else ""
    return Path(f"{path.with_suffix('') if compressed else path}").with_suffix(
        f".jsonl{compressed}"
    )
