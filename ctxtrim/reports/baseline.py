"""The baseline of `check`: the tokens of each transcript in an earlier run.

::

    {"version": 1, "transcripts": [
      {"path": "runs/a.jsonl", "id": "session-1", "tokens": 1200, "tokenizer": "o200k_base"},
      {"path": "runs/b.jsonl", "index": 0, "tokens": 900, "tokenizer": "o200k_base"}
    ]}

Paths are relative to the folder of the baseline, with `/`. A transcript is found by its path and
its id; without an id, or if a file repeats the id, by its position in the file.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ctxtrim.errors import InputError, source_name
from ctxtrim.findings import Finding
from ctxtrim.reports.model import Row
from ctxtrim.text.escaping import json_text
from ctxtrim.text.numbers import Tolerance
from ctxtrim.tokens.tokenizer import MARKS

_VERSION = 1


class BaselineEntry(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """The tokens of one transcript. A file with other fields, such as a report, is no baseline."""

    path: str
    id: str | None = None
    index: int | None = None
    tokens: int = 0
    tokenizer: str = ""

    @property
    def key(self) -> "Key":
        """What identifies the transcript."""
        return self.path, self.index if self.id is None else self.id

    @property
    def place(self) -> str:
        """The transcript in messages."""
        return f"{source_name(self.path)} {f'#{self.index}' if self.id is None else self.id}"


Key = tuple[str, str | int | None]


class _Document(Struct, forbid_unknown_fields=True):
    version: int
    transcripts: list[BaselineEntry]


def parse_entries(data: bytes) -> list[BaselineEntry]:
    """The entries of a baseline. Raises `InputError` if it is invalid."""
    try:
        # the parser of msgspec refuses halves of surrogate pairs, which ids and file names may have
        document = msgspec.convert(json.loads(data), _Document)
    except (ValueError, RecursionError) as error:
        raise InputError(f"invalid baseline: {error}") from error
    if document.version != _VERSION:
        raise InputError(f"baseline version {document.version}: expected {_VERSION}")
    return document.transcripts


class Baseline:
    """The entries of earlier runs, and those of the transcripts of this run.

    `name_of` makes the path of a row relative to the baseline. With `updates`, growth is accepted.
    """

    def __init__(
        self,
        entries: Iterable[BaselineEntry],
        name_of: Callable[[str], str],
        tolerance: Tolerance,
        *,
        updates: bool,
    ) -> None:
        self._known = {entry.key: entry for entry in entries}
        self._seen: dict[Key, BaselineEntry] = {}
        self._positions: Counter[str] = Counter()
        self._name_of, self._tolerance, self.updates = name_of, tolerance, updates

    def judge(self, row: Row) -> Row:
        """The row of the next transcript, with an error if it has grown."""
        entry = self._entry(row)
        before = self._known.get(entry.key)
        if not row.is_handled:  # it has no count to compare
            if before is not None:
                self._seen[entry.key] = before
            return row
        self._seen[entry.key] = entry
        if before is None or self.updates or entry.tokens <= self._tolerance.limit(before.tokens):
            return row
        mark = MARKS[row.count.exactness]
        text = (
            f"{mark}{entry.tokens:,} tokens, {entry.tokens - before.tokens:,} more than in the "
            f"baseline ({before.tokens:,})"
        )
        if before.tokenizer != entry.tokenizer:
            text += f", which counts with {before.tokenizer}"
        finding = Finding(
            "growth", "error", f"{text}; shorten it, or accept it with --update-baseline", row.line
        )
        return replace(row, findings=(*row.findings, finding))

    def _entry(self, row: Row) -> BaselineEntry:
        path = self._name_of(row.path)
        index = self._positions[path]
        self._positions[path] += 1
        entry = BaselineEntry(path, row.id, None, row.count.tokens, row.tokenizer)
        if row.id is None or entry.key in self._seen:
            entry = replace(entry, id=None, index=index)
        return entry

    @property
    def new(self) -> int:
        """How many transcripts of this run were not in the baseline."""
        return len(self._seen.keys() - self._known.keys())

    def vanished(self, is_gone: Callable[[str], bool]) -> list[BaselineEntry]:
        """The entries without a transcript, in files for which `is_gone` is true."""
        return [
            entry
            for key, entry in self._known.items()
            if key not in self._seen and is_gone(entry.path)
        ]

    def updated(self, vanished: Iterable[BaselineEntry]) -> Iterator[str]:
        """The text of the baseline after this run, without the vanished entries."""
        entries = self._known | self._seen
        for entry in vanished:
            del entries[entry.key]
        order = sorted(
            entries.values(), key=lambda entry: (entry.path, entry.id or "", entry.index or 0)
        )
        yield f'{{\n "version": {_VERSION},\n "transcripts": ['
        separator = "\n"
        for entry in order:
            yield f"{separator}  {json_text(msgspec.to_builtins(entry))}"
            separator = ",\n"
        yield "\n ]\n}\n"
