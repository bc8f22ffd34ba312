"""Writing a session of many files: one file after the other, with a journal to undo it.

::

    all writable? · unchanged? · journal: the session before and after
    · changed and new files · dropped files · no journal

A file system replaces one file at a time. An error puts all files back as the journal has them. If
the run is killed, the journal stays: the session is not read until the next edit in place puts the
files back.
"""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import reduce
from operator import and_
from pathlib import Path

from ctxtrim.io.replacement import ATTEMPTS, ChangedError, InPlace
from ctxtrim.io.signals import delayed
from ctxtrim.io.storage.journal import Journal
from ctxtrim.io.storage.session import StoredSession
from ctxtrim.io.temporary import Temporary, writing_errors

_Version = tuple[int, int, int]


@dataclass(frozen=True)
class _Plan:
    """The files to write and to remove."""

    written: Mapping[Path, bytes]
    removed: Sequence[Path]


class SessionFiles:
    """A sink that writes the document of a session to its files.

    Create it before the session is read: it puts back the files of an interrupted edit, and shows
    all later changes.
    """

    def __init__(self, session: StoredSession) -> None:
        self._session = session
        with writing_errors(session.path), delayed():
            journal = Journal.left(session.journal)
            if journal is not None:
                _put_back(session, journal)
            self._first_versions = _versions(session)
        self._written: list[bytes] = []

    def write(self, data: bytes) -> None:
        """Keep the bytes until `commit`."""
        self._written.append(data)

    def discard(self) -> None:
        """Leave the files unchanged; do nothing after `commit`."""
        self._written.clear()

    def commit(self) -> None:
        """Write the files; a `ChangedError` if they are no longer those that were read."""
        session = self._session
        intended = b"".join(self._written)
        with writing_errors(session.path), delayed():
            plan = _plan(session, intended)
            _must_be_replaceable(plan, self._first_versions)
            self._must_be_unchanged()
            before = session.document()
            journal = Journal.started(session.journal, before, intended)
            mode = _strictest(self._first_versions)
            try:
                for path, data in plan.written.items():
                    self._replace(path, data, mode)
                for path in plan.removed:
                    self._must_be_as_found(path)
                    _remove(path, session)
            except BaseException:
                _put_back(session, journal)
                raise
            journal.end()
        self.discard()

    def _replace(self, path: Path, data: bytes, mode: int) -> None:
        """Write a file that is as it was found, or a new one with a mode."""
        if path not in self._first_versions:
            _write(path, data, mode)
            return
        sink = InPlace(path)
        try:
            self._must_be_as_found(path)
            sink.write(data)
            sink.commit()
        finally:
            sink.discard()

    def _must_be_unchanged(self) -> None:
        if _versions(self._session) != self._first_versions:
            raise _changed(self._session.path)

    def _must_be_as_found(self, path: Path) -> None:
        if not path.exists() or _version(path) != self._first_versions[path]:
            raise _changed(path)


def _changed(path: Path) -> ChangedError:
    return ChangedError(
        f"{path}: changed {ATTEMPTS} times while the session was edited; end the program that "
        "writes it, or write a copy with -o"
    )


def _versions(session: StoredSession) -> dict[Path, _Version]:
    """The version of each file of a session."""
    return {path: _version(path) for path in session.files()}


def _version(path: Path) -> _Version:
    status = path.stat()
    return status.st_ino, status.st_size, status.st_mtime_ns


def _plan(session: StoredSession, document: bytes) -> _Plan:
    """The changes of files that make a document; an `OutputError` if no files can make it."""
    current = {path: path.read_bytes() for path in session.files()}
    intended = session.files_of(document)
    session.must_be_writable(current, intended)
    written = {path: data for path, data in intended.items() if current.get(path) != data}
    return _Plan(written, [path for path in current if path not in intended])


def _must_be_replaceable(plan: _Plan, versions: Mapping[Path, _Version]) -> None:
    """Raise `OutputError` for files that cannot be replaced, before any file is."""
    for path in (*plan.written, *plan.removed):
        if path in versions:
            sink = InPlace(path)
            sink.check()
            sink.discard()


def _put_back(session: StoredSession, journal: Journal) -> None:
    """Write the files as they were before the edit of a journal, and end the journal.

    Files that another program has changed since then stay.
    """
    before = session.files_of(journal.before)
    after = session.files_of(journal.after)
    mode = _strictest(session.files())
    for path, data in before.items():
        is_edited = path.read_bytes() == after.get(path) if path.exists() else path not in after
        if is_edited and data != after.get(path):
            _write(path, data, mode)
    for path, data in after.items():
        if path not in before and path.exists() and path.read_bytes() == data:
            _remove(path, session)
    journal.end()


def _strictest(paths: Iterable[Path]) -> int:
    """The permissions that all of some files give.

    A file that an edit removed and `restore` writes again must not become readable for others.
    """
    modes = [path.stat().st_mode for path in paths]
    return 0o600 | reduce(and_, modes, 0o066 if modes else 0)


def _write(path: Path, data: bytes, mode: int) -> None:
    """Write a file as a whole, with a mode if it is new."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = Temporary(path.parent, path.name)
    try:
        temporary.write(data)
        temporary.sync()
        if path.exists():
            temporary.copy_mode(path.stat())
        else:
            temporary.path.chmod(mode)
        temporary.replace(path)
    finally:
        temporary.discard()


def _remove(path: Path, session: StoredSession) -> None:
    """Remove a file, and its folder if that is then empty and has no other use."""
    path.unlink()
    if session.may_be_removed(path.parent):
        with suppress(OSError):  # not empty
            path.parent.rmdir()
