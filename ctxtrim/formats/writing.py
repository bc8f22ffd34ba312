"""From an edited transcript back to bytes: what is unchanged is the object that was read, the rest is spliced.

What changed is found by comparing values with what was read, never by flags. A dropped message takes its spans with
it, and a container that has become empty goes too.
"""

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from ctxtrim.errors import BUG, SelfCheckError
from ctxtrim.formats.base import Format, Insertion, Site
from ctxtrim.formats.visibility import changes
from ctxtrim.model import Line, Message, Part, Span, Transcript
from ctxtrim.text.json_paths import Path
from ctxtrim.text.records import document, split
from ctxtrim.text.splice import splice


@dataclass
class _Edits:
    """What is to happen to one line.

    `members`: by the path of an object, members to change or to add. `elements`: by the path of an array, (index,
    value) to insert before; `cuts`: the same, where the owner of the array is cut in two around the value. `before`,
    `after`: values that get lines of their own.
    """

    replace: dict[Path, Any] = field(default_factory=dict)
    remove: set[Path] = field(default_factory=set)
    members: dict[Path, dict[str, Any]] = field(default_factory=dict)
    elements: dict[Path, list[tuple[int, Any]]] = field(default_factory=dict)
    cuts: dict[Path, dict[int, list[Any]]] = field(default_factory=dict)
    before: list[Any] = field(default_factory=list)
    after: list[Any] = field(default_factory=list)

    def change(self, path: Path, members: Mapping[str, Any]) -> None:
        """Members of the object at a path get values."""
        self.members.setdefault(path, {}).update(members)


class _Lines:
    """The lines that are edited, each parsed when it is first looked into."""

    def __init__(self, lines: Sequence[Line]) -> None:
        self.lines = lines
        self._value = cache(lambda index: (document(lines[index].data) or split(lines[index].data, 1)[0]).value)

    def at(self, span: Span) -> Any:
        """The value at a span, None where there is none."""
        value = self._value(span.line)
        for key in span.path:
            try:
                value = value[key]
            except (KeyError, IndexError, TypeError):
                return None
        return value


def rewrite(
    dialect: Format, lines: Sequence[Line], transcripts: Sequence[Transcript], without: Set[int] = frozenset()
) -> tuple[bytes, ...]:
    """The bytes of some lines with the transcripts that were read from them as they are now, one item a line kept.

    Lines whose index is in `without` are left out.
    """
    edits = defaultdict(_Edits, {index: _Edits(remove={()}) for index in without})
    known = _Lines(lines)
    inserted: list[Insertion] = []
    for transcript in transcripts:
        _collect(dialect, transcript, edits)
        for span, members in changes(dialect, transcript, known.at):
            edits[span.line].change(span.path, members)
        inserted += _insertions(dialect, transcript, known)
    filled = {Span(one.where.line, one.where.path[:-1]) for one in inserted if one.where.path and not one.replaces}
    for index, edit in edits.items():
        if edit.remove:
            edit.remove = _with_owners(dialect, known, index, edit.remove, filled)
    removed = {Span(index, path) for index, edit in edits.items() for path in edit.remove}
    if removed or inserted:
        kept = {span for transcript in transcripts for message in transcript.messages for span in message.spans}
        mended = dialect.mend(lines, removed, kept, inserted)
        for edit in edits.values():
            edit.remove = set()
        for span in mended.removed:
            edits[span.line].remove.add(span.path)
        for span, members in mended.values.items():
            edits[span.line].change(span.path, members)
            edits[span.line].remove -= {(*span.path, key) for key in members}  # what gets a value stays
        for one in mended.inserted:
            _insert(one, edits[one.where.line])
    return _assemble(dialect, known, edits)


def _insert(one: Insertion, edit: _Edits) -> None:
    path = one.where.path
    if one.replaces:
        edit.replace[path] = one.value
    elif one.cuts:
        edit.cuts.setdefault(path[:-1], {}).setdefault(int(path[-1]), []).append(one.value)
    elif path:
        *array, index = path
        if isinstance(index, str):
            raise SelfCheckError(f"there is no list to put a new message in; {BUG}")
        edit.elements.setdefault(tuple(array), []).append((index + one.is_after, one.value))
    else:
        (edit.after if one.is_after else edit.before).append(one.value)


