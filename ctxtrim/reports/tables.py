"""What a report shows: tables as values, and their lines in a number of columns, with or without
colors.
"""

import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from functools import lru_cache
from itertools import islice
from typing import Generic, TypeVar

from msgspec import Struct
from msgspec.structs import force_setattr

from ctxtrim.io.spool import Spool
from ctxtrim.text.escaping import clean

Cells = tuple[str, ...]
T = TypeVar("T")
_PART = 500  # rows that are measured and written together
_GAP = 2  # columns between cells
_LEAST = 12  # columns that a shortened text keeps at least
_LONGEST = 5_000  # columns of a text: a longer one is shortened in every table
_MARKS = 8  # characters in a column at most: letters with many marks count as wide
_CHARACTERS = 1024  # whose columns are cached
BAR = 20
"""The columns of a bar for 100 %."""


class Table(Struct, frozen=True):
    """A title, column names (those of numbers begin with `>`), and rows.

    There may be more `rows` than fit in memory. `optional`: names of columns that a narrow table
    leaves out, the first one first. `whole`: names of columns whose texts are never shortened.
    Texts are safe to print.
    """

    title: str
    columns: Cells
    rows: Iterable[Cells]
    optional: Cells = ()
    whole: Cells = ()

    def __post_init__(self) -> None:
        """Clean the texts here, once for every form in which a table is drawn."""
        force_setattr(self, "title", clean(self.title))
        force_setattr(self, "rows", Each(self.rows, _cleaned))


class Each(Struct, Generic[T], frozen=True):
    """The cells of each row, computed on each read."""

    rows: Iterable[T]
    cells: Callable[[T], Cells]

    def __iter__(self) -> Iterator[Cells]:
        return map(self.cells, self.rows)


def _cleaned(cells: Cells) -> Cells:
    if 2 * sum(map(len, cells)) <= _LONGEST and "".join(cells).isprintable():  # nearly all rows
        return cells
    return tuple(shortened(clean(cell), _LONGEST) for cell in cells)


class Look(Struct, frozen=True):
    """How tables are drawn: the columns of the output, None for any number, and whether cells have
    colors.

    `spelling`: what the output shows for characters that its encoding does not have.
    """

    width: int | None = None
    has_colors: bool = False
    spelling: Mapping[int, str] = {}

    @property
    def ellipsis(self) -> str:
        """What a shortened text has in place of its middle."""
        return "…".translate(self.spelling)

    def bold(self, text: str) -> str:
        """A text in bold letters, if there are colors."""
        return self._styled(text, "1")

    def heading(self, text: str, cell: str) -> str:
        """The name of a column."""
        return self.bold(text)

    def styled(self, text: str, cell: str) -> str:
        """The text of a cell in the color of its word, if it has one."""
        return self._styled(text, _STYLES.get(cell, ""))

    def difference(self, line: str) -> str:
        """A line of a difference, in the color of its first character. Lines of texts are cut."""
        style = _STYLES.get(line[:1], "")
        if self.width is not None and len(line) > self.width and not line.startswith("@"):
            line = f"{line[: self.width - 1]}…"
        return self._styled(line, style)

    def _styled(self, text: str, style: str) -> str:
        return f"\x1b[{style}m{text}\x1b[0m" if style and text and self.has_colors else text


class View(Struct, frozen=True):
    """What the text of a report shows.

    `by`: the group of tokens; empty for roles, kinds and tools. `passing`: transcripts without
    errors too. `totals`: warnings, notes and the totals too. `max_differences`: the number of
    messages whose differences are shown; None for all.
    """

    by: str = ""
    passing: bool = True
    totals: bool = True
    max_differences: int | None = None


WHOLE = View()
PLAIN = Look()
_STYLES = {
    "fits": "32",
    "overflow": "1;31",
    "above limit": "1;31",
    "malformed": "33",
    "fails --strict": "33",
    "not handled": "1;31",
    "dropped": "31",
    "truncated": "33",
    "@": "36",
    "-": "31",
    "+": "32",
}


_Part = tuple[Cells, ...]
"""The texts of some rows, by column."""


def drawn(table: Table, look: Look = PLAIN) -> Iterator[str]:
    """The lines of a table. Its rows are read once.

    A table that is too wide loses its optional columns, then its longest texts are shortened.
    """
    parts: Spool[_Part] = Spool(lambda part: len(part) * len(part[0]))
    with closing(parts):
        all_widths = _measured(table, parts, look)
        shown = _shown(table, all_widths, look.width)
        columns = [table.columns[position] for position in shown]
        widths = [all_widths[position] for position in shown]
        widths = _narrowed(columns, table.whole, widths, look.width)
        if table.title:
            yield look.bold(table.title) + "\n"
        names = [name.removeprefix(">") for name in columns]
        if any(names):
            yield from _lines(columns, [(name,) for name in names], widths, look, look.heading)
        for part in parts:
            texts = [part[position] for position in shown]
            yield from _lines(columns, texts, widths, look, look.styled)


