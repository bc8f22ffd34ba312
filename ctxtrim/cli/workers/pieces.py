"""What a process works on at a time: some lines of a file, or a whole file."""

from collections.abc import Callable, Iterable, Iterator
from io import BytesIO
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from ctxtrim.cli.machine import collect_rarely
from ctxtrim.errors import InputError
from ctxtrim.formats.detection import Detection
from ctxtrim.formats.lines import Numbered
from ctxtrim.io.inputs import Input, bytes_at
from ctxtrim.reports.report import Overview, largest_limit
from ctxtrim.stage import Keeper
from ctxtrim.stream.files import FilePipeline
from ctxtrim.stream.job import START, Done
from ctxtrim.text.records import LinePart

if TYPE_CHECKING:
    from ctxtrim.archive.recorder import Register


class LinesPiece(Struct, frozen=True):
    """Some lines of a file with a conversation on each, in the format with this name.

    `start`: their place in the file, if other processes can read them there.
    """

    path: str
    format: str
    lines: tuple[Numbered, ...]
    start: int | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        """What another process gets: the lines, or only their place."""
        if self.start is None or any(isinstance(line, LinePart) for _, line in self.lines):
            return LinesPiece, (self.path, self.format, self.lines)
        sizes = tuple(len(line) for _, line in self.lines)
        return PlacedLines, (self.path, self.format, self.start, self.lines[0][0], sizes)

    @property
    def data(self) -> bytes:
        """The bytes of the lines."""
        return b"".join(line for _, line in self.lines)


class PlacedLines(Struct, frozen=True):
    """The place of some lines: that of the first one, its number, and the sizes of all."""

    path: str
    format: str
    start: int
    number: int
    sizes: tuple[int, ...]

    def read(self) -> LinesPiece:
        """The lines; an `InputError` if the file has others now."""
        lines = BytesIO(bytes_at(self.path, self.start, sum(self.sizes))).readlines()
        if tuple(map(len, lines)) != self.sizes:
            raise InputError("the file changed while it was read")
        return LinesPiece(self.path, self.format, tuple(enumerate(lines, self.number)))


class Result(Struct, frozen=True):
    """The results of the chunks of a piece; `detection` is that of a whole file."""

    done: tuple[Done, ...]
    detection: Detection | None = None


class PieceWork(Struct, frozen=True):
    """The work on a piece, in any process. It can be pickled.

    `is_recorded`: an archive records originals and the bytes as read. `writes`: the output is
    written.
    """

    pipeline: FilePipeline
    is_recorded: bool
    writes: bool

    def __call__(self, piece: Input | LinesPiece | PlacedLines) -> Result | None:
        """The result of a piece; None after an error, which the run then meets in its turn."""
        collect_rarely()
        try:
            if not isinstance(piece, Input):
                some = piece.read() if isinstance(piece, PlacedLines) else piece
                return Result(tuple(self._results(lambda keeper: self.on_lines(some, keeper))))
            with self.pipeline.reader.open(piece) as content:
                done = self._results(lambda keeper: self.pipeline.run(piece, content, keeper))
                return Result(tuple(done), content.detection)
        except Exception:  # noqa: BLE001 - the run works on the piece again and reports the error
            return None

    def on_lines(self, piece: LinesPiece, keeper: Keeper | None) -> Iterator[Done]:
        """The results of some lines, in this process."""
        chunks = self.pipeline.reader.read_numbered(piece.lines, piece.format)
        return self.pipeline.run_chunks(piece.path, chunks, keeper)

    def _results(self, work: Callable[[Keeper | None], Iterable[Done]]) -> Iterator[Done]:
        """Results with their originals, and without values that the run does not use."""
        register = _register() if self.is_recorded else None
        number, overview = largest_limit(self.pipeline.job.pipeline.stages), Overview()
        for done in work(register):
            rows = done.rows
            if number is not None:
                rows = tuple(replace(row, large=overview.note_largest(row, number)) for row in rows)
            if register is not None:
                yield replace(
                    done,
                    output=done.read if done.output == done.read else done.data,
                    rows=rows,
                    originals=register.take(),
                )
            else:
                output = done.data if self.writes else None
                yield replace(done, read=done.read[:START], output=output, rows=rows)


def _register() -> "Register":
    from ctxtrim.archive.recorder import Register  # most runs have no archive

    return Register()
