"""`ctxtrim restore`."""

from pathlib import Path
from typing import Annotated

import typer

from ctxtrim.archive.blobs import sha256
from ctxtrim.archive.index import Archive, Run
from ctxtrim.archive.locations import open_archive
from ctxtrim.cli.messages import print_error
from ctxtrim.cli.typer_commands import single_command
from ctxtrim.config.run_settings import SHARED
from ctxtrim.errors import ArchiveError, InputError, source_name
from ctxtrim.io.inputs import Input, reading
from ctxtrim.io.outputs import Stdout, write_to


def restore(
    file: Annotated[str, typer.Argument(metavar="FILE", help="An output of ctxtrim; - is stdin.")],
    archive: Annotated[
        str | None,
        typer.Option(
            metavar="DIR", help="The archive of the run. [default: in the user's data folder]"
        ),
    ] = None,
    output: Annotated[
        str | None, typer.Option("-o", "--output", metavar="PATH", help="Write to this file.")
    ] = None,
    source: Annotated[
        str | None,
        typer.Option(
            "--input", metavar="SHA", help="Which input, if several gave the same output."
        ),
    ] = None,
    max_size: Annotated[
        str, typer.Option(metavar="BYTES", help="Refuse longer lines, after decompression.")
    ] = "1GiB",
) -> int:
    """Restore the input of a run, byte for byte, from its output and an archive.

    A compressed input is restored uncompressed, a container as JSON lines.
    Undo two runs in a row one at a time.
    """
    opened = open_archive(archive)
    most = SHARED["max_size"].parse("--max-size", max_size)
    name = source_name(file)
    try:
        with reading(Input(file, file), most) as lines:
            data = b"".join(lines)
    except InputError as error:
        place = name if error.line is None else f"{name}:{error.line}"
        raise InputError(f"{place}: {error}") from error
    runs = [
        run for run in opened.runs(sha256(data)) if source is None or run.input.startswith(source)
    ]
    if not runs:
        raise ArchiveError(
            f"{name}: no run in {opened.folder} gave this output"
            + (
                f" from an input {source}"
                if source
                else "; the file was edited, or the archive is another one"
            )
        )
    if len({run.input for run in runs}) > 1:
        print_error(
            f"ctxtrim: {name}: several inputs gave this output; choose one with --input SHA:"
        )
        for run in runs:
            print_error(f"  {run.input}  {run.path}  ({run.pipeline}, {run.time})")
        return 1
    whole = _input(opened, runs[0], data)
    sink = write_to(Path(output)) if output is not None else Stdout()
    sink.write(whole)
    sink.commit()
    return 0


def _input(archive: Archive, run: Run, output: bytes) -> bytes:
    """The input of a run, checked against its hash."""
    whole = b"".join(archive.restored(run, output))
    if sha256(whole) != run.input:
        raise ArchiveError(
            f"{archive.folder}: the archive was changed: the restored bytes are not the "
            f"input {run.input}"
        )
    return whole


COMMAND = single_command("restore", restore)