def bar(tokens: int, total: int) -> str:
    """A bar for a share of a total."""
    return "█" * max(1, round(BAR * tokens / total)) if tokens and total else ""


def _measured(table: Table, parts: Spool[_Part], look: Look) -> list[int]:
    """The widths of the columns of a table. Add its rows to `parts`, as the output spells them."""
    widths = [len(name.removeprefix(">")) for name in table.columns]
    rows = iter(table.rows)
    while some := list(islice(rows, _PART)):
        part = tuple(zip(*some, strict=True))
        if look.spelling:
            part = tuple(tuple(text.translate(look.spelling) for text in texts) for texts in part)
        widths = list(map(max, widths, map(_widest, part)))
        parts.append(part)
    return widths


def _shown(table: Table, widths: list[int], limit: int | None) -> list[int]:
    """The positions of the columns without the optional ones for which there is no room."""
    names = [name.removeprefix(">") for name in table.columns]
    shown = list(range(len(names)))
    for name in table.optional:
        if limit is None or _total([widths[position] for position in shown]) <= limit:
            break
        shown.remove(names.index(name))
    return shown


def _total(widths: list[int]) -> int:
    return sum(widths) + _GAP * (len(widths) - 1)


def _narrowed(
    columns: Sequence[str], whole: Cells, widths: list[int], limit: int | None
) -> list[int]:
    """The widths with which the table fits: the widest text columns get narrower first."""
    texts = [
        position
        for position, name in enumerate(columns)
        if not name.startswith(">") and name not in whole
    ]
    if limit is None or not texts or _total(widths) <= limit:
        return widths
    room = limit - _total(widths) + sum(widths[position] for position in texts)
    own = {position: widths[position] for position in texts}
    level = max(_LEAST, _level(list(own.values()), room))
    room -= sum(min(width, level) for width in own.values())
    wide = [position for position in texts if own[position] > level]
    wider = wide[len(wide) - max(0, room) :]  # columns on the right get what is left over
    for position in wide:
        widths[position] = level + (position in wider)
    return widths


def _level(widths: list[int], room: int) -> int:
    """The largest width such that these, each at most this wide, have no more than `room`."""
    widths = sorted(widths)
    for index, width in enumerate(widths):
        level = room // (len(widths) - index)
        if level < width:
            return level
        room -= width
    return max(widths)


def _lines(
    columns: Sequence[str],
    texts: Sequence[Cells],
    widths: list[int],
    look: Look,
    styled: Callable[[str, str], str],
) -> Iterator[str]:
    """The lines of some rows, whose texts are given by column."""
    aligned = []
    for name, column, width in zip(columns, texts, widths, strict=True):
        is_number = name.startswith(">")
        if not look.has_colors and _is_narrow(column) and max(map(len, column)) <= width:
            align = str.rjust if is_number else str.ljust  # much faster
            aligned.append([align(text, width) for text in column])
        else:
            aligned.append([_aligned(text, width, is_number, look, styled) for text in column])
    for cells in zip(*aligned, strict=True):
        yield (" " * _GAP).join(cells).rstrip() + "\n"


def _aligned(
    cell: str, width: int, is_number: bool, look: Look, styled: Callable[[str, str], str]
) -> str:
    """A text with its style, in `width` columns."""
    text, space = cell, width - _width(cell)
    if space < 0:
        text = shortened(cell, width, look.ellipsis)
        space = width - _width(text)
    text = styled(text, cell)
    return " " * space + text if is_number else text + " " * space


def shortened(text: str, width: int, ellipsis: str = "…") -> str:
    """The text in at most `width` columns; if it is longer, an ellipsis replaces its middle."""
    if len(text) <= _MARKS * width and _width(text) <= width:
        return text
    start = (width - 1) // 3
    head = text[:start]
    room, end = width - len(ellipsis) - _width(head), len(text)
    while end > start and (room := room - _columns(text[end - 1])) >= 0:
        end -= 1
    while end < len(text) and unicodedata.combining(text[end]):  # a mark without its letter
        end += 1
    return f"{head}{ellipsis}{text[end:]}"


def _widest(texts: Cells) -> int:
    """The columns of the widest text."""
    return max(map(len if _is_narrow(texts) else _width, texts))


def _is_narrow(texts: Cells) -> bool:
    """Whether each character of some texts has one column."""
    text = "".join(texts)
    return text.isascii() or all(_columns(char) == 1 for char in set(text))


def _width(text: str) -> int:
    """The columns of a text on a terminal."""
    if text.isascii():
        return len(text)
    return sum(map(_columns, text))


@lru_cache(_CHARACTERS)
def _columns(char: str) -> int:
    """The columns of a character on a terminal."""
    if unicodedata.combining(char):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1
