"""`ctxtrim archive`: the runs that can be undone."""

from typing import Any

from ctxtrim.archive.index import Run
from ctxtrim.archive.pack import About
from ctxtrim.archive.prune import plan_pruning
from ctxtrim.cli.archives import archive_option, open_archive_if_any
from ctxtrim.cli.command_types import JSON, HelpfulCommand, HelpfulGroup, HelpfulOption
from ctxtrim.cli.commands import COMMANDS
from ctxtrim.cli.messages import print_data, print_error, print_text
from ctxtrim.cli.terminal import fitted
from ctxtrim.config.option import Option
from ctxtrim.errors import UsageError
from ctxtrim.io.clock import ago, minute
from ctxtrim.reports.tables import Table
from ctxtrim.text.escaping import json_text
from ctxtrim.text.numbers import several

_AGE = Option(
    "older_than",
    "Remove runs that are older than this, as in 12h, 30d or 8w; without a unit in days.",
    0,
    metavar="AGE",
    least=0,
    units={"d": 24, "h": 1, "w": 7 * 24},
)


def list_runs(archive: str | None, is_json: bool) -> int:
    """List the runs that can be undone, the oldest first: time, stages, size, file."""
    runs, errors = _runs(archive)
    for error in errors:
        print_error(f"ctxtrim: {error}")
    if is_json:
        print_data(f"{json_text({'version': 1, 'runs': runs}, indent=1)}\n")
        return 1 if errors else 0
    columns = ("time", "stages", ">bytes", "file")
    rows = tuple(map(_cells, runs))
    table = Table("", columns, rows, optional=("bytes", "stages"), whole=("time",))
    size = sum(run["bytes"] or 0 for run in runs)
    print_text(f"{fitted(table) if runs else ''}{several(len(runs), 'run')}, {size:,} bytes\n")
    return 1 if errors else 0


def _cells(run: dict[str, Any]) -> tuple[str, ...]:
    state = ""
    if not run["output"]:
        state = " (running)" if run["running"] else " (killed)"
    return (
        minute(run["time"]),
        (run["pipeline"] or "-") + state,
        "-" if run["bytes"] is None else f"{run['bytes']:,}",
        run["path"],
    )


def _runs(folder: str | None) -> tuple[list[dict[str, Any]], list[str]]:
    """The runs in an archive as values, and an error for each that was changed.

    A run that still writes or was killed has no output. The originals of runs in an index of
    version 1 are shared, so the size of such a run is not known.
    """
    opened = open_archive_if_any(folder)
    if opened is None:
        return [], []
    runs = [_run(run, run.output, run.input) for run in opened.old_runs()]
    packs, errors = opened.each(lambda pack: (pack.about(), pack.size, pack.is_live))
    for pack, (about, size, is_live) in packs:
        output, source = (None, None) if pack.is_partial else (pack.output, pack.input)
        runs.append(_run(about, output, source, size, is_live))
    return sorted(runs, key=lambda run: (run["time"], run["path"])), errors


def _run(
    about: Run | About,
    output: str | None,
    source: str | None,
    size: int | None = None,
    is_live: bool = False,
) -> dict[str, Any]:
    """A run as a value; `output` and `source` are SHA-256."""
    return {
        "time": about.time,
        "path": about.path,
        "pipeline": about.pipeline,
        "bytes": size,
        "output": output,
        "input": source,
        "running": is_live,
    }


def prune(older_than: str | None, archive: str | None, dry_run: bool) -> int:
    """Remove old runs. They can no longer be undone, and their originals are gone.

    Each remaining run can be undone without them. Results in separate files are kept while a
    remaining run refers to them, and while a run uses the archive.
    """
    if older_than is None:
        raise UsageError(
            "--older-than is missing; name the age of the runs to remove, as in "
            "`ctxtrim archive prune --older-than 30d`"
        )
    hours = _AGE.parse("--older-than", _in_units(older_than))
    opened = open_archive_if_any(archive)
    if opened is None:
        print_text("0 runs removed; there is no archive\n")
        return 0
    pruning = plan_pruning(opened, ago(hours * 3600))
    for error in pruning.errors:
        print_error(f"ctxtrim: {error}")
    if not dry_run:
        pruning.remove()
    opened.close()
    text = "would be removed" if dry_run else "removed"
    print_text(
        f"{several(pruning.removed, 'run')} {text} "
        f"({pruning.size:,} bytes), {pruning.kept:,} kept\n"
    )
    return 1 if pruning.errors else 0


def _in_units(text: str) -> str:
    """An age with its unit; a bare number is in days."""
    return f"{text}d" if text.isdigit() else text


_LIST = HelpfulCommand("list", list_runs, [archive_option(), JSON])
_PRUNE = HelpfulCommand(
    "prune",
    prune,
    [
        HelpfulOption(["--older-than"], metavar=_AGE.metavar, help=_AGE.help),
        archive_option(),
        HelpfulOption(["--dry-run"], is_flag=True, help="Remove nothing."),
    ],
)
COMMAND = HelpfulGroup(COMMANDS["archive"], [_LIST, _PRUNE])
