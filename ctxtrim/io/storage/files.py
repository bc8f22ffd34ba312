"""Writing a session of many files: one file after the other, with a journal to undo it.

::

    all writable? · unchanged? · journal: the session before and after
    · changed and new files · dropped files · no journal

A file system replaces one file at a time. An error puts all files back as the journal has them. If
the run is killed, the journal stays (`.SESSION.json.ctxtrim-journal` next to the session file): the
session is not read until the next edit in place puts the files back.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from ctxtrim.errors import OutputError
from ctxtrim.io.metadata import copy_mode
from ctxtrim.io.replacement import ATTEMPTS, ChangedError, InPlace
from ctxtrim.io.signals import delayed
from ctxtrim.io.storage import SAFE_NAME, StoredSession
from ctxtrim.io.storage.document import SessionDocument, StoredPiece
from ctxtrim.io.storage.journal import Journal
from ctxtrim.io.temporary import Temporary, writing_errors

_Version = tuple[int, int, int]


@dataclass(frozen=True)
class _Plan:
    """The files to write and to remove."""

    written: Mapping[Path, bytes]
    removed: Sequence[Path]


class SessionFiles:
    """A sink that writes the pieces of a session document to the files of the session.

    Create it before the session is read: it puts back the files of an interrupted edit, and shows
    all later changes.
    """

    def __init__(self, session: StoredSession) -> None:
        self._session = session
        with writing_errors(session.path), delayed():
            journal = Journal.left(session.journal)
            if journal is not None:
                _put_back(session, journal)
            self._found = _versions(session)
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
        try:
            meant = SessionDocument.of(b"".join(self._written))
        except ValueError:
            raise OutputError(
                f"{session.path}: is a session of opencode, which cannot take another file; "
                "write to another path"
            ) from None
        with writing_errors(session.path), delayed():
            plan = _plan(session, meant)
            _must_be_replaceable(plan, self._found)
            self._must_be_unchanged()
            before = session.document()
            journal = Journal.started(session.journal, before.data, meant.data)
            try:
                for path, data in plan.written.items():
                    self._replace(path, data)
                for path in plan.removed:
                    self._must_be_as_found(path)
                    _remove(path, self._session)
            except BaseException:
                _put_back(session, journal)
                raise
            journal.end()
        self.discard()

    def _replace(self, path: Path, data: bytes) -> None:
        """Write a file that is as it was found, or a new one."""
        if path not in self._found:
            _write(path, data, self._session.path)
            return
        sink = InPlace(path)
        try:
            self._must_be_as_found(path)
            sink.write(data)
            sink.commit()
        finally:
            sink.discard()

    def _must_be_unchanged(self) -> None:
        if _versions(self._session) != self._found:
            raise _changed(self._session.path)

    def _must_be_as_found(self, path: Path) -> None:
        if not path.exists() or _version(path) != self._found[path]:
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
    found = path.stat()
    return found.st_ino, found.st_size, found.st_mtime_ns


def _plan(session: StoredSession, meant: SessionDocument) -> _Plan:
    """The changes of files that make a document; an `OutputError` if no files can make it."""
    held = {path: path.read_bytes() for path in session.files()}
    wanted = dict(_wanted(session, meant))
    if len(wanted) != sum(1 for _ in meant.pieces):
        raise _unfit(session, "two of its messages or parts have the same id")
    if any(not data.startswith(b"{") for data in held.values()):
        raise _unfit(session, "one of its files starts with other bytes than an object")
    removed = [path for path in held if path not in wanted]
    if any(StoredPiece.of(held[path]).id != path.stem for path in removed):
        raise _unfit(session, "the names of its files are not the ids of its messages and parts")
    messages = [path.name for path in wanted if path.parent == session.messages]
    if messages != sorted(messages):
        raise _unfit(session, "a new message would not be read in its place")
    written = {path: data for path, data in wanted.items() if held.get(path) != data}
    return _Plan(written, removed)


def _wanted(session: StoredSession, meant: SessionDocument) -> list[tuple[Path, bytes]]:
    """The files of a document, in its order: those of the session, and new ones."""
    known = {(path.parent, StoredPiece.of(path.read_bytes()).id): path for path in session.files()}

    def place(folder: Path, piece: StoredPiece) -> Path:
        if not SAFE_NAME.fullmatch(piece.id):
            raise _unfit(session, f"{piece.id[:40]!r} is not an id that can be a file name")
        return known.get((folder, piece.id), folder / f"{piece.id}.json")

    found = [(session.path, meant.info.data)]
    for message in meant.messages:
        path = place(session.messages, message.info)
        found.append((path, message.info.data))
        if list(message.parts) != sorted(message.parts, key=lambda part: part.id):
            raise _unfit(session, "a new part would not be read in its place")
        folder = session.part_folder(path) if path.exists() else session.parts / message.info.id
        found += [(place(folder, part), part.data) for part in message.parts]
    return found


def _unfit(session: StoredSession, why: str) -> OutputError:
    return OutputError(
        f"{session.path}: cannot be edited in place: {why}; write the session with -o x.json"
    )


def _must_be_replaceable(plan: _Plan, found: Mapping[Path, _Version]) -> None:
    """Raise `OutputError` for files that cannot be replaced, before any file is."""
    for path in (*plan.written, *plan.removed):
        if path in found:
            InPlace(path).discard()


def _put_back(session: StoredSession, journal: Journal) -> None:
    """Write the files as they were before the edit of a journal, and end the journal.

    Files that another program has changed since then stay.
    """
    before = dict(_wanted(session, SessionDocument.of(journal.before)))
    after = dict(_wanted(session, SessionDocument.of(journal.after)))
    for path, data in before.items():
        is_edited = path.read_bytes() == after.get(path) if path.exists() else path not in after
        if is_edited and data != after.get(path):
            _write(path, data, session.path)
    for path, data in after.items():
        if path not in before and path.exists() and path.read_bytes() == data:
            _remove(path, session)
    journal.end()


def _write(path: Path, data: bytes, like: Path) -> None:
    """Write a file as a whole, with the permissions of another one if it is new."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = Temporary(path.parent, path.name)
    try:
        temporary.write(data)
        temporary.sync()
        copy_mode((path if path.exists() else like).stat(), temporary.path)
        temporary.replace(path)
    finally:
        temporary.discard()


def _remove(path: Path, session: StoredSession) -> None:
    """Remove a file, and the folder of parts that is then empty."""
    path.unlink()
    if path.parent.parent == session.parts:
        with suppress(OSError):  # not empty
            path.parent.rmdir()
