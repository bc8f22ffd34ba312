"""`ctxtrim restore`."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from ctxtrim.archive.index import Archive, Run
from ctxtrim.archive.undo import Undo, find_undo, undone
from ctxtrim.cli.archives import archive_option, open_archive
from ctxtrim.cli.command_types import (
    HelpfulArgument,
    HelpfulCommand,
    HelpfulOption,
    file_names,
)
from ctxtrim.cli.messages import print_error
from ctxtrim.cli.output_targets import must_be_outside
from ctxtrim.config.run_settings import SHARED
from ctxtrim.errors import (
    STDIN,
    STDOUT,
    ArchiveError,
    CtxtrimError,
    InputError,
    UsageError,
    place_of,
    source_name,
)
from ctxtrim.formats.lines import numbered, whole_lines
from ctxtrim.io.inputs import Input, reading
from ctxtrim.io.outputs import Sink, Stdout, in_attempts, in_place, write_to
from ctxtrim.io.storage import stored_session


def restore(
    files: Sequence[str],
    archive: str | None,
    output: str | None,
    replaces: bool,
    source: str | None,
    max_size: str,
    quiet: bool,
) -> int:
    """Restore the input of the last run on FILE, byte for byte, from its archive.

    Run it again to undo the run before. Lines that a program appended to FILE since the run are
    kept at the end. A compressed input is restored uncompressed, unless FILE is replaced in place
    or the name of the output ends in .gz or .zst; a container as JSON lines.
    """
    _must_agree(files, output, replaces)
    output = None if output == STDOUT else output
    opened = open_archive(archive)
    if output is not None:
        must_be_outside(opened.folder, [(f"-o {output}", Path(output))])
    limit = SHARED["max_size"].parse("--max-size", max_size)
    code = 0
    for file in files:
        try:
            _must_be_one_input(file)
            task = Restoration(file, output, replaces, source or "", limit, quiet)
            code = in_attempts(task.sink, partial(_restored, opened, task)) or code
        except CtxtrimError as error:
            if len(files) == 1:
                raise
            print_error(f"ctxtrim: {error}")
            code = 1
    return code


def _must_agree(files: Sequence[str], output: str | None, replaces: bool) -> None:
    """Raise `UsageError` if the options contradict each other."""
    if replaces and (output is not None or STDIN in files):
        other = "-o" if output is not None else "standard input"
        raise UsageError(f"--in-place replaces FILE; it cannot be combined with {other}")
    if len(files) > 1 and not replaces:
        raise UsageError("several files need --in-place; add it, or name one file")


def _must_be_one_input(file: str) -> None:
    """Raise `InputError` for a folder of several inputs: a run on it edited each of them."""
    path = Path(file)
    if file == STDIN or not path.is_dir() or stored_session(path) is not None:
        return
    from ctxtrim.io.storage.strands import agents_in

    if agents := agents_in(path):
        raise InputError(
            f"{file}: is a session of Strands Agents; name the folder of an agent: "
            + ", ".join(map(str, agents))
        )
    raise InputError(f"{file}: is a folder; name the files in it")


@dataclass(frozen=True)
class Restoration:
    """What to restore: a file, its target, the start of the hash of its input, and the most bytes
    of a line. `is_quiet`: do not print what was undone.
    """

    file: str
    output: str | None
    replaces: bool
    source: str
    max_size: int
    is_quiet: bool

    def sink(self) -> Sink:
        """The target. That of a file in place detects every change after this call."""
        if not self.replaces:
            return write_to(Path(self.output)) if self.output is not None else Stdout()
        try:
            return in_place(Path(self.file))
        except InputError as error:
            raise InputError(f"{self.file}: {error}") from error


def _read(file: str, max_size: int) -> bytes:
    try:
        with reading(Input(file, file), max_size) as lines:
            return b"".join(line for _, line in whole_lines(numbered(lines)))
    except InputError as error:
        raise InputError(f"{place_of(file, error.line)}: {error}") from error


def _restored(archive: Archive, task: Restoration, sink: Sink) -> int:
    """Write the bytes before the last run on a file, and print what was undone."""
    data = _read(task.file, task.max_size)
    name = source_name(task.file)
    path = "" if task.file == STDIN else str(Path(task.file).resolve())
    undo = find_undo(archive, data, path, task.source)
    if undo is None:
        raise ArchiveError(f"{name}: {_not_found(archive, task)}")
    if undo.is_of_other_file:
        raise ArchiveError(f"{name}: {_of_other_file(undo.runs[-1])}")
    if len(undo.runs) > 1:
        _list_inputs(name, undo.runs)
        return 1
    (run,) = undo.runs
    whole = undone(archive, run, data, undo.length)
    sink.write(whole)
    sink.commit()
    if task.is_quiet:
        return 0
    print_error(f"ctxtrim: {name}: {_account(undo, run, data, whole)}")
    earlier = find_undo(archive, whole, path)
    if earlier is not None and not earlier.is_of_other_file:
        before = earlier.runs[-1]
        if before.input != before.output:
            print_error(f"ctxtrim: restore it again to undo {_named(before)}")
    return 0


def _not_found(archive: Archive, task: Restoration) -> str:
    """The message for an output of no known run."""
    text = f"no run in {archive.folder} gave this output"
    if task.source:
        return f"{text} from an input {task.source}"
    return f"{text}; the file was edited, it is the original, or the archive is another one"


def _of_other_file(run: Run) -> str:
    """The message for a file that begins with the output of a run on another file."""
    return (
        f"begins with the output of a run on {source_name(run.path)}, and no run on this file is "
        f"known; if the file comes from that run, name its input: --input {run.input[:12]}"
    )


def _list_inputs(name: str, runs: Sequence[Run]) -> None:
    """Print the inputs from which the user must choose."""
    print_error(f"ctxtrim: {name}: several inputs gave this output; choose one with --input SHA:")
    for run in runs:
        print_error(f"  {run.input}  {run.path}  ({run.pipeline}, {run.time})")


def _named(run: Run) -> str:
    return f"{run.pipeline or 'a run without stages'} of {run.time}"


def _account(undo: Undo, run: Run, data: bytes, whole: bytes) -> str:
    """What was undone, in bytes, the lines that were kept, and what of a container is restored."""
    text = f"undid {_named(run)}: {len(data):,} → {len(whole):,} bytes"
    if lines := sum(1 for line in data[undo.length :].splitlines() if line.strip()):
        text += f"; {lines:,} appended {'line is' if lines == 1 else 'lines are'} kept"
    container = Input(run.path, run.path).container
    if container is not None:
        text += f"; {run.path} is {container.name}, of which the JSON lines are restored"
    return text


COMMAND = HelpfulCommand(
    "restore",
    restore,
    [
        HelpfulArgument(
            "files",
            "FILE",
            "An output of ctxtrim; - is standard input. Several files need --in-place.",
            nargs=-1,
            required=True,
            shell_complete=file_names,
        ),
        archive_option("Read the archive of the run."),
        HelpfulOption(
            ["-o", "--output"],
            metavar="PATH",
            help="Write to this file.",
            shell_complete=file_names,
        ),
        HelpfulOption(
            ["replaces", "--in-place"],
            is_flag=True,
            help="Replace FILE by the restored bytes.",
        ),
        HelpfulOption(
            ["source", "--input"],
            metavar="SHA",
            help="Select an input by its SHA-256, if several gave this output or FILE was moved.",
        ),
        HelpfulOption(["-q", "--quiet"], is_flag=True, help="Print only errors."),
        HelpfulOption(
            ["--max-size"],
            default="1GiB",
            metavar="BYTES",
            help="Refuse longer lines, after decompression. [default: 1GiB]",
        ),
    ],
)
