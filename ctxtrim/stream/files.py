"""Files of transcripts: how they are read, and the jobs that run over them.

The command line, its processes and `ctxtrim.Pipeline` are built on these values. Both can be
pickled.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager

from msgspec import Struct
from msgspec.structs import replace

from ctxtrim.formats.choice import FormatChoice
from ctxtrim.formats.chunks import Chunk
from ctxtrim.formats.lines import Numbered
from ctxtrim.formats.reading import Reading, line_chunks, open_reading
from ctxtrim.io.inputs import Input, reading
from ctxtrim.stage import Keeper
from ctxtrim.stream import done_chunks
from ctxtrim.stream.job import Done, Job

LineWatch = Callable[[Iterable[bytes]], Iterable[bytes]]
"""Passes on the lines of a file, and sees them."""


class FileReader(Struct, frozen=True):
    """The formats to detect, and the most bytes of a line or document."""

    choice: FormatChoice
    max_size: int

    @contextmanager
    def open(self, source: Input, watch: LineWatch = iter) -> Iterator[Reading]:
        """A file that is being read; an `InputError` if it cannot be read."""
        with reading(source, self.max_size) as lines:
            yield self.read(watch(lines))

    def read(self, lines: Iterable[bytes]) -> Reading:
        """The transcripts in some lines."""
        return open_reading(lines, self.choice.formats, self.max_size)

    def read_numbered(self, lines: Iterable[Numbered], format_name: str) -> Iterator[Chunk]:
        """The transcripts in lines with a conversation on each, in the format with this name."""
        formats = self.choice.formats
        file_format = next(known for known in formats if known.name == format_name)
        return line_chunks(file_format, formats, lines)


class FilePipeline(Struct, frozen=True):
    """What to do with files: how they are read, and the job for their transcripts.

    `jobs`: the jobs of files with settings of their own, by path.
    """

    reader: FileReader
    job: Job
    jobs: Mapping[str, Job] = {}

    def job_of(self, path: str) -> Job:
        """The job of a file."""
        return self.jobs.get(path, self.job)

    def with_jobs(self, change: Callable[[Job], Job]) -> "FilePipeline":
        """The same with changed jobs."""
        jobs = {path: change(job) for path, job in self.jobs.items()}
        return replace(self, job=change(self.job), jobs=jobs)

    def run(self, source: Input, content: Reading, keeper: Keeper | None = None) -> Iterator[Done]:
        """The results of an open file, one at a time. A keeper stores originals."""
        session = source.session
        for done in self.run_chunks(source.path, content.chunks, keeper):
            if session is None:
                yield done
            else:
                yield replace(done, output=session.canonical(done.read, done.data))

    def run_chunks(
        self, path: str, chunks: Iterable[Chunk], keeper: Keeper | None = None
    ) -> Iterator[Done]:
        """The results of some chunks of a file, one at a time. A keeper stores originals."""
        return done_chunks(path, chunks, self.job_of(path), keeper)
