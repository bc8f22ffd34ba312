"""`ctxtrim trace`: originals of tool results."""

from pathlib import Path
from typing import Annotated

import typer

from ctxtrim.archive.index import Archive, Trace
from ctxtrim.archive.locations import own_archive
from ctxtrim.cli.exit_codes import Debug, exit_code_of
from ctxtrim.cli.terminal import print_error, print_text
from ctxtrim.errors import ArchiveError, NoArchiveError, UsageError
from ctxtrim.io.outputs import Stdout
from ctxtrim.reports.text import Table, plain

Folder = Annotated[
    str | None,
    typer.Option(
        "--archive", metavar="DIR", help="The archive. [default: in the user's data folder]"
    ),
]
_APP = typer.Typer(
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    help="Get, list or verify original tool results in an archive.",
)
_CONTEXT = {"max_content_width": 120}


@_APP.command(context_settings=_CONTEXT)
def get(
    name: Annotated[
        str, typer.Argument(metavar="ID", help="The trace id or call id of a tool result.")
    ],
    archive: Folder = None,
    sha256: Annotated[
        str | None, typer.Option(metavar="SHA", help="Which original, if there are several.")
    ] = None,
    debug: Debug = False,
) -> None:
    """Print the original of a tool result, byte for byte."""
    raise typer.Exit(exit_code_of(lambda: _get(name, archive, sha256), shows_traceback=debug))


@_APP.command("list", context_settings=_CONTEXT)
def list_traces(archive: Folder = None, debug: Debug = False) -> None:
    """List all replaced tool results: id, original, tool, stage, time, file and line."""
    raise typer.Exit(exit_code_of(lambda: _list(archive), shows_traceback=debug))


@_APP.command(context_settings=_CONTEXT)
def verify(archive: Folder = None, debug: Debug = False) -> None:
    """Compare all originals, and the data that undoes each run, with their hashes."""
    raise typer.Exit(exit_code_of(lambda: _verify(archive), shows_traceback=debug))


def _opened(folder: str | None) -> Archive:
    return Archive(Path(folder) if folder is not None else own_archive(), makes=False)


def _get(name: str, folder: str | None, wanted: str | None) -> int:
    if not name.strip():
        raise UsageError("INVALID_INPUT: the trace id is empty")
    try:
        archive = _opened(folder)
    except NoArchiveError as error:
        raise ArchiveError(f"TRACE_NOT_FOUND: {name}: {error}") from error
    traces = [
        trace for trace in archive.traces(name) if wanted is None or trace.sha256.startswith(wanted)
    ]
    names = list(dict.fromkeys(trace.sha256 for trace in traces))
    if not names:
        raise ArchiveError(
            f"TRACE_NOT_FOUND: {name}: the archive {archive.folder} has no tool result with this id"
        )
    if len(names) > 1:
        print_error(f"ctxtrim: {name}: several results have this id; choose one with --sha256 SHA:")
        for trace in traces:
            print_error(
                f"  {trace.sha256}  {trace.path}:{trace.line}  ({trace.stage}, {trace.time})"
            )
        return 1
    Stdout().write(archive.original(traces[0]))
    return 0


def _list(folder: str | None) -> int:
    traces = _opened(folder).traces()
    columns = ("id", "sha256", "tool", "stage", "time", "from")
    print_text(plain(Table("", columns, tuple(map(_cells, traces)))) if traces else "")
    return 0


def _cells(trace: Trace) -> tuple[str, ...]:
    return (
        trace.id,
        trace.sha256[:12],
        trace.tool or "-",
        trace.stage,
        trace.time,
        f"{trace.path}:{trace.line}",
    )


def _verify(folder: str | None) -> int:
    count, errors = _opened(folder).damage()
    for error in errors:
        print_error(f"ctxtrim: {error}")
    print_text(f"{count:,} originals, {len(errors)} missing or changed\n")
    return 1 if errors else 0


COMMAND = typer.main.get_command(_APP)
