"""The line numbers of transcripts and messages in a document of several lines."""

from collections.abc import Sequence, Set

from msgspec.structs import replace

from ctxtrim.model import Line, Span, Transcript
from ctxtrim.text.json_paths import Path
from ctxtrim.text.splice import locate


class _LineNumbers:
    """The line numbers at which the transcripts of a document and their messages start.

    They are computed when they are first needed; most reports need none of messages.
    """

    def __init__(self, line: Line, transcripts: Sequence[Transcript]) -> None:
        self._line = line
        self._transcripts = transcripts
        self._pointers = {transcript.pointer for transcript in transcripts}
        self._numbers: dict[Path, int] = {}
        self._has_messages = False

    def __call__(self, span: Span) -> int:
        """The line number of a span; of the document if the span does not locate a message."""
        if span.path not in self._numbers and not self._has_messages:
            paths = set(self._pointers)
            if span.path not in paths:
                self._has_messages = True
                messages = (message for each in self._transcripts for message in each.messages)
                paths.update(message.spans[0].path for message in messages if message.spans)
            self._numbers |= self._at(paths)
        return self._numbers.get(span.path, self._line.number)

    def _at(self, paths: Set[Path]) -> dict[Path, int]:
        text = self._line.data.decode()
        numbers: dict[Path, int] = {}
        number, done = self._line.number, 0
        for path, position in sorted(locate(text, paths).items(), key=lambda item: item[1]):
            number += text.count("\n", done, position)
            done = position
            numbers[path] = number
        return numbers


def placed(line: Line, transcripts: list[Transcript]) -> list[Transcript]:
    """Transcripts of a document of several lines, with their line numbers."""
    numbers = _LineNumbers(line, transcripts)
    return [
        replace(transcript, source=replace(transcript.source, line_numbers=numbers))
        for transcript in transcripts
    ]
