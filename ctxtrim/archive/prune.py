"""Remove old runs from an archive.

A pack undoes its run without other packs, so any of them can be removed. Separate files of
originals are different: transcripts refer to them by path. Packs name the files that their input
and output refer to. A file is removed if it is old and no remaining pack names it.

A pack that cannot be read, or of a version that names no files, may need every file. So may a run
that still writes.
"""

import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from ctxtrim.archive.index import Archive
from ctxtrim.archive.pack import Pack, PackGoneError
from ctxtrim.errors import ArchiveError, os_errors_as
from ctxtrim.io.clock import utc


@dataclass(frozen=True)
class Pruning:
    """The files of old runs, and how many runs are removed and kept. `size` is in bytes.

    `errors` has one for each pack that was changed. Such a pack is kept.
    """

    files: tuple[Path, ...]
    removed: int
    kept: int
    size: int
    errors: tuple[str, ...]

    def remove(self) -> None:
        """Remove the files. Raises `ArchiveError`."""
        for path in self.files:
            with os_errors_as(ArchiveError, f"{path}: cannot be removed"):
                path.unlink(missing_ok=True)


def plan_pruning(archive: Archive, before: str) -> Pruning:
    """What to remove to forget the runs before a time in UTC. Removes nothing.

    Runs that start later wait until the archive is closed.
    """
    is_alone = archive.lock_alone()
    packs, errors = archive.each(lambda pack: pack.about().time < before and not pack.is_live)
    removed = [pack for pack, is_removed in packs if is_removed]
    kept = [pack for pack, is_removed in packs if not is_removed]
    files = [pack.path for pack in removed]
    if is_alone and not errors:
        try:
            files += _unused(archive, kept, before)
        except ArchiveError as error:
            errors.append(str(error))
    states = [state for state in map(_state, files) if state is not None]
    size = sum(state.st_size for state in states)
    return Pruning(tuple(files), len(removed), len(kept), size, tuple(errors))


def _unused(archive: Archive, kept: Sequence[Pack], before: str) -> list[Path]:
    """The old separate files that none of the remaining packs needs.

    Raises `ArchiveError` if a pack cannot be read.
    """
    names = set(archive.separate())
    for pack in kept if names else ():
        with suppress(PackGoneError):
            needed = pack.objects()
            names -= names if needed is None else needed
    old = []
    for path in map(archive.path, sorted(names)):
        state = _state(path)
        if state is not None and utc(state.st_mtime) < before:
            old.append(path)
    return old


def _state(path: Path) -> os.stat_result | None:
    """The state of a file; None if another process removed it."""
    with suppress(FileNotFoundError):
        return path.stat()
    return None