def _insertions(dialect: Format, transcript: Transcript, known: _Lines) -> Iterator[Insertion]:
    """What is to be inserted, for each run of messages that were not read from the file."""
    run: list[Message] = []
    earlier: Message | None = None
    if not transcript.source.messages:
        return
    for message in (*transcript.messages, None):
        if message is not None and message.index is None:
            run.append(message)
            continue
        if run:
            yield from dialect.insert(run, Site(earlier, message, transcript.source.messages, known.at))
            run = []
        earlier = message


def _collect(dialect: Format, transcript: Transcript, edits: defaultdict[int, _Edits]) -> None:
    kept = {message.index: message for message in transcript.messages}
    for original in transcript.source.messages:
        now = kept.get(original.index)
        if now is None:
            for span in (*original.spans, *(companion.span for companion in original.companions)):
                edits[span.line].remove.add(span.path)
        elif now is not original and now != original:
            _compare(original, now, edits)
            _add(dialect, original, now, edits)


def _add(dialect: Format, original: Message, now: Message, edits: defaultdict[int, _Edits]) -> None:
    """Insert the texts that a stage added to a message, each before the block of the part after it."""
    for place, part in enumerate(now.parts):
        if part.kind == "text" and part.span is None and part.block is None and part not in original.parts:
            block = next((later.block for later in now.parts[place + 1 :] if later.block is not None), None)
            if dialect.text_block is None or block is None or not isinstance(block.path[-1], int):
                raise SelfCheckError(f"a message has no place for a new text; {BUG}")
            news = edits[block.line].elements.setdefault(block.path[:-1], [])
            news.append((block.path[-1], dialect.text_block(part.text)))


def _compare(original: Message, now: Message, edits: defaultdict[int, _Edits]) -> None:
    parts = {part.span or part.block: part for part in now.parts}
    for part in original.parts:
        if part.span is None and part.block is None:
            continue  # it has no place of its own, so no stage can have changed it
        same = parts.get(part.span or part.block)
        if same is not None and same.kind != part.kind:
            _replace(part, same, edits)
        elif same is None and part.block is not None:
            edits[part.block.line].remove.add(part.block.path)
        elif same is not None and same.text != part.text and part.span is not None:
            edits[part.span.line].replace[part.span.path] = same.spelled
    if now.metadata != original.metadata:
        home = original.spans[0]
        edits[home.line].change(home.path, dict(now.metadata))


def _replace(attachment: Part, text: Part, edits: defaultdict[int, _Edits]) -> None:
    """Write a text in the place of an attachment."""
    if attachment.text_block is None or attachment.block is None:
        raise SelfCheckError(f"a {attachment.kind} cannot be replaced by a text; {BUG}")
    edits[attachment.block.line].replace[attachment.block.path] = attachment.text_block(text.text)


def _with_owners(dialect: Format, known: _Lines, line: int, removed: set[Path], filled: Set[Span]) -> set[Path]:
    """The removed paths, and the owners of arrays that lose their last element and get no new one."""
    removed = set(removed)
    arrays = {path[:-1] for path in removed if path and isinstance(path[-1], int)}
    for array in sorted(arrays, key=len, reverse=True):
        owner = dialect.owner(array) if array else None
        if owner is None or Span(line, array) in filled:
            continue
        if all((*array, index) in removed for index in range(len(known.at(Span(line, array))))):
            removed.add(owner)
    return removed


