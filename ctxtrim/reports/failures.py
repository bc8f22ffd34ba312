"""Findings about transcripts that cannot be handled, written or archived."""

from msgspec.structs import replace

from ctxtrim.errors import (
    ArchiveError,
    CtxtrimError,
    NotEditableError,
    SelfCheckError,
    traceback_of,
    unexpected,
)
from ctxtrim.findings import Code, Finding
from ctxtrim.formats.chunks import Chunk


def not_handled(error: Exception, line: int | None, *, shows_traceback: bool) -> Finding:
    """The finding for a transcript, starting at `line`, that cannot be handled.

    Errors of the run are raised again.
    """
    if isinstance(error, CtxtrimError) and not isinstance(error, SelfCheckError):
        raise error
    code: Code = "not-handled"
    if isinstance(error, SelfCheckError):
        code = "not-editable" if isinstance(error, NotEditableError) else "self-check"
    text = f"cannot be handled: {unexpected(error)}" if code == "not-handled" else str(error)
    frames = tuple(traceback_of(error)) if shows_traceback else ()
    return Finding(code, "error", text, line, details=frames)


def not_written(
    error: Exception, chunk: Chunk, line: int | None, *, shows_traceback: bool
) -> Finding:
    """The finding for an edited transcript that cannot be written: it is malformed, or a bug."""
    from ctxtrim.formats.defects import first_defect  # for failures only

    finding = not_handled(error, line, shows_traceback=shows_traceback)
    defect = first_defect(chunk) if finding.code == "self-check" else None
    if defect is None:
        return finding
    text = (
        f"malformed transcript cannot be edited: {defect.reason}; fix this value "
        "to edit the transcript"
    )
    return replace(finding, code="not-editable", message=text, line=defect.line)


def not_archived(error: ArchiveError) -> Finding:
    """The finding for an original that cannot be stored, so that nothing is replaced."""
    return Finding("not-archived", "error", f"{error}; the transcript is unchanged")
