"""The storage folder of opencode: a session is a file, with a file for each message and each part.

::

    STORAGE/session/PROJECT/SESSION.json         {"id", "title", "time", …}
    STORAGE/message/SESSION/MESSAGE.json         {"id", "sessionID", "role", …}
    STORAGE/part/MESSAGE/PART.json               {"id", "messageID", "type", …}

    STORAGE/session/info/SESSION.json            as versions before 0.6 wrote them
    STORAGE/session/message/SESSION/MESSAGE.json
    STORAGE/session/part/SESSION/MESSAGE/PART.json

Messages are in the order of their file names, parts in the order of their ids. The session file is
the input; it is read as a document with all pieces (`opencode_document`) and written by `files`.
Source: `packages/opencode/src/storage/storage.ts` and `session/message-v2.ts` of sst/opencode
(2025).
"""

import re
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path

from msgspec import Struct

from ctxtrim.errors import InputError
from ctxtrim.io.paths import mode_of
from ctxtrim.io.storage.opencode_document import SessionDocument, StoredMessage
from ctxtrim.io.storage.pieces import StoredPiece, document_lines, piece_in
from ctxtrim.io.storage.session import must_be_objects, not_of, unfit

_SAFE_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")
"""Ids that may be names of files."""
_PIECES = frozenset({"message", "part", "session_diff", "todo", "project", "permission"})
"""Folders of a storage whose files are no sessions."""


class OpencodeSession(Struct, frozen=True):
    """A session file, the folder of its messages, and the folder with a folder of parts for each
    message.
    """

    path: Path
    messages: Path
    parts: Path
    suffix: str = ""

    def lines(self, max_size: int) -> Iterator[bytes]:
        """The lines of the document of the session; an `InputError` if it is too large."""
        return document_lines(self, max_size)

    @property
    def journal(self) -> Path:
        """The path of the journal of an edit of the session."""
        return self.path.with_name(f".{self.path.name}.ctxtrim-journal")

    def files(self) -> list[Path]:
        """The files of the session: its own first, then each message before its parts."""
        paths = [self.path]
        for path in _json_files(self.messages):
            paths += [path, *_json_files(self.part_folder(path))]
        return paths

    def document(self) -> bytes:
        """The session in the shape of `opencode export`."""
        messages = []
        for path in _json_files(self.messages):
            parts = [piece_in(part) for part in _json_files(self.part_folder(path))]
            ordered = sorted(parts, key=lambda part: part.id)
            messages.append(StoredMessage(_message(path), tuple(ordered)))
        return SessionDocument(piece_in(self.path), tuple(messages)).data

    def canonical(self, read: bytes, written: bytes | None) -> bytes | None:
        """An edited document as its files make it; other bytes, such as a request, as they are."""
        if written is None or written == read:
            return written
        try:
            return SessionDocument.of(written).with_spaces_of(SessionDocument.of(read)).data
        except ValueError:
            return written

    def files_of(self, document: bytes) -> dict[Path, bytes]:
        """The files that make a document: those of the session, and new ones."""
        try:
            intended = SessionDocument.of(document)
        except ValueError:
            raise not_of(self, "opencode") from None
        known = {(path.parent, StoredPiece.of(path.read_bytes()).id): path for path in self.files()}

        def place(folder: Path, piece: StoredPiece) -> Path:
            if not _SAFE_NAME.fullmatch(piece.id):
                raise unfit(self, f"{piece.id[:40]!r} is not an id that can be a file name")
            return known.get((folder, piece.id), folder / f"{piece.id}.json")

        pieces = [(self.path, intended.info.data)]
        for message in intended.messages:
            path = place(self.messages, message.info)
            pieces.append((path, message.info.data))
            if list(message.parts) != sorted(message.parts, key=lambda part: part.id):
                raise unfit(self, "a new part would not be read in its place")
            folder = self.part_folder(path) if path.exists() else self.parts / message.info.id
            pieces += [(place(folder, part), part.data) for part in message.parts]
        if len(dict(pieces)) != len(pieces):
            raise unfit(self, "two of its messages or parts have the same id")
        return dict(pieces)

    def must_be_writable(
        self, current: Mapping[Path, bytes], intended: Mapping[Path, bytes]
    ) -> None:
        """Raise `OutputError` if opencode would not read the files as they are meant."""
        must_be_objects(self, current)
        removed = [path for path in current if path not in intended]
        if any(StoredPiece.of(current[path]).id != path.stem for path in removed):
            raise unfit(self, "the names of its files are not the ids of its messages and parts")
        messages = [path.name for path in intended if path.parent == self.messages]
        if messages != sorted(messages):
            raise unfit(self, "a new message would not be read in its place")

    def may_be_removed(self, folder: Path) -> bool:
        """Whether a folder has the parts of a message."""
        return folder.parent == self.parts

    def part_folder(self, message: Path) -> Path:
        """The folder of the parts of a message file: named by its id, usually also its name."""
        folder = self.parts / message.stem
        if folder.is_dir():
            return folder
        name = piece_in(message).id
        return self.parts / name if _SAFE_NAME.fullmatch(name) else folder


def opencode_session(path: Path) -> OpencodeSession | None:
    """The session of a session file in a storage folder; None for any other file."""
    folder = path.absolute().parent
    is_old = folder.name == "info"
    root = folder.parent if is_old else folder.parent.parent
    if not (root / "message").is_dir():
        return None
    try:
        name = piece_in(path).id
    except (InputError, OSError):
        return None
    if not _SAFE_NAME.fullmatch(name) or not (root / "message" / name).is_dir():
        return None
    parts = root / "part" / name if is_old else root / "part"
    return OpencodeSession(path, root / "message" / name, parts)


def has_pieces_only(folder: Path) -> bool:
    """Whether the files of a folder belong to the sessions of a storage folder around it."""
    root = folder.parent
    if folder.name not in _PIECES or not _is_folder(root / "message"):
        return False
    return _is_folder(root / "session") or (root.name == "session" and _is_folder(root / "info"))


def _is_folder(path: Path) -> bool:
    """Whether a path is a folder; not if the folder around it cannot be searched."""
    return stat.S_ISDIR(mode_of(path))


def _json_files(folder: Path) -> list[Path]:
    """The JSON files of a folder, by name; none if there is no such folder."""
    return sorted(folder.glob("[!.]*.json")) if folder.is_dir() else []


def _message(path: Path) -> StoredPiece:
    """A message file; an `InputError` for the format of the first versions."""
    piece = piece_in(path)
    if "parts" in piece.value:
        raise InputError(
            f"{path}: the message has its parts inside, as versions before 0.4 of opencode wrote "
            "them; open the session with a newer opencode first"
        )
    return piece
