"""Everything that can go wrong, as one tree.

::

    CtxtrimError            one line for the user: what, where, and what to do
    ├── UsageError          the question makes no sense (exit 2)
    ├── InputError          a file cannot be read, or is not what it should be (exit 1)
    ├── OutputError         something cannot be written (exit 1)
    ├── ArchiveError        an original cannot be stored, found or trusted (exit 1)
    │   └── NoArchiveError  a folder holds no archive
    ├── TokenizerError      a tokenizer is not available (exit 1)
    ├── SummaryError        a summarizer has no answer; facts take its place
    ├── ContextOverflowError   a prompt that a program asked for cannot be made to fit
    └── SelfCheckError      what was written does not read back as what was meant: a bug here (exit 1)

That a transcript of a file does not fit, or breaks a rule, is no error: it is a `Finding`.
"""

from collections.abc import Sequence
from dataclasses import dataclass

BUG = "this is a bug in ctxtrim: please report it with the command you ran"
"""The end of the message of an error that no input should cause."""
STDIN = "-"
"""The path of standard input, on the command line and in reports."""


class CtxtrimError(Exception):
    """Something the user has to know; its text is the whole message."""


class UsageError(CtxtrimError):
    """The options contradict each other or have no such value."""


class InputError(CtxtrimError):
    """A file cannot be read, or is not what it should be; `line` is where, counted from 1."""

    def __init__(self, message: str, line: int | None = None) -> None:
        super().__init__(message)
        self.line = line


class OutputError(CtxtrimError):
    """A file cannot be written."""


class ArchiveError(CtxtrimError):
    """An original cannot be stored, found or trusted."""


class NoArchiveError(ArchiveError):
    """A folder holds no archive."""


class TokenizerError(CtxtrimError):
    """A tokenizer that was asked for is not available."""


class SummaryError(CtxtrimError):
    """A summarizer cannot be reached, or has no answer that can be used."""


@dataclass(frozen=True)
class Irreducible:
    """A message that cannot go: its index in the list that was given, None beside it; its role, its tokens, and why."""

    index: int | None
    role: str
    tokens: int
    reason: str

    def __str__(self) -> str:
        place = "beside the messages" if self.index is None else f"message {self.index}"
        return f"{place} ({self.role}): {self.tokens} tokens ({self.reason})"


class ContextOverflowError(CtxtrimError):
    """A prompt cannot be made to fit: `current_tokens` cannot go, `max_tokens` are allowed.

    `irreducible` are the messages that cannot go, in their order; the text names each on a line of its own.
    """

    def __init__(self, current_tokens: int, max_tokens: int, irreducible: Sequence[Irreducible] = ()) -> None:
        self.current_tokens, self.max_tokens, self.irreducible = current_tokens, max_tokens, tuple(irreducible)
        lines = [f"    {one}" for one in self.irreducible]
        super().__init__("\n".join((does_not_fit(current_tokens, max_tokens), *lines)))

    def __reduce__(self) -> tuple[type, tuple[object, ...]]:
        return type(self), (self.current_tokens, self.max_tokens, self.irreducible)


class SelfCheckError(CtxtrimError):
    """An edited transcript does not read back as what was meant."""


def source_name(path: str) -> str:
    """The name of an input in messages: its path, or `<stdin>`."""
    return "<stdin>" if path == STDIN else path


def does_not_fit(current: int, most: int) -> str:
    """The sentence that tells of an overflow; `current` is what could not go, both in tokens."""
    return (
        f"Cannot fit request within context limit. Current: {current} tokens, Max: {most} tokens. "
        "Please narrow the scope or start a new session."
    )


def unexpected(error: BaseException) -> str:
    """The line that describes an exception that no code foresaw, and how to report it."""
    if isinstance(error, MemoryError):
        return "not enough memory; split the input into smaller files"
    if isinstance(error, OSError):
        return reason(error) if error.filename is None else f"{error.filename}: {reason(error)}"
    kind, text = type(error).__name__, str(error)
    return f"unexpected {kind}{f' ({text})' if text else ''}; {BUG}; --debug shows the traceback"


def reason(error: OSError) -> str:
    """Why the system refused, in its own words."""
    return (error.strerror or str(error)).lower()


def too_large(what: str, most: int) -> str:
    """The sentence for input that would need too much memory; `most` in bytes."""
    return f"{what} has more than {most:,} bytes; raise --max-size to read it"
