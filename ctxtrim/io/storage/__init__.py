"""The storage folder of opencode: a session is a file, with a file for each message and each part.

::

    STORAGE/session/PROJECT/SESSION.json         {"id", "title", "time", …}
    STORAGE/message/SESSION/MESSAGE.json         {"id", "sessionID", "role", …}
    STORAGE/part/MESSAGE/PART.json               {"id", "messageID", "type", …}

    STORAGE/session/info/SESSION.json            as versions before 0.6 wrote them
    STORAGE/session/message/SESSION/MESSAGE.json
    STORAGE/session/part/SESSION/MESSAGE/PART.json

Messages are in the order of their file names, parts in the order of their ids. The session file is
the input; it is read as a document with all pieces (`document`) and written by `files`. Source:
`packages/opencode/src/storage/storage.ts` and `session/message-v2.ts` of sst/opencode (2025).
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

from ctxtrim.errors import InputError, reason, too_large
from ctxtrim.io.storage.document import SessionDocument, StoredMessage, StoredPiece

SAFE_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")
"""Ids that may be names of files."""
_PIECES = frozenset({"message", "part", "session_diff", "todo", "project", "permission"})
"""Folders of a storage whose files are no sessions."""


@dataclass(frozen=True)
class StoredSession:
    """A session file, the folder of its messages, and the folder with a folder of parts for each
    message.
    """

    path: Path
    messages: Path
    parts: Path

    def lines(self, max_size: int) -> Iterator[bytes]:
        """The lines of the document of the session; an `InputError` if it is too large."""
        if self.journal.exists():
            raise InputError(
                "an edit of this session in place was interrupted, or still runs; the next edit in "
                "place puts its files back as they were"
            )
        try:
            size = sum(path.stat().st_size for path in self.files())
            if size > max_size:
                raise InputError(too_large("the session", max_size))
            yield from BytesIO(self.document().data)
        except OSError as error:
            raise InputError(f"{error.filename}: cannot be read: {reason(error)}") from error

    @property
    def journal(self) -> Path:
        """The path of the journal of an edit of the session."""
        return self.path.with_name(f".{self.path.name}.ctxtrim-journal")

    def files(self) -> list[Path]:
        """The files of the session: its own first, then each message before its parts."""
        found = [self.path]
        for path in _json_files(self.messages):
            found += [path, *_json_files(self.part_folder(path))]
        return found

    def document(self) -> SessionDocument:
        """The session as a document."""
        found = []
        for path in _json_files(self.messages):
            parts = [_piece(part) for part in _json_files(self.part_folder(path))]
            ordered = sorted(parts, key=lambda part: part.id)
            found.append(StoredMessage(_message(path), tuple(ordered)))
        return SessionDocument(_piece(self.path), tuple(found))

    def part_folder(self, message: Path) -> Path:
        """The folder of the parts of a message file: named by its id, usually also its name."""
        folder = self.parts / message.stem
        if folder.is_dir():
            return folder
        name = _piece(message).id
        return self.parts / name if SAFE_NAME.fullmatch(name) else folder


def stored_session(path: Path) -> StoredSession | None:
    """The session of a session file in a storage folder; None for any other file."""
    folder = path.absolute().parent
    if path.suffix != ".json" or folder.parent.name != "session":
        return None
    is_old = folder.name == "info"
    root = folder.parent if is_old else folder.parent.parent
    if not (root / "message").is_dir():
        return None
    try:
        name = _piece(path).id
    except (InputError, OSError):
        return None
    if not SAFE_NAME.fullmatch(name) or not (root / "message" / name).is_dir():
        return None
    parts = root / "part" / name if is_old else root / "part"
    return StoredSession(path, root / "message" / name, parts)


def has_pieces_only(folder: Path) -> bool:
    """Whether the files of a folder belong to the sessions of a storage folder around it."""
    root = folder.parent
    if folder.name not in _PIECES or not (root / "message").is_dir():
        return False
    return (root / "session").is_dir() or (root.name == "session" and (root / "info").is_dir())


def _json_files(folder: Path) -> list[Path]:
    """The JSON files of a folder, by name; none if there is no such folder."""
    return sorted(folder.glob("[!.]*.json")) if folder.is_dir() else []


def _piece(path: Path) -> StoredPiece:
    """A file as a piece; an `InputError` if it is not a JSON object."""
    try:
        return StoredPiece.of(path.read_bytes())
    except ValueError as error:
        raise InputError(
            f"{path}: not a JSON object; the session cannot be read without it"
        ) from error


def _message(path: Path) -> StoredPiece:
    """A message file; an `InputError` for the format of the first versions."""
    piece = _piece(path)
    if "parts" in piece.value:
        raise InputError(
            f"{path}: the message has its parts inside, as versions before 0.4 of opencode wrote "
            "them; open the session with a newer opencode first"
        )
    return piece
