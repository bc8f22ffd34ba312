"""From an edited transcript back to bytes: what is unchanged is the object that was read, the rest is spliced.

What changed is found by comparing values with what was read, never by flags. A dropped message takes its spans with
it, and a container that has become empty goes too.
"""

import json
from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass, field
from typing import Any

from ctxtrim.errors import SelfCheckError
from ctxtrim.formats.format import Format
from ctxtrim.lines import Record, document, split
from ctxtrim.model import Line, Message, Path, Span, Transcript
from ctxtrim.splice import splice


@dataclass
class _Edits:
    """What is to happen inside one line."""

    replace: dict[Path, str | int | None] = field(default_factory=dict)
    remove: set[Path] = field(default_factory=set)
    add: dict[Path, list[tuple[str, str]]] = field(default_factory=dict)


def rewrite(
    dialect: Format, lines: Sequence[Line], transcripts: Iterable[Transcript], without: Set[int] = frozenset()
) -> tuple[bytes, ...]:
    """The bytes of some lines with the transcripts that were read from them as they are now, one item a line kept.

    Lines whose index is in `without` are left out.
    """
    edits = {index: _Edits(remove={()}) for index in without}
    for transcript in transcripts:
        _collect(transcript, edits)
    if not edits:
        return tuple(line.data for line in lines)
    for index, edit in edits.items():
        if edit.remove:
            edit.remove = _with_owners(dialect, lines[index].data, edit.remove)
    removed = {Span(index, path) for index, edit in edits.items() for path in edit.remove}
    if removed:
        for span, new in dialect.mend(lines, removed).items():
            edits.setdefault(span.line, _Edits()).replace[span.path] = new
    return _assemble(lines, edits)


def check(dialect: Format, lines: Sequence[Line], written: Sequence[bytes], meant: Sequence[Transcript]) -> None:
    """Read what was written and compare it with what was meant; a difference is a `SelfCheckError`."""
    records: list[Record] = []
    for data in written:
        whole = document(data) if len(lines) == 1 else None
        records += [whole] if whole else split(data, 1)
    again = dialect.read(records, tuple(Line(record.data, record.number) for record in records))
    found = [transcript for transcript in again if transcript.messages]
    expected = [transcript for transcript in meant if transcript.messages]
    if found != expected:
        raise SelfCheckError(
            "the edited transcript does not read back as it was meant, so it was not written; this is a bug in "
            "ctxtrim: please report it with the command you ran"
        )


def _collect(transcript: Transcript, edits: dict[int, _Edits]) -> None:
    kept = {message.index: message for message in transcript.messages}
    for original in transcript.source.messages:
        now = kept.get(original.index)
        if now is None:
            for span in original.spans:
                edits.setdefault(span.line, _Edits()).remove.add(span.path)
        elif now is not original and now != original:
            _compare(original, now, edits)


def _compare(original: Message, now: Message, edits: dict[int, _Edits]) -> None:
    parts = {part.span or part.block: part for part in now.parts}
    for part in original.parts:
        same = parts.get(part.span or part.block)
        if same is None and part.block is not None:
            edits.setdefault(part.block.line, _Edits()).remove.add(part.block.path)
        elif same is not None and same.text != part.text and part.span is not None:
            edits.setdefault(part.span.line, _Edits()).replace[part.span.path] = same.text
    known = dict(original.metadata)
    home = original.spans[0]
    for key, value in now.metadata:
        if key not in known:
            edits.setdefault(home.line, _Edits()).add.setdefault(home.path, []).append((key, str(value)))
        elif known[key] != value:
            edits.setdefault(home.line, _Edits()).replace[(*home.path, key)] = value


def _with_owners(dialect: Format, data: bytes, removed: set[Path]) -> set[Path]:
    """The removed paths, and the owners of arrays that lose their last element."""
    removed = set(removed)
    value: Any = None
    arrays = {path[:-1] for path in removed if path and isinstance(path[-1], int)}
    for array in sorted(arrays, key=len, reverse=True):
        owner = dialect.owner(array) if array else None
        if owner is None:
            continue
        value = value if value is not None else (document(data) or split(data, 1)[0]).value
        target = value
        for key in array:
            target = target[key]
        if all((*array, index) in removed for index in range(len(target))):
            removed.add(owner)
    return removed


def _assemble(lines: Sequence[Line], edits: dict[int, _Edits]) -> tuple[bytes, ...]:
    """The kept lines; one that loses its line break to a dropped neighbour gets one."""
    written: list[bytes] = []
    numbers: list[int] = []
    for index, line in enumerate(lines):
        edit = edits.get(index)
        if edit is not None and () in edit.remove:
            continue
        data = line.data if edit is None else _edited(line.data, edit)
        if written and numbers[-1] != line.number and not written[-1].endswith(b"\n"):
            written[-1] += b"\n"
        written.append(data)
        numbers.append(line.number)
    if written and lines[-1].data.endswith(b"\n") and not written[-1].endswith(b"\n"):
        written[-1] += b"\n"
    return tuple(written)


def _edited(data: bytes, edit: _Edits) -> bytes:
    is_ascii = data.isascii()
    replace = {path: _spell(new, is_ascii) for path, new in edit.replace.items()}
    try:
        return splice(data.decode(), replace, edit.remove, edit.add).encode()
    except (KeyError, RecursionError) as error:
        raise SelfCheckError(f"a line cannot be edited ({error!r}), so the transcript was not written") from error


def _spell(value: str | int | None, is_ascii: bool) -> str:
    """A value in JSON, escaped to ASCII where its line is, and where UTF-8 has no spelling for it."""
    text = json.dumps(value, ensure_ascii=is_ascii)
    try:
        text.encode()
    except UnicodeEncodeError:
        return json.dumps(value)
    return text
