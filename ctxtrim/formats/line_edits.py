"""The edits of the lines of a file, and the bytes of the edited lines."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from msgspec import Struct, field

from ctxtrim.errors import BUG, NotEditableError, SelfCheckError
from ctxtrim.formats.base import Insertion
from ctxtrim.formats.json_style import JsonStyle
from ctxtrim.formats.lines import Fragment, SourceValues
from ctxtrim.model import Line, Span
from ctxtrim.text.json_paths import Path
from ctxtrim.text.splice import Patch, ValueEdits, patches

Owner = Callable[[Path], Path | None]
"""The owner of an array, as in `EditRules`."""


class LineEdit(Struct):
    """The edits of one line.

    `members`: by the path of an object, members to change or add. `elements`: by the path of an
    array, (index, value) pairs to insert before that index. `cuts`: the same, but the owner of the
    array is split around the value. `before`, `after`: values to insert as new lines.
    """

    replace: dict[Path, Any] = field(default_factory=dict)
    remove: set[Path] = field(default_factory=set)
    members: dict[Path, dict[str, Any]] = field(default_factory=dict)
    elements: dict[Path, list[tuple[int, Any]]] = field(default_factory=dict)
    cuts: dict[Path, dict[int, list[Insertion]]] = field(default_factory=dict)
    before: list[Any] = field(default_factory=list)
    after: list[Any] = field(default_factory=list)

    def change(self, path: Path, members: Mapping[str, Any]) -> None:
        """Set members of the object at a path."""
        self.members.setdefault(path, {}).update(members)


class LineEdits(Struct):
    """The edits of some lines by their index. `without`: the lines to leave out.

    A trim may leave out most lines of a session; a `LineEdit` for each would need much memory.
    """

    lines: defaultdict[int, LineEdit] = field(default_factory=lambda: defaultdict(LineEdit))
    without: set[int] = field(default_factory=set)

    def remove(self, span: Span) -> None:
        """Remove the value at a span, which may be a whole line."""
        if span.path:
            self.lines[span.line].remove.add(span.path)
        else:
            self.without.add(span.line)

    @property
    def removed(self) -> set[Span]:
        """The spans of all removed values."""
        inside = {Span(index, path) for index, edit in self.lines.items() for path in edit.remove}
        return inside | set(map(Span, self.without))

    @removed.setter
    def removed(self, spans: Iterable[Span]) -> None:
        self.without.clear()
        for edit in self.lines.values():
            edit.remove.clear()
        for span in spans:
            self.remove(span)

    @property
    def texts(self) -> dict[Span, Any]:
        """The values that replace others, by their spans."""
        return {
            Span(index, path): value
            for index, edit in self.lines.items()
            for path, value in edit.replace.items()
        }


class _OutputLine(Struct, frozen=True):
    """A kept or a new line. `number`: that of a kept line, 0 for a new one."""

    number: int
    fragments: Sequence[Fragment]
    has_break: bool


def written_lines(
    edits: LineEdits, source: SourceValues, owner: Owner
) -> Iterator[Sequence[Fragment]]:
    """The kept and new lines. A line that lost its line break with a dropped neighbour gets one."""
    first = next((line.data for line in source.lines if line.data.endswith(b"\n")), b"")
    end = b"\r\n" if first.endswith(b"\r\n") else b"\n"
    last: _OutputLine | None = None
    for line in _output_lines(edits, source, owner):
        if last is not None:
            is_same_line = line.number != 0 and line.number == last.number
            yield last.fragments if is_same_line else _ended(last, end)
        last = line
    if last is not None:
        yield _ended(last, end) if source.lines[-1].data.endswith(b"\n") else last.fragments


def _output_lines(edits: LineEdits, source: SourceValues, owner: Owner) -> Iterator[_OutputLine]:
    for index, line in enumerate(source.lines):
        edit = edits.lines.get(index, _NOTHING)
        for value in edit.before:
            yield _new_line(value, line)
        if index not in edits.without:
            start, end = source.block.range_at(index)
            fragments = _fragments(start, end, _patches(edit, source, index, owner))
            yield _OutputLine(line.number, fragments, line.data.endswith(b"\n"))
        for value in edit.after:
            yield _new_line(value, line)


def _fragments(start: int, end: int, patches: Sequence[Patch]) -> list[Fragment]:
    """The fragments of the line at a range: those between its patches, and their new bytes."""
    fragments: list[Fragment] = []
    done = start
    for patch_start, patch_end, new in patches:
        fragments += ((done, start + patch_start), new)
        done = start + patch_end
    fragments.append((done, end))
    return fragments


def _ended(line: _OutputLine, end: bytes) -> Sequence[Fragment]:
    return line.fragments if line.has_break else (*line.fragments, end)


_NOTHING = LineEdit()


def _new_line(value: Any, neighbour: Line) -> _OutputLine:
    return _OutputLine(0, (JsonStyle.of(neighbour)(value).encode(),), has_break=False)


def _patches(edit: LineEdit, source: SourceValues, index: int, owner: Owner) -> Sequence[Patch]:
    """The patches of a line."""
    if not (edit.replace or edit.remove or edit.members or edit.elements or edit.cuts):
        return ()
    line = source.lines[index]
    spell = JsonStyle.of(line)
    replace = {path: spell(new) for path, new in edit.replace.items()}
    insert = {
        array: [
            (position, spell(new)) for position, new in sorted(additions, key=lambda item: item[0])
        ]
        for array, additions in edit.elements.items()
    }
    add: dict[Path, list[tuple[str, str]]] = {}
    for path, members in edit.members.items():
        members_before = source.at(Span(index, path))
        if not isinstance(members_before, dict):
            raise NotEditableError(f"line {line.number} takes no debug keys; leave out --metadata")
        for key, value in members.items():
            if key in members_before:
                replace[*path, key] = spell(value)
            else:
                add.setdefault(path, []).append((key, spell(value)))
    cut = {
        array: [
            (position, _halves(additions, source, Span(index, array), owner(array) or (), spell))
            for position, additions in places.items()
        ]
        for array, places in edit.cuts.items()
    }
    try:
        value_edits = ValueEdits(replace, edit.remove, add, insert, cut, spell.is_ascii)
        return patches(line.data, value_edits)
    except KeyError as error:
        raise SelfCheckError(
            f"line {line.number} has no value at {error}; nothing was written; {BUG}"
        ) from error
    except RecursionError:
        raise SelfCheckError(
            f"line {line.number} is nested too deeply to edit; nothing was written"
        ) from None


_KINDS = ("role", "type", "info")
"""Members that identify an element.

