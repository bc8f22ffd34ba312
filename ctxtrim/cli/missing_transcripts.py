"""Findings about inputs without a transcript."""

from ctxtrim.cli.request import Request
from ctxtrim.findings import Finding
from ctxtrim.formats import FORMATS
from ctxtrim.formats.chunks import why_no_transcript
from ctxtrim.formats.detection import Detection
from ctxtrim.io.inputs import Input

_QUOTED = 24  # characters of the beginning that a message quotes

NO_TRANSCRIPT_INSIDE = Finding(
    "no-transcript",
    "error",
    "no file in the folder has a transcript; name files or another folder, or use --allow-empty",
)


def no_transcript(
    source: Input, detection: Detection, start: bytes, request: Request, first: Finding | None
) -> Finding:
    """The finding that explains why a file has no transcript.

    `start` has its first bytes, `first` is the first finding about its lines. Valid JSON that was
    found in a folder is skipped with a note. With `--allow-empty`, so are named and empty inputs.
    """
    text, line = _reason(detection, start, request, first)
    is_expected = request.may_be_empty or (source.folder is not None and bool(start))
    if first is not None or not is_expected:
        return Finding("no-transcript", "error", text, line)
    if detection.why_empty is None:
        text = "it has no transcript"
    return Finding("skipped", "info", f"skipped: {text}", line)


def _reason(
    detection: Detection, start: bytes, request: Request, first: Finding | None
) -> tuple[str, int | None]:
    """Why a file has no transcript, and the line."""
    formats = request.pipeline.reader.choice.formats
    if not start:
        return "no transcript found: the input is empty", None
    if detection.why_empty is not None:
        return f"no transcript found: {detection.why_empty}", None
    if first is not None:
        return why_no_transcript(first), first.line
    if len(formats) < len(FORMATS):
        known = ", ".join(file_format.name for file_format in formats)
        return f"no transcript found: the format is not {known}; omit --format", None
    quoted = start.decode(errors="replace").replace("\n", " ")
    if len(quoted) > _QUOTED:
        quoted = f"{quoted[:_QUOTED]}…"
    return (
        f"no transcript found: unknown format (starts with `{quoted}`); `ctxtrim help count` lists "
        "the formats",
        None,
    )