def _assemble(dialect: Format, known: _Lines, edits: Mapping[int, _Edits]) -> tuple[bytes, ...]:
    """The kept lines and the new ones; a line that loses its line break to a dropped neighbour gets one."""
    lines = known.lines
    end = b"\r\n" if lines and lines[0].data.endswith(b"\r\n") else b"\n"
    written: list[bytes] = []
    numbers: list[int] = []
    for index, line in enumerate(lines):
        edit = edits.get(index, _NOTHING)
        for number, data in (
            *((0, _line(value, line)) for value in edit.before),
            *(() if () in edit.remove else ((line.number, _edited(dialect, known, index, edit)),)),
            *((0, _line(value, line)) for value in edit.after),
        ):
            if written and (number == 0 or numbers[-1] != number) and not written[-1].endswith(b"\n"):
                written[-1] += end
            written.append(data)
            numbers.append(number)
    if written and lines[-1].data.endswith(b"\n") and not written[-1].endswith(b"\n"):
        written[-1] += end
    return tuple(written)


_NOTHING = _Edits()


def _line(value: Any, beside: Line) -> bytes:
    return _Spelling.of(beside.data)(value).encode()


def _edited(dialect: Format, known: _Lines, index: int, edit: _Edits) -> bytes:
    line = known.lines[index]
    if not (edit.replace or edit.remove or edit.members or edit.elements or edit.cuts):
        return line.data
    spell = _Spelling.of(line.data)
    replace = {path: spell(new) for path, new in edit.replace.items()}
    insert = {
        array: [(place, spell(new)) for place, new in sorted(news, key=lambda one: one[0])]
        for array, news in edit.elements.items()
    }
    add: dict[Path, list[tuple[str, str]]] = {}
    for path, members in edit.members.items():
        there = known.at(Span(index, path))
        for key, value in members.items():
            if key in there:
                replace[*path, key] = spell(value)
            else:
                add.setdefault(path, []).append((key, spell(value)))
    cut = {
        array: [(place, _halves(dialect, known, Span(index, array), news, spell)) for place, news in places.items()]
        for array, places in edit.cuts.items()
    }
    try:
        return splice(line.data.decode(), replace, edit.remove, add, insert, cut).encode()
    except KeyError as error:
        raise SelfCheckError(
            f"line {line.number} has no value at {error}, so nothing of it was written; {BUG}"
        ) from error
    except RecursionError:
        raise SelfCheckError(
            f"line {line.number} is nested too deeply to be edited; nothing of it was written"
        ) from None


_KINDS = ("role", "type")
"""The members that say what an element is: both halves of one that is cut in two have them; all else stays with one."""


def _halves(dialect: Format, known: _Lines, array: Span, news: Sequence[Any], spell: "_Spelling") -> str:
    """The text that ends the owner of an array, holds some values, and begins the owner again."""
    line = known.lines[array.line].data
    owner = dialect.owner(array.path) or ()
    comma, colon = (", ", ": ") if b'": ' in line else (",", ":")
    end, begin = "]", "["
    for depth in range(len(array.path) - 1, len(owner) - 1, -1):
        key, holder = array.path[depth], known.at(Span(array.line, array.path[:depth]))
        keys = list(holder)
        kinds = {one: f"{spell(one)}{colon}{spell(holder[one])}" for one in keys if one in _KINDS}
        before = [kinds[one] for one in keys[: keys.index(key)] if one in kinds]
        after = [kinds[one] for one in keys[keys.index(key) :] if one in kinds]
        end = comma.join((end, *after)) + "}"
        begin = "{" + comma.join((*before, f"{spell(key)}{colon}{begin}"))
    between = comma if owner else "\r\n" if line.endswith(b"\r\n") else "\n"
    return between.join((end, *(spell(new) for new in news), begin))


@dataclass(frozen=True)
class _Spelling:
    """How a line spells JSON: escaped to ASCII or not, with spaces or without; found once for all edits."""

    is_ascii: bool
    separators: tuple[str, str] | None

    @classmethod
    def of(cls, line: bytes) -> "_Spelling":
        return cls(line.isascii(), None if b'": ' in line else (",", ":"))

    def __call__(self, value: Any) -> str:
        """A value in JSON; what UTF-8 has no spelling for is escaped in any case."""
        text = json.dumps(value, ensure_ascii=self.is_ascii, separators=self.separators)
        try:
            text.encode()
        except UnicodeEncodeError:
            return json.dumps(value, separators=self.separators)
        return text
