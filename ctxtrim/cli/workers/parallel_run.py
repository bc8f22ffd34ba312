"""A run that several processes share: the pieces they work on, and their results in order."""

from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future
from itertools import chain

from ctxtrim.cli.machine import PARALLEL_SIZE, cores, most_processes, switch_often
from ctxtrim.cli.workers.pieces import LinesPiece, PieceWork, Result
from ctxtrim.cli.workers.pool import DeadWorkerError, Pool
from ctxtrim.findings import Finding
from ctxtrim.formats.lines import Numbered
from ctxtrim.formats.reading import Reading
from ctxtrim.io.inputs import Input, begins_with
from ctxtrim.stage import Keeper
from ctxtrim.stream.job import Done

_PIECE = 1 << 21  # bytes of lines that a process works on at a time, at most
_PIECES = 8  # pieces of a small input for each process, so that all end at about the same time
_SMALL_PIECE = 1 << 18  # bytes of lines of the smallest piece
# bytes as which a shorter line counts: its number and its result need memory, too
_SMALL_LINE = 128
_LAST_PIECES = 4  # pieces for each process into which the rest of a file would be divided
_FILE = 1 << 25  # bytes of the largest file that a process works on as a whole
_AHEAD = 2  # pieces or files in work for each process
_FIRST = 4  # more of them, on which this process works until the others have started

Pending = Future[Result | None]


class ParallelRun:
    """A run in `jobs` processes, or on all cores if the inputs are large (None).

    This process is one of them: it works on pieces that no other has begun while it waits for a
    result.
    """

    def __init__(self, work: PieceWork, jobs: int | None, sources: Iterable[Input]) -> None:
        self._work = work
        sizes = [source.size for source in sources if source.problem is None]
        total = sum(size or 0 for size in sizes)
        self._size = min(jobs or cores(), most_processes())
        self._piece, self._whole = _PIECE, _FILE
        if None not in sizes:
            # more processes would have nothing to do
            self._size = min(self._size, max(2, len(sizes) + total // _PIECE))
            self._piece = min(_PIECE, max(_SMALL_PIECE, total // (self._size * _PIECES)))
            # for a file that is most of the input, the other processes would wait
            self._whole = min(_FILE, total // 2)
        # results of larger files would need much memory
        are_small = None not in sizes and total <= len(sizes) * _PIECE
        self._files = self._size * _AHEAD + (_FIRST if are_small else 0)
        self._waits = jobs is None and total < PARALLEL_SIZE  # until the input proves to be large
        switch_often()
        self._pool: Pool[Input | LinesPiece, Result | None] = Pool(self._size - 1, work)
        if not self._waits:
            self._pool.start()

    @property
    def ahead(self) -> int:
        """The number of files on which processes work before it is their turn."""
        return 0 if self._waits else self._files

    def start(self, source: Input) -> Pending | None:
        """The future result of a whole file; None if the file is better read here."""
        if self._waits or source.problem or source.session is not None:
            return None
        size = source.size
        if size is None or size > self._whole:
            return None
        return self._pool.submit(source, is_small=size <= _PIECE)

    def result(self, pending: Pending) -> Result | None:
        """The result of a piece; `DeadWorkerError` if its process ended.

        Until it is ready, this process works on other pieces.
        """
        while not pending.done() and self._pool.help():
            pass
        return pending.result()

    def results(self, source: Input, content: Reading, keeper: Keeper | None) -> Iterator[Done]:
        """The results of the chunks of an open file, in order."""
        path, pipeline, file_format = source.path, self._work.pipeline, content.format
        is_live = self._waits and not source.is_regular  # what a pipe holds is handled at once
        if content.layout != "conversation" or file_format is None or is_live:
            yield from pipeline.run(source, content, keeper)
            return
        lines: Iterator[Numbered] = chain(content.head, content.rest)
        start = 0 if content.head and begins_with(source, content.head[0][1]) else None
        if self._waits or not content.head:
            yield from pipeline.run_chunks(path, content.first, keeper)
            lines, start = content.rest, None
        if self._waits:
            few = pipeline.reader.read_numbered(self._few(content.rest), file_format.name)
            yield from pipeline.run_chunks(path, few, keeper)
        sizes = self._sizes(source.size)
        yield from self._in_order(_pieces(path, file_format.name, lines, start, sizes), keeper)

    def close(self) -> None:
        """End all processes."""
        self._pool.close()

    def _few(self, lines: Iterator[Numbered]) -> Iterator[Numbered]:
        """The first lines, until they prove that the input is large."""
        size = 0
        for number, line in lines:
            yield number, line
            size += len(line)
            if size >= PARALLEL_SIZE:
                self._waits = False
                return

    def _sizes(self, left: int | None) -> Iterator[int]:
        """The bytes of each piece of a file. The last ones are small, so that all processes end at
        about the same time.
        """
        while True:
            size = self._piece
            if left is not None:
                size = min(size, max(_SMALL_PIECE, left // (self._size * _LAST_PIECES)))
                left -= size
            yield size

    def _in_order(self, pieces: Iterable[LinesPiece], keeper: Keeper | None) -> Iterator[Done]:
        waiting: deque[tuple[LinesPiece, Pending]] = deque()
        try:
            for piece in pieces:
                waiting.append((piece, self._pool.submit(piece)))
                if len(waiting) > self._size * _AHEAD + _FIRST:
                    yield from self._results_of(*waiting.popleft(), keeper)
            while waiting:
                yield from self._results_of(*waiting.popleft(), keeper)
        finally:
            for _, pending in waiting:
                pending.cancel()

    def _results_of(
        self, piece: LinesPiece, pending: Pending, keeper: Keeper | None
    ) -> Iterator[Done]:
        """The results of some lines; if their process died, a finding about them."""
        try:
            result = self.result(pending)
        except DeadWorkerError as error:
            finding = dead_worker_finding(error, piece.lines[0][0], piece.lines[-1][0])
            yield Done(piece.data, None, (), (finding,), is_changed=True, is_lossy=True)
            return
        if result is None:
            yield from self._work.on_lines(piece, keeper)
        else:
            yield from stored_results(result, keeper)


def stored_results(result: Result, keeper: Keeper | None) -> Iterator[Done]:
    """The results of a piece, after the keeper has stored their originals."""
    for done in result.done:
        done.store(keeper)
        yield done


def dead_worker_finding(
    error: DeadWorkerError, first: int | None = None, last: int | None = None
) -> Finding:
    """The finding about a file, or some lines, whose process died."""
    what = "the file" if first is None else f"lines {first} to {last}"
    text = f"{what} cannot be handled: the process ended with {error}; try --jobs 1"
    return Finding("not-handled", "error", text, first)


def _pieces(
    path: str,
    format_name: str,
    lines: Iterable[Numbered],
    start: int | None,
    sizes: Iterator[int],
) -> Iterator[LinesPiece]:
    """Lines in pieces of about these sizes. `start`: the place of the first line in the file."""
    for some in _batches(lines, sizes):
        yield LinesPiece(path, format_name, some, start)
        if start is not None:
            start += sum(len(line) for _, line in some)


def _batches(lines: Iterable[Numbered], sizes: Iterator[int]) -> Iterator[tuple[Numbered, ...]]:
    """Lines in groups of about these sizes in bytes."""
    batch: list[Numbered] = []
    left = next(sizes)
    for number, line in lines:
        batch.append((number, line))
        left -= max(len(line), _SMALL_LINE)
        if left <= 0:
            yield tuple(batch)
            batch, left = [], next(sizes)
    if batch:
        yield tuple(batch)