Both halves of a split message carry them; others stay with one half.
"""


def _halves(
    new: Sequence[Insertion], source: SourceValues, array: Span, owner: Path, spell: JsonStyle
) -> str:
    """The text that closes an array's owner, adds the new values, and opens the owner again."""
    line = source.lines[array.line].data
    comma, colon = spell.separators
    end, begin = "]", "["
    for depth in range(len(array.path) - 1, len(owner) - 1, -1):
        key, holder = array.path[depth], source.at(Span(array.line, array.path[:depth]))
        changes = new[-1].reopened
        names = list(holder)
        position = names.index(key)
        before = _half_members(holder, names[:position], changes, spell)
        after = _half_members(holder, names[position + 1 :], changes, spell)
        end = comma.join((end, *after)) + "}"
        begin = "{" + comma.join((*before, f"{spell(key)}{colon}{begin}"))
    between = "\r\n" if line.endswith(b"\r\n") else "\n"
    if owner:
        between = comma
    return between.join((end, *(spell(insertion.value) for insertion in new), begin))


def _half_members(
    holder: dict[str, Any], names: Sequence[str], changes: Mapping[str, Any], spell: JsonStyle
) -> list[str]:
    """The members of a half of a split object: those among some names that both halves carry."""
    _, colon = spell.separators
    return [
        f"{spell(name)}{colon}{spell(changes.get(name, holder[name]))}"
        for name in names
        if name in _KINDS or name in changes
    ]
