"""The summary store: a JSON file with one entry for each conversation, whose summary is inserted
into later prompts.

::

    {"version": 1,
     "conversation_summary": {
       "the transcript's id#5f0c…": {"content": "…", "tokens": 120, "messages_included": 40,
                                     "created": "2025-01-31T12:00:00.000Z", "updated": "…",
                                     "version": 3, "id": "the transcript's id",
                                     "fingerprint": "5f0c…", "covered": ["90ab…", …],
                                     "kept": ["7c1e…", …]}}}

The file is private to the user and is replaced as a whole, once per run. The store is read again
and written under a lock of the folder, so that several processes lose nothing. On systems without
such locks the last process wins. A file that cannot be read is not changed.
"""

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from ctxtrim.errors import InputError, OutputError, reason
from ctxtrim.io.clock import now
from ctxtrim.io.locks import HAS_LOCKS, lock
from ctxtrim.io.outputs import private
from ctxtrim.io.temporary import writing_errors
from ctxtrim.stage import Recalled, StoredSummary
from ctxtrim.summaries.identity import Identity

_VERSION = 1
_ENTRIES = "conversation_summary"
_NOT_HERE = (
    "the stored summary is not used: neither the summary nor the last message that it covers "
    "is in this transcript"
)


@dataclass(frozen=True, slots=True)
class SummaryEntry:
    """The summary of one conversation.

    `content` is its text, `tokens` what that has, `messages_included` the number of messages that
    it covers; `created` and `updated` are times in UTC, `version` is 1 for the first and grows with
    each that replaces it. `id` is the transcript's id, else its path and position. `fingerprint` is
    that of the system and opening prompt as first seen, `covered` are those of the last messages up
    to the last one that the summary covers, and `kept` those of messages before it that the summary
    does not cover; entries of older versions lack them.
    """

    content: str
    tokens: int
    messages_included: int
    created: str
    updated: str
    version: int
    id: str = ""
    fingerprint: str = ""
    covered: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()


_NO_ENTRY = SummaryEntry("", 0, 0, "", "", 0)


