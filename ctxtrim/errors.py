"""The tree of errors.

::

    CtxtrimError            one line for the user: what, where, and what to do
    ├── UsageError          options are invalid or contradict each other (exit 2)
    ├── InputError          a file cannot be read or is invalid (exit 1)
    ├── OutputError         a file cannot be written (exit 1)
    ├── ArchiveError        an original cannot be stored, found or trusted (exit 1)
    │   └── NoArchiveError  a folder has no archive
    ├── TokenizerError      a tokenizer is not available (exit 1)
    ├── SummaryError        a summarizer failed; rules write the summary
    ├── ContextOverflowError   a prompt of a program cannot fit (`ctxtrim.api.overflow`)
    └── SelfCheckError      the output does not read back as intended: a bug in ctxtrim, or in
        │                   a stage of a program (exit 1)
        └── NotEditableError    an edit in a format that is only read (exit 1)

A transcript that does not fit, or that breaks a rule, is a `Finding`, not an error.
"""

from collections.abc import Iterator
from contextlib import contextmanager

_LONGEST_EXCERPT = 80  # characters of a value in a message
BUG = "this is a bug in ctxtrim: please report it with the command you ran"
"""The end of the message of an error that no input should cause."""
_STAGE_BUG = "this is a bug in the stage"
STDIN = "-"
"""The path of standard input, on the command line and in reports."""
STDOUT = "-"
"""The path of standard output, on the command line."""


class CtxtrimError(Exception):
    """An error for the user; its text is the whole message."""


class UsageError(CtxtrimError):
    """Options are invalid or contradict each other."""


class InputError(CtxtrimError):
    """A file cannot be read or is invalid. `line` counts from 1."""

    def __init__(self, message: str, line: int | None = None) -> None:
        super().__init__(message)
        self.line = line


class OutputError(CtxtrimError):
    """A file cannot be written."""


class ArchiveError(CtxtrimError):
    """An original cannot be stored, found or trusted."""


class NoArchiveError(ArchiveError):
    """A folder has no archive."""


class TokenizerError(CtxtrimError):
    """A tokenizer is not available."""


class SummaryError(CtxtrimError):
    """A summarizer cannot be reached, or its answer cannot be used."""


class SelfCheckError(CtxtrimError):
    """An edited transcript does not read back as intended."""


class NotEditableError(SelfCheckError):
    """A transcript is not to be edited; the text says why, and what to do."""


def source_name(path: str) -> str:
    """The name of an input in messages: its path, or `<stdin>`."""
    return "<stdin>" if path == STDIN else path


def place_of(path: str, line: int | None) -> str:
    """An input in messages, with a line of it if one is known: `a.jsonl:3`, `<stdin>`."""
    name = source_name(path)
    return f"{name}:{line}" if line else name


def does_not_fit(current: int, limit: int) -> str:
    """The message for an overflow.

    `current` is what cannot be dropped, in tokens.
    """
    return (
        f"Cannot fit request within context limit. Current: {current} tokens, Max: {limit} tokens. "
        "Please narrow the scope or start a new session."
    )


def unexpected(error: BaseException) -> str:
    """The message for an unexpected exception, and how to report it."""
    if isinstance(error, MemoryError):
        return "not enough memory; split the input into smaller files"
    if isinstance(error, OSError):
        return reason(error) if error.filename is None else f"{error.filename}: {reason(error)}"
    kind, text = type(error).__name__, str(error)
    notes = getattr(error, "__notes__", ())
    remedy = next((note for note in notes if note.startswith(_STAGE_BUG)), BUG)
    return f"unexpected {kind}{f' ({text})' if text else ''}; {remedy}; --debug shows the traceback"


def bug_in_stage(name: str) -> str:
    """The end of the message of an error in a stage of a program; as the note of an exception, it
    is the end of its message.
    """
    return f"{_STAGE_BUG} {name}"


def traceback_of(error: BaseException) -> list[str]:
    """The lines of the traceback of an exception."""
    import traceback  # for unexpected errors only

    return "".join(traceback.format_exception(error)).splitlines()


@contextmanager
def os_errors_as(error_class: type[CtxtrimError], text: str) -> Iterator[None]:
    """Raise an `OSError` of the block as another error, with a text and the reason."""
    try:
        yield
    except OSError as error:
        raise error_class(f"{text}: {reason(error)}") from error


def reason(error: OSError) -> str:
    """The reason of the operating system, in lower case."""
    if isinstance(error, FileNotFoundError) and error.filename is None:
        return "the working directory was deleted; change to another one"  # a relative path
    return (error.strerror or str(error)).lower()


def excerpt(text: str) -> str:
    """A text for a message: its beginning if it is long."""
    return text if len(text) <= _LONGEST_EXCERPT else f"{text[: _LONGEST_EXCERPT - 1]}…"


def mismatch(name: str, expected: str, value: object) -> UsageError:
    """The error of an argument or a setting that has another value than expected."""
    return UsageError(f"{name}: expected {expected}, found {excerpt(repr(value))}")


def must_be_text(value: object, name: str) -> None:
    """Raise `UsageError` for an argument of a function that is not a text."""
    if not isinstance(value, str):
        raise mismatch(name, "a text", value)


def must_be_whole(value: object, name: str, least: int | None = None) -> None:
    """Raise `UsageError` for an argument of a function that is not a whole number, or is less than
    `least`.
    """
    if not isinstance(value, int) or isinstance(value, bool):
        raise mismatch(name, "a whole number", value)
    if least is not None and value < least:
        raise mismatch(name, f"at least {least}", value)


def must_be_function(value: object, name: str) -> None:
    """Raise `UsageError` for an argument of a function that cannot be called."""
    if not callable(value):
        raise mismatch(name, "a function", value)


def must_be_summarizer(value: object, name: str) -> None:
    """Raise `UsageError` for an argument of a function that is neither None nor a summarizer."""
    is_summarizer = callable(getattr(value, "summarize", None)) and not isinstance(value, type)
    if value is not None and not is_summarizer:
        raise mismatch(name, "an object with a method `summarize`", value)


def too_large(what: str, limit: int) -> str:
    """The message for input above the size limit; `limit` in bytes."""
    unit = "byte" if limit == 1 else "bytes"
    return f"{what} has more than {limit:,} {unit}; raise --max-size to read it"
