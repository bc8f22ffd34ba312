"""From an edited transcript back to bytes: what is unchanged is the object that was read, the rest is spliced.

What changed is found by comparing values with what was read, never by flags. A dropped message takes its spans with
it, and a container that has become empty goes too.
"""

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import Any

from ctxtrim.errors import SelfCheckError
from ctxtrim.formats.format import Format
from ctxtrim.lines import Record, document, split
from ctxtrim.model import Line, Message, Path, Span, Transcript
from ctxtrim.splice import splice

Value = str | int | None
_BUG = "this is a bug in ctxtrim: please report it with the command you ran"


@dataclass
class _Edits:
    """What is to happen inside one line; `members`: by the path of an object, members to change or to add."""

    replace: dict[Path, Value] = field(default_factory=dict)
    remove: set[Path] = field(default_factory=set)
    members: dict[Path, dict[str, Value]] = field(default_factory=dict)


def rewrite(
    dialect: Format, lines: Sequence[Line], transcripts: Sequence[Transcript], without: Set[int] = frozenset()
) -> tuple[bytes, ...]:
    """The bytes of some lines with the transcripts that were read from them as they are now, one item a line kept.

    Lines whose index is in `without` are left out.
    """
    edits = defaultdict(_Edits, {index: _Edits(remove={()}) for index in without})
    for transcript in transcripts:
        _collect(transcript, edits)
    for index, edit in edits.items():
        if edit.remove:
            edit.remove = _with_owners(dialect, lines[index].data, edit.remove)
    removed = {Span(index, path) for index, edit in edits.items() for path in edit.remove}
    if removed:
        kept = {span for transcript in transcripts for message in transcript.messages for span in message.spans}
        mended = dialect.mend(lines, removed, kept)
        for span in mended.removed:
            edits[span.line].remove.add(span.path)
        for span, members in mended.values.items():
            edits[span.line].members[span.path] = dict(members)
    return _assemble(lines, edits)


def check(dialect: Format, lines: Sequence[Line], written: Sequence[bytes], meant: Sequence[Transcript]) -> None:
    """Read what was written and compare it with what was meant; a difference is a `SelfCheckError`."""
    records: list[Record] = []
    for data in written:
        whole = document(data) if len(lines) == 1 else None
        records += [whole] if whole else split(data, 1)
    again = dialect.transcripts(records, tuple(Line(record.data, record.number) for record in records))
    found = [transcript for transcript in again if transcript.messages]
    expected = [transcript for transcript in meant if transcript.messages]
    if found != expected:
        raise SelfCheckError(f"the edited transcript does not read back as it was meant, so it was not written; {_BUG}")


def _collect(transcript: Transcript, edits: defaultdict[int, _Edits]) -> None:
    kept = {message.index: message for message in transcript.messages}
    for original in transcript.source.messages:
        now = kept.get(original.index)
        if now is None:
            for span in original.spans:
                edits[span.line].remove.add(span.path)
        elif now is not original and now != original:
            _compare(original, now, edits)


def _compare(original: Message, now: Message, edits: defaultdict[int, _Edits]) -> None:
    parts = {part.span or part.block: part for part in now.parts}
    for part in original.parts:
        if part.span is None and part.block is None:
            continue  # it has no place of its own, so no stage can have changed it
        same = parts.get(part.span or part.block)
        if same is None and part.block is not None:
            edits[part.block.line].remove.add(part.block.path)
        elif same is not None and same.text != part.text and part.span is not None:
            edits[part.span.line].replace[part.span.path] = same.text
    if now.metadata != original.metadata:
        home = original.spans[0]
        edits[home.line].members[home.path] = dict(now.metadata)


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
        if all((*array, index) in removed for index in range(len(_at(value, array)))):
            removed.add(owner)
    return removed


def _assemble(lines: Sequence[Line], edits: Mapping[int, _Edits]) -> tuple[bytes, ...]:
    """The kept lines; one that loses its line break to a dropped neighbour gets one."""
    end = b"\r\n" if lines and lines[0].data.endswith(b"\r\n") else b"\n"
    written: list[bytes] = []
    numbers: list[int] = []
    for index, line in enumerate(lines):
        edit = edits.get(index)
        if edit is not None and () in edit.remove:
            continue
        data = line.data if edit is None else _edited(line, edit)
        if written and numbers[-1] != line.number and not written[-1].endswith(b"\n"):
            written[-1] += end
        written.append(data)
        numbers.append(line.number)
    if written and lines[-1].data.endswith(b"\n") and not written[-1].endswith(b"\n"):
        written[-1] += end
    return tuple(written)


def _edited(line: Line, edit: _Edits) -> bytes:
    is_ascii = line.data.isascii()
    replace = {path: _spell(new, is_ascii) for path, new in edit.replace.items()}
    add: dict[Path, list[tuple[str, str]]] = {}
    for path, members in edit.members.items():
        known = _at((document(line.data) or split(line.data, 1)[0]).value, path)
        for key, value in members.items():
            if key in known:
                replace[*path, key] = _spell(value, is_ascii)
            else:
                add.setdefault(path, []).append((key, _spell(value, is_ascii)))
    try:
        return splice(line.data.decode(), replace, edit.remove, add).encode()
    except KeyError as error:
        raise SelfCheckError(
            f"line {line.number} has no value at {error}, so nothing of it was written; {_BUG}"
        ) from error
    except RecursionError:
        raise SelfCheckError(
            f"line {line.number} is nested too deeply to be edited; nothing of it was written"
        ) from None


def _at(value: Any, path: Path) -> Any:
    for key in path:
        value = value[key]
    return value


def _spell(value: Value, is_ascii: bool) -> str:
    """A value in JSON, escaped to ASCII where its line is, and where UTF-8 has no spelling for it."""
    text = json.dumps(value, ensure_ascii=is_ascii)
    try:
        text.encode()
    except UnicodeEncodeError:
        return json.dumps(value)
    return text
