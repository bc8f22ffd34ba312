"""The folder of an OpenHands conversation: a file for each event.

::

    CONVERSATION/base_state.json                 settings; read by no command
    CONVERSATION/events/event-00000-ID.json      {"id", "source", "kind", …}

    SESSION/events/0.json                        {"id": 0, "source", "action" | "observation", …}
    SESSION/event_cache/0-25.json                copies of events, as versions before 1.0 wrote them

The session is read as JSON lines, an event per line, in the order of the numbers of the files. The
SDK stops reading at a missing number and links events by their ids, so an edit in place may change
events, but neither drop nor insert them. Sources: `conversation/event_store.py` of
OpenHands/software-agent-sdk (2026), `openhands/storage/locations.py` of All-Hands-AI/OpenHands
(2025).
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from msgspec import Struct

from ctxtrim.errors import InputError, reason, too_large
from ctxtrim.io.storage.journal import must_be_complete
from ctxtrim.io.storage.session import unfit
from ctxtrim.text.records import BOM, document, split, value_of

_NAME = re.compile(r"(?:event-)?(\d+)(?:-[^/]+)?\.json")


class OpenhandsSession(Struct, frozen=True):
    """The folder that the user names, and the folder of its events."""

    path: Path
    events: Path
    suffix: str = ".jsonl"

    @property
    def journal(self) -> Path:
        """The path of the journal of an edit; OpenHands ignores names with a dot."""
        return self.events / ".ctxtrim-journal"

    def files(self) -> list[Path]:
        """The event files, by number."""
        return _event_files(self.events)

    def lines(self, max_size: int) -> Iterator[bytes]:
        """A line for each event; an `InputError` if a file is too large or cannot be read."""
        must_be_complete(self.journal)
        for number, path in enumerate(self.files(), 1):
            try:
                if path.stat().st_size > max_size:
                    raise InputError(too_large("the event", max_size), number)
                yield _line(path.read_bytes(), path)
            except OSError as error:
                raise InputError(f"{path}: cannot be read: {reason(error)}", number) from error

    def document(self) -> bytes:
        """All events as JSON lines."""
        return b"".join(_line(path.read_bytes(), path) for path in self.files())

    def canonical(self, read: bytes, written: bytes | None) -> bytes | None:
        """The document as it is: the white space around an event is not part of it."""
        return written

    def files_of(self, document: bytes) -> dict[Path, bytes]:
        """The file of each event of a document, with the white space and the byte order mark that
        the file has around it.

        Events are found by their ids; a new one has no file.
        """
        current = {path: path.read_bytes() for path in self.files()}
        paths = {self._id(data, path.name): path for path, data in current.items()}
        files = {}
        for line in document.removesuffix(b"\n").split(b"\n"):
            path = paths.get(self._id(line, "one of the new events"))
            if path is None:
                raise unfit(self, "OpenHands numbers its events, so none can be inserted")
            data = current[path]
            is_same = _line(data, path) == line + b"\n"
            files[path] = data if is_same else data.replace(_text(data), line, 1)
        return files

    def must_be_writable(
        self, current: Mapping[Path, bytes], intended: Mapping[Path, bytes]
    ) -> None:
        """Raise `OutputError` if OpenHands would not read the files as they are meant."""
        if current.keys() != intended.keys():
            raise unfit(self, "OpenHands numbers and links its events, so none can be dropped")
        if (self.events.parent / "event_cache").exists():
            raise unfit(self, "its event_cache/ has copies of its events, which OpenHands reads")
        if any(b"\n" in data.strip() for path, data in current.items() if data != intended[path]):
            raise unfit(self, "one of its events has several lines")

    def may_be_removed(self, folder: Path) -> bool:
        """Whether a folder has no use when it is empty: never."""
        return False

    def _id(self, data: bytes, place: str) -> Any:
        """The id of an event; an `OutputError` if it has none."""
        record = document(data) or split(data, 1)[0]
        name = record.value.get("id") if isinstance(record.value, dict) else None
        if not isinstance(name, (int, str)):
            raise unfit(self, f"{place}: {record.problem or 'the event has no id'}")
        return name


def openhands_session(path: Path) -> OpenhandsSession | None:
    """The session in a folder, or that of a folder of events; None for any other folder."""
    events = path if path.name == "events" else path / "events"
    files = _event_files(events)
    try:
        return OpenhandsSession(path, events) if files and _is_event(files[0]) else None
    except OSError:
        return None


def _event_files(folder: Path) -> list[Path]:
    """The files of a folder whose names have the number of an event, by number."""
    names = [(_NAME.fullmatch(path.name), path) for path in folder.glob("[!.]*.json")]
    # a pipe would wait for a writer
    return [
        path
        for _, path in sorted(
            (int(name[1]), path) for name, path in names if name and path.is_file()
        )
    ]


def _is_event(path: Path) -> bool:
    value = value_of(path.read_bytes() or b"{}")
    return isinstance(value, dict) and {"id", "source"} <= value.keys()


def _text(data: bytes) -> bytes:
    """The bytes of an event without what may surround it."""
    return data.removeprefix(BOM).strip()


def _line(data: bytes, path: Path) -> bytes:
    """An event on a line; an `InputError` if the file has no object."""
    line = _text(data)
    if not line.startswith(b"{"):
        raise InputError(f"{path}: not a JSON object; the session cannot be read without it")
    return line.replace(b"\n", b" ") + b"\n"
