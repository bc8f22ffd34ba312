"""The edits of the lines of a file."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from msgspec import Struct, field

from ctxtrim.formats.base import Insertion
from ctxtrim.model import Span
from ctxtrim.text.json_paths import Path


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
