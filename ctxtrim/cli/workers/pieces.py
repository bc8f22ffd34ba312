"""What a process works on at a time: some lines of a file, or a whole file."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from msgspec import Struct
from msgspec.structs import replace

from ctxtrim.archive.recorder import Register
from ctxtrim.cli.machine import calm_collector
from ctxtrim.formats.choice import FormatChoice
from ctxtrim.formats.reading import Detection, Numbered, line_chunks, open_reading
from ctxtrim.io.inputs import Input, reading
from ctxtrim.stage import Keeper
from ctxtrim.stream import START, Done, Job, done_chunks, stream


class Lines(Struct, frozen=True):
    """Some lines of a file with a conversation on each, in the format with this name."""

    path: str
    format: str
    lines: tuple[Numbered, ...]

    @property
    def data(self) -> bytes:
        """The bytes of the lines."""
        return b"".join(line for _, line in self.lines)


class Result(Struct, frozen=True):
    """The results of the chunks of a piece; `detection` is that of a whole file."""

    done: tuple[Done, ...]
    detection: Detection | None = None


@dataclass(frozen=True)
class Kit:
    """What a process needs to work on pieces. It can be pickled.

    `jobs`: the jobs of inputs with settings of their own, by path. `is_recorded`: an archive
    records originals and the bytes as read. `writes`: the output is written.
    """

    job: Job
    jobs: Mapping[str, Job]
    choice: FormatChoice
    max_size: int
    is_recorded: bool
    writes: bool

    def job_of(self, path: str) -> Job:
        """The job of an input."""
        return self.jobs.get(path, self.job)

    def __call__(self, piece: Input | Lines) -> Result | None:
        """The result of a piece; None after an error, which the run then meets in its turn."""
        calm_collector()
        try:
            if isinstance(piece, Lines):
                return Result(tuple(self._results(lambda keeper: self.on_lines(piece, keeper))))
            job = self.job_of(piece.path)
            with reading(piece, self.max_size) as lines:
                content = open_reading(lines, self.choice.formats, self.max_size)
                done = self._results(lambda keeper: stream(piece.path, content, job, keeper))
                return Result(tuple(done), content.detection)
        except Exception:  # noqa: BLE001 - the run works on the piece again and reports the error
            return None

    def on_lines(self, piece: Lines, keeper: Keeper | None) -> Iterator[Done]:
        """The results of some lines, in this process."""
        formats = self.choice.formats
        dialect = next(form for form in formats if form.name == piece.format)
        return done_chunks(
            piece.path, line_chunks(dialect, formats, piece.lines), self.job_of(piece.path), keeper
        )

    def _results(self, work: Callable[[Keeper | None], Iterable[Done]]) -> Iterator[Done]:
        """Results with their originals, and without bytes that the run does not use."""
        register = Register() if self.is_recorded else None
        for done in work(register):
            if register is not None:
                yield replace(
                    done,
                    data=done.read if done.data == done.read else done.data,
                    originals=register.taken(),
                )
            else:
                data = done.data if self.writes else None
                yield replace(done, read=done.read[:START], data=data)
