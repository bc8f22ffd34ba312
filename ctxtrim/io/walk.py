"""The transcripts in a folder."""

import os
import re
import stat
from collections.abc import Collection, Iterator
from pathlib import Path

from msgspec import Struct

from ctxtrim.errors import reason
from ctxtrim.io.compression import kind_named
from ctxtrim.io.paths import mode_of, repository, resolved
from ctxtrim.io.storage import stored_session
from ctxtrim.text.globs import Glob, ignore_globs, is_ignored

SUFFIXES = (".jsonl", ".ndjson", ".json", ".traj", ".eval")
"""The suffixes of transcripts in walked folders; suffixes of compressed files may follow."""
_READ_ONLY = ".eval"
_JSON = re.compile(rb'(\xef\xbb\xbf)?\s*\{\s*"')
_HEAD = 1024  # bytes of a file without a suffix that show whether it is JSON

VENDOR = (
    "node_modules", "bower_components", "venv", "__pycache__", "__pypackages__", "site-packages",
    "build", "dist", "target", "vendor"
)  # fmt: skip
"""The names of folders with installed packages and with files that programs build."""

_IGNORE_FILE = ".gitignore"
_MAX_IGNORE_FILE = 1 << 20  # bytes of an ignore file; the rest is not read


class Scan(Struct, frozen=True):
    """How folders are walked.

    `skip`: files and folders that are left out. `include` and `exclude`: patterns for paths as
    reports show them; read only files that match a pattern of `include`, if there is one, and no
    pattern of `exclude`. `has_gitignore`: leave out paths that `.gitignore` ignores. `edits`: files
    are edited in place, so containers are left out. `may_be_empty`: a folder without transcripts is
    no problem.
    """

    skip: Collection[Path] = ()
    include: tuple[Glob, ...] = ()
    exclude: tuple[Glob, ...] = ()
    has_gitignore: bool = True
    edits: bool = False
    may_be_empty: bool = False


EVERYTHING = Scan()
"""A walk without patterns."""


class Found(Struct, frozen=True):
    """A file, a folder that is a session, or a folder that cannot be read.

    `skipped`: the reason why a file is not read.
    """

    path: Path
    problem: str | None = None
    skipped: str | None = None


def walk(folder: Path, scan: Scan) -> Iterator[Found]:
    """The transcripts of a folder, sorted by name, before those of its subfolders.

    Files with a suffix of transcripts, and JSON objects in files without a suffix. A folder that is
    a session is a transcript. Hidden folders and those of `VENDOR` are left out. Symbolic links are
    not followed, and pipes, sockets, devices and the file that gets standard output are not read.
    Rules for `folder` itself do not apply: the user names it.
    """
    left_out = {resolved(path) for path in scan.skip}
    place = resolved(folder)
    waiting = [(folder, place, _rules_above(place) if scan.has_gitignore else ())]
    while waiting:
        parent, place, rules = waiting.pop()
        try:
            with os.scandir(parent) as listing:
                entries = sorted(listing, key=lambda entry: entry.name)
        except OSError as error:
            yield Found(parent, problem=f"the folder cannot be read: {reason(error)}")
            continue
        if scan.has_gitignore:
            rules = (*rules, *_rules_in(place))
        folders = []
        for entry in entries:
            path, real = parent / entry.name, place / entry.name
            is_folder = entry.is_dir(follow_symlinks=False)
            if not (_is_open(path) if is_folder else _is_transcript(entry)):
                continue
            if real in left_out or _is_standard_output(entry):
                continue
            if _is_ignored(rules, real, is_folder):
                continue
            is_walked = is_folder and stored_session(path) is None
            if _is_left_out(scan, path, is_folder, is_walked):
                continue
            if is_walked:
                folders.append((path, real, rules))
            else:
                yield from _inputs(entry, path, scan)
        waiting += reversed(folders)


