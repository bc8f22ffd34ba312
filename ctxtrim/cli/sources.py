"""The inputs of a run: named files, walked folders, the newest session."""

import os
from collections.abc import Sequence
from pathlib import Path

from ctxtrim.archive.locations import own_archive
from ctxtrim.config.option import Values
from ctxtrim.config.run_settings import given
from ctxtrim.errors import InputError, UsageError
from ctxtrim.findings import Finding
from ctxtrim.io.inputs import Input, inputs
from ctxtrim.io.paths import resolved
from ctxtrim.io.walk import Scan
from ctxtrim.text.globs import path_glob

Notes = tuple[tuple[str, Finding], ...]


def run_inputs(
    values: Values, report: Path | None, writes: bool
) -> tuple[tuple[Input, ...], Notes]:
    """The inputs of a run, and findings about them with their paths.

    `report` is the file of the report, which is not an input. A command that only reports (not
    `writes`) reads each file once.
    """
    files, notes = _named_files(values)
    listing = inputs(files, _scan(values, report))
    sources, skipped = listing.inputs, listing.skipped
    if not writes and len(files) > 1:
        sources, repeated = _distinct(sources)
        skipped += repeated
    notes += [(path, Finding("skipped", "info", why)) for path, why in skipped]
    return sources, tuple(notes)


def _distinct(sources: Sequence[Input]) -> tuple[tuple[Input, ...], tuple[tuple[str, str], ...]]:
    """The inputs without those that are named again, and these with the reason to skip them."""
    first: dict[Path, Input] = {}
    repeated = []
    for source in sources:
        path = Path(source.path)
        same = first.setdefault(path if source.is_stdin else resolved(path), source)
        if same is not source:
            repeated.append((source.path, f"skipped: it is the same file as {same.path}"))
    return tuple(first.values()), tuple(repeated)


def _named_files(values: Values) -> tuple[list[str], list[tuple[str, Finding]]]:
    """The paths to read, and with `--latest` the finding that names the session."""
    files = list(values["files"] or ())
    if not values["latest"]:
        return files, []
    if files:
        raise UsageError("--latest chooses the file; leave out FILE")
    from ctxtrim.io.sessions import latest, sessions  # for --latest only

    session = latest(sessions(os.environ), Path.cwd())
    if session is None:
        raise InputError("--latest: no session found; name a file, or see ctxtrim sessions")
    project = session.project(Path.cwd()) or "an unknown project"
    text = f"the newest session of {session.program.name}, in {project}"
    return [str(session.path)], [(str(session.path), Finding("latest", "info", text))]


def _scan(values: Values, report: Path | None) -> Scan:
    """How folders are walked. Outputs of the command are left out."""
    names = ("output", "archive", "baseline", "log", "events", "summary_store")
    paths = (own_archive(), report, *(values[name] for name in names))
    return Scan(
        skip=[Path(path) for path in paths if path],
        include=tuple(map(path_glob, given(values, "include"))),
        exclude=tuple(map(path_glob, given(values, "exclude"))),
        has_gitignore=values["gitignore"],
        edits=bool(values["in_place"]),
        may_be_empty=bool(values["allow_empty"]),
    )
