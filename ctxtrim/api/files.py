"""Transcripts of files."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Unpack

from ctxtrim.api.configs import ReadConfig
from ctxtrim.api.options import Settings, parse_options
from ctxtrim.errors import InputError, mismatch, place_of
from ctxtrim.findings import Finding
from ctxtrim.formats.choice import FormatChoice
from ctxtrim.formats.chunks import Chunk, problem_of, why_no_transcript
from ctxtrim.formats.reading import Reading
from ctxtrim.io.inputs import Input
from ctxtrim.model import Transcript
from ctxtrim.reports.failures import not_handled
from ctxtrim.stream.files import FileReader

_LONGEST_PATH, _LONGEST_NAME = 4_095, 255
"""Characters. Linux allows no more bytes in a name; macOS and Windows count characters."""


def read(path: str | Path, **options: Unpack[ReadConfig]) -> Iterator[Transcript]:
    """The transcripts of a file, one at a time, so that memory is bounded by the largest.

    Args:
        path: a file of any supported format, which may be compressed; `-` is standard input.
        **options: `format` (a name instead of detection), `messages_path` and `each_request`, as on
            the command line; `max_size`, the most bytes of a line or document.

    Returns:
        An iterator. The file is opened when it starts and closed when it ends.

    Raises:
        InputError: the file cannot be read, a line is not JSON, or there is no transcript.
        UsageError: an option is unknown or invalid.
    """
    return _transcripts(path_text(path, "read: path"), file_reader(parse_options("read", options)))


def path_text(path: object, name: str) -> str:
    """The text of a path. Raises `UsageError` for a value that no file can have as its path."""
    text = str(path)
    is_path = "\0" not in text and (isinstance(path, str) or hasattr(path, "__fspath__"))
    if not (is_path and _may_name_file(text)):
        raise mismatch(name, "a path", path)
    return text


def _may_name_file(path: str) -> bool:
    """Whether a system can have a file with this path: it has bytes, and is not too long."""
    try:
        bytes(Path(path))
    except UnicodeEncodeError:  # half of a surrogate pair
        return False
    names = Path(path).parts
    return len(path) <= _LONGEST_PATH and all(len(name) <= _LONGEST_NAME for name in names)


def _transcripts(path: str, reader: FileReader) -> Iterator[Transcript]:
    with opened(Input(path, path), reader) as content:
        yield from transcripts_in(content)


def transcripts_in(content: Reading) -> Iterator[Transcript]:
    """The transcripts of a file being read.

    Raises `InputError` for a line that is not JSON, and if there is no transcript.
    """
    for chunk in chunks_in(content):
        yield from chunk.transcripts


def chunks_in(content: Reading) -> Iterator[Chunk]:
    """The chunks with transcripts of a file being read.

    Raises `InputError` for a line that is not JSON, and if there is no transcript.
    """
    has_any = False
    for chunk in content.chunks:
        if chunk.error is not None:
            line = chunk.lines[0].number
            finding = not_handled(chunk.error, line, shows_traceback=False)
            raise InputError(finding.message, line)
        for finding in chunk.findings:
            if finding.severity == "error":
                raise InputError(
                    f"{problem_of(finding)}; Pipeline.run_file reads the other lines", finding.line
                )
        if chunk.transcripts:
            has_any = True
            yield chunk
    if not has_any:
        raise no_transcript(content)


def file_reader(settings: Settings) -> FileReader:
    """The options about the format and the size of files."""
    values = settings.config.values
    choice = FormatChoice(values["format"], values["messages_path"], values["each_request"])
    return FileReader(choice, values["max_size"])


@contextmanager
def opened(source: Input, reader: FileReader) -> Iterator[Reading]:
    """A file being read. The messages of its `InputError`s begin with the path and the line."""
    try:
        with reader.open(source) as content:
            yield content
    except InputError as error:
        place = place_of(source.path, error.line)
        raise InputError(f"{place}: {error}", error.line) from error


def no_transcript(content: Reading, first: Finding | None = None) -> InputError:
    """The error for a file without a transcript; `first` is the first finding about its lines."""
    if first is not None:
        return InputError(why_no_transcript(first), first.line)
    why = content.detection.why_empty
    if why is None and content.detection.looked:
        why = content.detection.description
    return InputError(f"no transcript found: {why or 'the input is empty'}")
