"""`ctxtrim trace`: originals of tool results."""

from pathlib import Path
from typing import Annotated

import typer

from ctxtrim.archive.index import Archive, Trace
from ctxtrim.archive.locations import own_archive
from ctxtrim.cli.exit_codes import Debug, concluded
from ctxtrim.cli.terminal import print_text, say
from ctxtrim.errors import ArchiveError, NoArchiveError, UsageError
from ctxtrim.io.outputs import Stdout
from ctxtrim.reports.text import Table, plain

Folder = Annotated[str | None, typer.Option("--archive", metavar="DIR", help="The archive. [default: the user's own]")]
_APP = typer.Typer(
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    help="Originals of tool results from an archive.",
)
_CONTEXT = {"max_content_width": 120}


@_APP.command(context_settings=_CONTEXT)
def get(
    name: Annotated[str, typer.Argument(metavar="ID", help="The trace id, or the call id, of a result.")],
    archive: Folder = None,
    sha256: Annotated[str | None, typer.Option(metavar="SHA", help="Which original, where there are several.")] = None,
    debug: Debug = False,
) -> None:
    """The original of a result, byte for byte, on standard output."""
    raise typer.Exit(concluded(lambda: _get(name, archive, sha256), shows_traceback=debug))


@_APP.command("list", context_settings=_CONTEXT)
def listed(archive: Folder = None, debug: Debug = False) -> None:
    """Every result that was replaced: id, original, tool, stage, time, file and line."""
    raise typer.Exit(concluded(lambda: _list(archive), shows_traceback=debug))


@_APP.command(context_settings=_CONTEXT)
def verify(archive: Folder = None, debug: Debug = False) -> None:
    """Compare every original, and everything that undoes a run, with its hash."""
    raise typer.Exit(concluded(lambda: _verify(archive), shows_traceback=debug))


def _opened(folder: str | None) -> Archive:
    return Archive(Path(folder) if folder is not None else own_archive(), makes=False)


def _get(name: str, folder: str | None, wanted: str | None) -> int:
    if not name.strip():
        raise UsageError("INVALID_INPUT: the trace id is empty")
    try:
        archive = _opened(folder)
    except NoArchiveError as error:
        raise ArchiveError(f"TRACE_NOT_FOUND: {name}: {error}") from error
    traces = [one for one in archive.traces(name) if wanted is None or one.sha256.startswith(wanted)]
    names = list(dict.fromkeys(one.sha256 for one in traces))
    if not names:
        raise ArchiveError(
            f"TRACE_NOT_FOUND: {name}: no result of this id was replaced with {archive.folder} as archive"
        )
    if len(names) > 1:
        say(f"ctxtrim: {name}: several results have this id; choose one with --sha256 SHA:")
        for one in traces:
            say(f"  {one.sha256}  {one.path}:{one.line}  ({one.stage}, {one.time})")
        return 1
    Stdout().write(archive.original(traces[0]))
    return 0


def _list(folder: str | None) -> int:
    traces = _opened(folder).traces()
    columns = ("id", "sha256", "tool", "stage", "time", "from")
    print_text(plain(Table("", columns, tuple(map(_cells, traces)))) if traces else "")
    return 0


def _cells(one: Trace) -> tuple[str, ...]:
    return (
        one.id,
        one.sha256[:12],
        one.tool or "-",
        one.stage,
        one.time,
        f"{one.path}:{one.line}",
    )


def _verify(folder: str | None) -> int:
    count, errors = _opened(folder).damage()
    for error in errors:
        say(f"ctxtrim: {error}")
    print_text(f"{count:,} originals, {len(errors)} missing or changed\n")
    return 1 if errors else 0


COMMAND = typer.main.get_command(_APP)
