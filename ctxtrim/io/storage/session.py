"""What a session of many files can do, and the errors of edits that it cannot take."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Protocol

from ctxtrim.errors import OutputError


class StoredSession(Protocol):
    """A session of many files. Each has a place in one document."""

    @property
    def path(self) -> Path:
        """The path that names the session."""
        ...

    @property
    def suffix(self) -> str:
        """What follows the name of the path in a folder of outputs."""
        ...

    @property
    def journal(self) -> Path:
        """The path of the journal of an edit."""
        ...

    def files(self) -> list[Path]:
        """The files, in the order of the document."""
        ...

    def lines(self, max_size: int) -> Iterator[bytes]:
        """The lines of the document; an `InputError` if it is too large."""
        ...

    def document(self) -> bytes:
        """The document."""
        ...

    def canonical(self, read: bytes, written: bytes | None) -> bytes | None:
        """An edited document as its files make it; other bytes, such as a request, as they are."""
        ...

    def files_of(self, document: bytes) -> dict[Path, bytes]:
        """The files that make a document; an `OutputError` if it is not one of this session."""
        ...

    def must_be_writable(
        self, current: Mapping[Path, bytes], intended: Mapping[Path, bytes]
    ) -> None:
        """Raise `OutputError` if the program could not read the changed files."""
        ...

    def may_be_removed(self, folder: Path) -> bool:
        """Whether a folder has no use when it is empty."""
        ...


def unfit(session: StoredSession, why: str) -> OutputError:
    """The error of a session whose files cannot take an edit."""
    copy = f"-o x{session.suffix or '.json'}"
    return OutputError(
        f"{session.path}: cannot be edited in place: {why}; write the session with {copy}"
    )


def not_of(session: StoredSession, program: str) -> OutputError:
    """The error of a document that is not one of a session of a program."""
    return OutputError(
        f"{session.path}: is a session of {program}, which cannot take another file; write to "
        "another path"
    )


def must_be_objects(session: StoredSession, files: Mapping[Path, bytes]) -> None:
    """Raise `OutputError` if a file starts with other bytes than an object: what is before it is no
    part of the document, so it would be lost.
    """
    if any(not data.startswith(b"{") for data in files.values()):
        raise unfit(session, "one of its files starts with other bytes than an object")