def _inputs(entry: "os.DirEntry[str]", path: Path, scan: Scan) -> Iterator[Found]:
    """A file or session as an input, or with the reason why it is not read."""
    if scan.edits and entry.name.endswith(_READ_ONLY):
        yield Found(path, skipped="skipped: it cannot be edited in place; use -o")
    elif entry.is_file(follow_symlinks=False) or entry.is_dir(follow_symlinks=False):
        yield Found(path)
    elif not stat.S_ISDIR(mode_of(path)):
        yield Found(path, skipped=_SKIPPED[entry.is_symlink()])


_SKIPPED = {
    True: "skipped: links in a folder are not followed; name the file to read it",
    False: "skipped: it is a pipe, a socket or a device; name it to read it",
}


def _is_open(path: Path) -> bool:
    """Whether a folder of this name is walked."""
    from ctxtrim.io.storage.opencode import has_pieces_only  # for walked folders only

    is_hidden = path.name.startswith(".") or path.name in VENDOR
    return not is_hidden and not has_pieces_only(path)


def _is_transcript(entry: "os.DirEntry[str]") -> bool:
    """Whether a name has a suffix of transcripts, or no suffix and the file is a JSON object."""
    path = Path(entry.name)
    if not path.suffix:
        return not entry.name.startswith(".") and _is_object(entry)
    return has_transcript_suffix(path)


def has_transcript_suffix(path: Path) -> bool:
    """Whether the name of a file has a suffix of transcripts, which may be compressed."""
    name = path.name.removesuffix(path.suffix) if kind_named(path) else path.name
    return name.endswith(SUFFIXES)


def _is_standard_output(entry: "os.DirEntry[str]") -> bool:
    """Whether a file gets the standard output of this process."""
    try:
        output = os.fstat(1)
        is_alike = entry.inode() == output.st_ino
        return is_alike and os.path.samestat(entry.stat(follow_symlinks=False), output)
    except OSError:  # standard output is closed, or the file is gone
        return False


def _is_object(entry: "os.DirEntry[str]") -> bool:
    """Whether a file starts as a JSON object. AI Studio's chats have no suffix."""
    try:
        if not entry.is_file(follow_symlinks=False):
            return False
        with Path(entry.path).open("rb") as file:
            return _JSON.match(file.read(_HEAD)) is not None
    except OSError:
        return False


def _is_left_out(scan: Scan, path: Path, is_folder: bool, is_walked: bool) -> bool:
    """Whether `--exclude` leaves out a path, or `--include` leaves out a transcript. A pattern for
    folders includes files in them.
    """
    names = path.parts[bool(path.anchor) :]

    def is_covered(globs: tuple[Glob, ...]) -> bool:
        return any(glob.covers(names, is_folder=is_folder) for glob in globs)

    is_missing = bool(scan.include) and not is_walked and not is_covered(scan.include)
    return is_missing or is_covered(scan.exclude)


class _Rules(Struct, frozen=True):
    """The patterns of one ignore file, for the paths in its folder."""

    folder: Path
    globs: tuple[Glob, ...]


def _is_ignored(rules: tuple[_Rules, ...], path: Path, is_folder: bool) -> bool:
    """Whether ignore files ignore a path. The nearest file with a pattern for it decides."""
    for file in reversed(rules):
        names = path.relative_to(file.folder).parts
        ignored = is_ignored(file.globs, names, is_folder=is_folder)
        if ignored is not None:
            return ignored
    return False


def _rules_above(folder: Path) -> tuple[_Rules, ...]:
    """The ignore files above a folder, from the root of its repository down."""
    root = repository(folder)
    if root is None or root == folder:
        return ()
    above = [parent for parent in reversed(folder.parents) if parent.is_relative_to(root)]
    return tuple(rules for parent in above for rules in _rules_in(parent))


def _rules_in(folder: Path) -> Iterator[_Rules]:
    """The ignore file in a folder, if there is one. Like git, links are not followed."""
    path = folder / _IGNORE_FILE
    try:
        if not stat.S_ISREG(path.lstat().st_mode):
            return
        with path.open("rb") as file:
            text = file.read(_MAX_IGNORE_FILE).decode(errors="replace")
    except OSError:  # git ignores such a file too
        return
    globs = ignore_globs(text)
    if globs:
        yield _Rules(folder, globs)