class SummaryStore:
    """A summary store in a file, which need not exist yet.

    `commit` writes the remembered summaries.
    """

    def __init__(self, path: Path) -> None:
        """Read the file. Raises `InputError` if it cannot be read."""
        self.path = path
        self._known = self._entries()
        self._changed: dict[str, SummaryEntry] = {}

    def check(self) -> None:
        """Raise `OutputError` if the file cannot be written. Changes nothing."""
        private(self.path).discard()

    def recall(self, identity: Identity) -> Recalled:
        """The stored summary of a transcript; a warning if it belongs to another conversation."""
        key = self._key(identity)
        if key is not None:
            entry = self._known[key]
            indices = identity.indices(entry.covered, entry.kept)
            return Recalled(
                StoredSummary(entry.content, entry.tokens, entry.messages_included, indices)
            )
        is_known = any(
            self._known[key].fingerprint in ("", identity.opening)
            for key in self._candidates(identity)
        )
        return Recalled(None, _NOT_HERE if is_known else None)

    def remember(
        self, identity: Identity, written: StoredSummary, covered: tuple[str, ...]
    ) -> None:
        """Keep a summary for `commit`.

        `covered` are the fingerprints of the last messages that it covers.
        """
        known_key = self._key(identity)
        key = known_key or identity.key
        earlier = self._known.get(key, _NO_ENTRY)
        if known_key is None and earlier.fingerprint != identity.opening:
            earlier = _NO_ENTRY  # of another conversation
        entry = SummaryEntry(
            content=written.text,
            tokens=written.tokens,
            messages_included=written.messages,
            created="",
            updated="",
            version=0,
            id=identity.name,
            fingerprint=earlier.fingerprint or identity.opening,
            covered=covered or earlier.covered,
            kept=identity.kept(covered, written.indices) if covered else earlier.kept,
        )
        self._known[key] = self._changed[key] = entry

    def commit(self) -> None:
        """Write the summaries remembered since the last commit, if they change the store."""
        if not self._changed:
            return
        with self._locked():
            stored, time = self._entries(), now()
            entries = dict(stored)
            for key, new in self._changed.items():
                entries[key] = _continued(stored.get(key), new, time)
            if entries != stored:
                self._write(entries)
        self._known, self._changed = entries, {}

    def _key(self, identity: Identity) -> str | None:
        """The key of a transcript's entry: its identity key if it has one, else the newest."""
        owned = [key for key in self._candidates(identity) if _owns(identity, self._known[key])]
        if identity.key in owned:
            return identity.key
        return max(owned, key=lambda key: (self._known[key].updated, key), default=None)

    def _candidates(self, identity: Identity) -> list[str]:
        """The keys of the entries with the id of a transcript, or with its path and position."""
        return [key for key, entry in self._known.items() if (entry.id or key) == identity.name]

    def _entries(self) -> dict[str, SummaryEntry]:
        """The entries in the file."""
        try:
            if self.path.exists() and not self.path.is_file() and not self.path.is_dir():
                raise self._invalid("it is not a regular file")
            data = self.path.read_bytes()
        except FileNotFoundError:
            return {}
        except OSError as error:
            raise InputError(
                f"{self.path}: the summary store cannot be read: {reason(error)}"
            ) from error
        try:
            value = json.loads(data)
        except (ValueError, RecursionError):
            raise self._invalid("it is not JSON") from None
        if not isinstance(value, dict) or not isinstance(value.get(_ENTRIES), dict):
            raise self._invalid(f"it has no object {_ENTRIES!r}")
        if value.get("version") != _VERSION:
            raise self._invalid(
                f"it has version {value.get('version')!r}, and this ctxtrim reads {_VERSION}"
            )
        return {key: self._entry(key, entry) for key, entry in value[_ENTRIES].items()}

    def _entry(self, key: str, value: Any) -> SummaryEntry:
        import msgspec  # most runs have no store

        try:
            return msgspec.convert(value, SummaryEntry)
        except msgspec.ValidationError as error:
            raise self._invalid(f"entry {key!r} is invalid ({error})") from None

    def _invalid(self, what: str) -> InputError:
        return InputError(
            f"{self.path}: the summary store cannot be read: {what}; the file is unchanged: name "
            "another file, or move this one away"
        )

    def _write(self, entries: Mapping[str, SummaryEntry]) -> None:
        value = {
            "version": _VERSION,
            _ENTRIES: {key: asdict(entry) for key, entry in entries.items()},
        }
        sink = private(self.path)
        try:
            sink.write(json.dumps(value, indent=2).encode() + b"\n")
            sink.commit()
        finally:
            sink.discard()

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Lock the folder, so that no other process writes a store in it."""
        if not HAS_LOCKS:
            yield
            return
        with writing_errors(self.path):
            parent = self.path.resolve().parent
            parent.mkdir(parents=True, exist_ok=True)
            folder = os.open(parent, os.O_RDONLY)
        try:
            lock(folder)
            yield
        except OSError as error:
            raise OutputError(f"{self.path}: cannot be locked: {reason(error)}") from error
        finally:
            os.close(folder)


def _owns(identity: Identity, entry: SummaryEntry) -> bool:
    return identity.owns(entry.content, entry.fingerprint, entry.covered)


def _continued(old: SummaryEntry | None, new: SummaryEntry, time: str) -> SummaryEntry:
    """A new entry with times and version, which continue those of the same conversation."""
    if old is None or old.fingerprint not in ("", new.fingerprint):
        return replace(new, created=time, updated=time, version=1)
    same = replace(new, created=old.created, updated=old.updated, version=old.version)
    return same if same == old else replace(same, updated=time, version=old.version + 1)
