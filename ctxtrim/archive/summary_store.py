"""Summaries that are put back into later prompts: one JSON file with an entry for each transcript.

::

    {"version": 1,
     "conversation_summary": {
       "the transcript's id": {"content": "…", "tokens": 120, "messages_included": 40,
                               "created": "2025-01-31T12:00:00.000Z", "updated": "…", "version": 3}}}

The file is the user's alone and is replaced as a whole. An entry is written under a lock of the folder, after the file
was read again, so that several processes lose nothing; where a system has no such locks, the last one wins. A file
that cannot be read is left as it is.
"""

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from ctxtrim.errors import InputError, OutputError, reason
from ctxtrim.io.clock import now
from ctxtrim.io.outputs import private
from ctxtrim.stage import Written

try:
    import fcntl
except ImportError:  # no such locks on Windows
    fcntl = None  # type: ignore[assignment]

_VERSION = 1
_ENTRIES = "conversation_summary"


@dataclass(frozen=True, slots=True)
class Entry:
    """The summary of one transcript.

    `content` is its text, `tokens` what that has, `messages_included` how many messages it stands for; `created` and
    `updated` are times in UTC, `version` is 1 for the first and grows with each that takes its place.
    """

    content: str
    tokens: int
    messages_included: int
    created: str
    updated: str
    version: int


@dataclass(frozen=True)
class Store:
    """A summary store in a file, which need not exist yet."""

    path: Path

    def check(self) -> None:
        """An `InputError` where it cannot be read, an `OutputError` where it cannot be written. Changes nothing."""
        self._entries()
        private(self.path).discard()

    def get(self, key: str) -> Entry | None:
        """The summary of a transcript, None where there is none."""
        return self._entries().get(key)

    def put(self, key: str, content: str, tokens: int, messages_included: int) -> Entry:
        """Store a summary and return its entry; one that is there already stays as it is, version and all."""
        with self._locked():
            entries = dict(self._entries())
            old = entries.get(key)
            if old is not None and (old.content, old.tokens, old.messages_included) == (
                content, tokens, messages_included
            ):  # fmt: skip
                return old
            time = now()
            created, version = (time, 0) if old is None else (old.created, old.version)
            entries[key] = entry = Entry(content, tokens, messages_included, created, time, version + 1)
            self._write(entries)
        return entry

    def recall(self, key: str) -> Written | None:
        """The summary of a transcript as a stage wrote it, None where there is none."""
        entry = self.get(key)
        return None if entry is None else Written(entry.content, entry.tokens, entry.messages_included)

    def remember(self, key: str, written: Written) -> None:
        """Store the summary that a stage wrote."""
        self.put(key, written.text, written.tokens, written.messages)

    def _entries(self) -> Mapping[str, Entry]:
        try:
            data = self.path.read_bytes()
        except FileNotFoundError:
            return {}
        except OSError as error:
            raise InputError(f"{self.path}: the summary store cannot be read: {reason(error)}") from error
        try:
            value = json.loads(data)
        except (ValueError, RecursionError):
            raise self._strange("it is no JSON") from None
        if not isinstance(value, dict) or not isinstance(value.get(_ENTRIES), dict):
            raise self._strange(f"it has no object {_ENTRIES!r}")
        if value.get("version") != _VERSION:
            raise self._strange(f"it has version {value.get('version')!r}, and this ctxtrim reads {_VERSION}")
        return {key: self._entry(key, one) for key, one in value[_ENTRIES].items()}

    def _entry(self, key: str, value: Any) -> Entry:
        for field in fields(Entry):
            if not isinstance(value, dict) or type(value.get(field.name)) is not field.type:
                raise self._strange(f"entry {key!r} has no proper {field.name!r}")
        return Entry(**{field.name: value[field.name] for field in fields(Entry)})

    def _strange(self, what: str) -> InputError:
        return InputError(
            f"{self.path}: the summary store cannot be read: {what}; it was left as it is: name another file, "
            "or move this one away"
        )

    def _write(self, entries: Mapping[str, Entry]) -> None:
        value = {"version": _VERSION, _ENTRIES: {key: asdict(entry) for key, entry in entries.items()}}
        sink = private(self.path)
        try:
            sink.write(json.dumps(value, indent=2).encode() + b"\n")
            sink.commit()
        finally:
            sink.discard()

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Nobody else writes a store in this folder meanwhile."""
        if fcntl is None:
            yield
            return
        try:
            parent = self.path.resolve().parent
            parent.mkdir(parents=True, exist_ok=True)
            folder = os.open(parent, os.O_RDONLY)
        except OSError as error:
            raise OutputError(f"{self.path}: cannot be written: {reason(error)}") from error
        except RuntimeError as error:
            raise OutputError(f"{self.path}: cannot be written: too many levels of symbolic links") from error
        try:
            fcntl.flock(folder, fcntl.LOCK_EX)
            yield
        except OSError as error:
            raise OutputError(f"{self.path}: cannot be locked: {reason(error)}") from error
        finally:
            os.close(folder)
