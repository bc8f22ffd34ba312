"""Remove old runs from an archive.

A pack undoes its run without other packs, so any of them can be removed. Separate files of
originals are different: transcripts refer to them by path. A run that stored such files is kept
while a newer run begins with its output, directly or through other runs.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ctxtrim.archive.index import Archive
from ctxtrim.archive.pack import Pack
from ctxtrim.errors import ArchiveError, os_errors_as


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
    """What to remove to forget the runs before a time in UTC. Removes nothing."""
    kept: list[Pack] = []
    old: list[tuple[str, Pack]] = []
    errors = []
    for pack in archive.packs():
        try:
            time = pack.about().time
        except ArchiveError as error:
            errors.append(str(error))
            continue
        if time < before:
            old.append((time, pack))
        else:
            kept.append(pack)
    newest_first = [pack for _, pack in sorted(old, key=lambda item: item[0], reverse=True)]
    needed = set(_needed(archive, newest_first, kept))
    removed = [pack for pack in newest_first if pack.path not in needed]
    kept += [pack for pack in newest_first if pack.path in needed]
    names = {name for pack in removed for name in archive.separate(pack)}
    names -= {name for pack in kept for name in archive.separate(pack)}
    files = (*(pack.path for pack in removed), *map(archive.path, sorted(names)))
    size = sum(path.stat().st_size for path in files)
    return Pruning(files, len(removed), len(kept), size, tuple(errors))


def _needed(archive: Archive, newest_first: Sequence[Pack], kept: Sequence[Pack]) -> Iterator[Path]:
    """The old packs whose separate files a transcript of a newer run may refer to."""
    inputs = {pack.input for pack in kept}
    for pack in newest_first:
        if pack.output in inputs:
            inputs.add(pack.input)
            if archive.separate(pack):
                yield pack.path
