"""Sessions of many files, each read and written as one document."""

import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Protocol

from ctxtrim.io.paths import mode_of


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


def stored_session(path: Path) -> StoredSession | None:
    """The session of many files that a path names; None for any other path.

    The path of a session of opencode is a file; those of OpenHands and Strands Agents are folders.
    A folder that cannot be searched is none: who walks or reads it reports the reason.
    """
    mode = mode_of(path)
    if stat.S_ISDIR(mode):
        from ctxtrim.io.storage.openhands import openhands_session
        from ctxtrim.io.storage.strands import strands_session

        try:
            return openhands_session(path) or strands_session(path)
        except OSError:
            return None
    if (
        stat.S_ISREG(mode)
        and path.suffix == ".json"
        and path.absolute().parent.parent.name == "session"
    ):
        from ctxtrim.io.storage.opencode import opencode_session

        return opencode_session(path)
    return None
