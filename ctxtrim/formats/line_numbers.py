"""The line numbers of transcripts and messages in a document of several lines."""

from collections.abc import Sequence, Set
from itertools import chain

from msgspec.structs import replace

from ctxtrim.model import Line, Span, Transcript
from ctxtrim.text.json_paths import Path
from ctxtrim.text.splice import locate


class _LineNumbers:
    """The line numbers at which the transcripts of a document and their messages start.

    They are computed when they are first needed; most reports need none of messages. The document
    may be an element of an array in brackets; `default` is then the line of the array.
    """

    def __init__(self, line: Line, transcripts: Sequence[Transcript], default: int | None) -> None:
        self._line = line
        self._default = line.number if default is None else default
        self._is_element = default is not None
        self._transcripts = transcripts
        self._pointers = {transcript.pointer for transcript in transcripts}
        self._numbers: dict[Path, int] = {}
        self._has_messages = False

    def __call__(self, span: Span) -> int:
        """The line number of a span; of the document if the span does not locate a message."""
        path = (0, *span.path[1:]) if self._is_element and span.path else span.path
        if path not in self._numbers and not self._has_messages:
            paths = set(self._pointers)
            if path not in paths:
                self._has_messages = True
                messages = chain.from_iterable(
                    transcript.messages for transcript in self._transcripts
                )
                paths.update(message.spans[0].path for message in messages if message.spans)
            self._numbers |= self._numbers_at(paths)
        return self._numbers.get(path, self._default)

    def _numbers_at(self, paths: Set[Path]) -> dict[Path, int]:
        """The line numbers of the values at some paths."""
        if b"\n" not in self._line.data:  # as in most elements of an array
            return dict.fromkeys(paths, self._line.number)
        text = self._line.data.decode()
        numbers: dict[Path, int] = {}
        number, done = self._line.number, 0
        for path, position in sorted(locate(text, paths).items(), key=lambda item: item[1]):
            number += text.count("\n", done, position)
            done = position
            numbers[path] = number
        return numbers


def placed(
    line: Line, transcripts: list[Transcript], default: int | None = None
) -> list[Transcript]:
    """Transcripts of a document of several lines, with their line numbers.

    `default`: the line of the array whose element the document is, for what has no line.
    """
    numbers = _LineNumbers(line, transcripts, default)
    return [
        replace(transcript, source=replace(transcript.source, line_numbers=numbers))
        for transcript in transcripts
    ]
