"""`ctxtrim trace`: originals of tool results."""

from ctxtrim.archive.index import Trace
from ctxtrim.archive.lineage import oldest
from ctxtrim.cli.archives import archive_option, open_archive
from ctxtrim.cli.command_types import (
    HelpfulArgument,
    HelpfulCommand,
    HelpfulGroup,
    HelpfulOption,
)
from ctxtrim.cli.commands import COMMANDS
from ctxtrim.cli.messages import print_error, print_text
from ctxtrim.cli.terminal import fitted
from ctxtrim.errors import ArchiveError, NoArchiveError, UsageError
from ctxtrim.io.clock import minute
from ctxtrim.io.outputs import Stdout
from ctxtrim.reports.tables import Table
from ctxtrim.text.numbers import several


def get(name: str, archive: str | None, sha256: str | None) -> int:
    """Print the original of a tool result, byte for byte."""
    if not name.strip():
        raise UsageError("INVALID_INPUT: the trace id is empty")
    try:
        opened = open_archive(archive)
    except NoArchiveError as error:
        raise ArchiveError(f"TRACE_NOT_FOUND: {name}: {error}") from error
    originals, errors = opened.traces(name)
    traces = [trace for trace in originals if sha256 is None or trace.sha256.startswith(sha256)]
    if len({trace.sha256 for trace in traces}) > 1 and sha256 is None:
        traces = oldest(opened, traces)
    names = {trace.sha256 for trace in traces}
    if errors and not originals:  # a damaged pack may have it
        raise ArchiveError(errors[0])
    if not names:
        also = f" and the SHA-256 {sha256}; leave out --sha256" if originals else ""
        raise ArchiveError(
            f"TRACE_NOT_FOUND: {name}: the archive {opened.folder} has no tool result with this "
            f"id{also}"
        )
    if len(names) > 1:
        print_error(f"ctxtrim: {name}: several results have this id; choose one with --sha256 SHA:")
        for trace in traces:
            print_error(
                f"  {trace.sha256}  {trace.path}:{trace.line}  ({trace.stage}, {trace.time})"
            )
        return 1
    Stdout().write(opened.original(traces[0]))
    return 0


def list_traces(archive: str | None) -> int:
    """List all replaced tool results: id, original, tool, stage, time, file and line."""
    traces, errors = open_archive(archive).traces()
    columns = ("id", "sha256", "tool", "stage", "time", "from")
    rows = tuple(map(_cells, traces))
    table = Table("", columns, rows, optional=("stage", "sha256", "time"), whole=("id",))
    print_text(fitted(table) if traces else "")
    for error in errors:
        print_error(f"ctxtrim: {error}")
    return 1 if errors else 0


def _cells(trace: Trace) -> tuple[str, ...]:
    return (
        trace.id,
        trace.sha256[:12],
        trace.tool or "-",
        trace.stage,
        minute(trace.time),
        f"{trace.path}:{trace.line}",
    )


def verify(archive: str | None) -> int:
    """Compare all originals, and the data that undoes each run, with their hashes."""
    count, errors = open_archive(archive).damage()
    for error in errors:
        print_error(f"ctxtrim: {error}")
    print_text(f"{several(count, 'original')}, {len(errors)} missing or changed\n")
    return 1 if errors else 0


_GET = HelpfulCommand(
    "get",
    get,
    [
        HelpfulArgument("name", "ID", "The trace id or call id of a tool result."),
        archive_option(),
        HelpfulOption(
            ["--sha256"],
            metavar="SHA",
            help="Select an original by its SHA-256, if several have this id.",
        ),
    ],
)
_LIST = HelpfulCommand("list", list_traces, [archive_option()])
_VERIFY = HelpfulCommand("verify", verify, [archive_option()])
COMMAND = HelpfulGroup(COMMANDS["trace"], [_GET, _LIST, _VERIFY])
