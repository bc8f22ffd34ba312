"""What a stage is and what it says: settings, outcomes, changes and findings, all of them values."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import Field, dataclass, field, fields
from typing import Any, Literal, NamedTuple, Protocol, runtime_checkable

from ctxtrim.errors import does_not_fit
from ctxtrim.model import Message, Part, Transcript
from ctxtrim.summaries.identity import Identity
from ctxtrim.tokens import MARKS, MEANINGS, Budget, Exactness
from ctxtrim.tokens.counter import Counter

Action = Literal[
    "kept", "truncated", "archived", "dropped", "summarized", "inserted", "merged", "stripped", "repaired"
]  # fmt: skip
Severity = Literal["error", "warning", "info"]


@dataclass(frozen=True, slots=True)
class Change:
    """What was done to one message (its index as read) and why. `kept` is told too, for `--explain`.

    An inserted message has no index; `before` is that of the first message after it that was read, None at the end.
    `line`: the change is not to a message but to this line of the file, counted from 1.
    """

    message: int | None
    action: Action
    reason: str
    before: int | None = None
    line: int | None = None


def change_of(messages: Sequence[Message], position: int, action: Action, reason: str) -> Change:
    """The change of the message at a position, whether it was read or inserted."""
    index = messages[position].index
    if index is not None:
        return Change(index, action, reason)
    before = next((one.index for one in messages[position:] if one.index is not None), None)
    return Change(None, action, reason, before)


@dataclass(frozen=True, slots=True)
class Finding:
    """Something to say about a transcript or a file; `details` are further lines, `tokens` what it is about costs.

    `line` counts the lines of the file from 1; `index` is the message among the transcript's messages as read.
    """

    code: str
    severity: Severity
    message: str
    line: int | None = None
    index: int | None = None
    tokens: int | None = None
    details: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Written:
    """A summary that a stage has put in: its text, its tokens, and the number of messages that it covers.

    `overlap` of these messages are in the transcript all the same: a stored summary may meet its last messages again.
    """

    text: str
    tokens: int
    messages: int
    overlap: int = 0


class Dropped(NamedTuple):
    """The dropped exchange that comes closest to fitting: its first message as read, and its tokens at the least."""

    message: int | None
    tokens: int


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a stage made of a transcript. With an `overflow` finding the transcript is what could not go.

    `smallest_dropped` has more tokens than the budget has room left; None where nothing was dropped.
    """

    transcript: Transcript
    changes: tuple[Change, ...] = ()
    findings: tuple[Finding, ...] = ()
    summary: Written | None = None
    smallest_dropped: Dropped | None = None


@dataclass(frozen=True, slots=True)
class Original:
    """A result before any stage replaced it, or before it went to a file of its own.

    `index`: the message as read; `id`: the trace id of its result, else its call id, else one made of what it says;
    `text`: the result, as the model read it; `action`: what was done to it.
    """

    index: int
    id: str
    text: str
    tool: str | None
    line: int | None
    action: Action


class Keeper(Protocol):
    """Keeps originals: the seam between the pipeline and an archive."""

    def keep(self, originals: Sequence[Original], stage: str) -> Mapping[int, str]:
        """Store them and return their names by index, or raise an `ArchiveError`: then nothing is replaced."""
        ...

    def path_of(self, name: str) -> str:
        """The file that an original is in, or will be, by its SHA-256."""
        ...


class Recalled(NamedTuple):
    """The summary that was stored for a transcript, None where there is none or `warning` says why it is not used."""

    summary: Written | None
    warning: str | None = None


class Memory(Protocol):
    """Keeps the summaries of transcripts from run to run: the seam between stages and a summary store."""

    def recall(self, identity: Identity) -> Recalled:
        """The summary that was stored for a transcript."""
        ...

    def remember(self, identity: Identity, written: Written, covered: tuple[str, ...]) -> None:
        """Keep a summary for later runs. `covered` are the fingerprints of the last messages that it covers."""
        ...


class Stage(Protocol):
    """A frozen dataclass you can call: a transcript in, an outcome out, nothing remembered.

    Its first fields are the counter to measure with and the budget to keep; the others are its settings.
    """

    def __init__(self, counter: Counter, budget: Budget, **settings: Any) -> None: ...

    def __call__(self, transcript: Transcript) -> Outcome:
        """Run the stage."""
        ...


@runtime_checkable
class Announced(Protocol):
    """A stage whose start and end are reported as events, whenever it has a reason to run."""

    def reason_to_run(self, transcript: Transcript) -> str | None:
        """Why the stage works on the transcript; None where it does not."""
        ...


def setting(
    default: Any,
    text: str,
    least: int | None = None,
    choices: tuple[str, ...] | None = None,
    check: Callable[[str], object] | None = None,
    is_restricted: Callable[[Any], bool] | None = None,
    units: Mapping[str, int] | None = None,
) -> Any:
    """A field that a user may set: its default, its help text, and what its values may be.

    `least` is the least number, `choices` are all the words; `check` raises a `ValueError` that says what is wrong with
    a text. A default of None is a number that is not given, one of `()` a list of texts, which may be given one by one.
    `is_restricted` returns whether a value runs a program, sends data, or names a file or folder. Configuration that is
    found in the working directory cannot set such values. `units` are factors by the words that may follow a number.
    """
    metadata = {"help": text, "least": least, "choices": choices, "check": check, "is_restricted": is_restricted}
    return field(default=default, metadata=metadata | {"units": units or {}})


def seam() -> Any:
    """A field for what needs a disk or a network, which the pipeline hands down where it has one."""
    return field(default=None, metadata={"seam": True}, compare=False)


def seams_of(stage: type[Stage]) -> tuple[str, ...]:
    """The names of the fields that are handed down to a stage."""
    return tuple(one.name for one in fields(stage) if "seam" in one.metadata)  # type: ignore[arg-type]


def settings_of(stage: type[Stage]) -> tuple[Field[Any], ...]:
    """The fields of a stage that a user may set."""
    return tuple(one for one in fields(stage) if "help" in one.metadata)  # type: ignore[arg-type]


OVERFLOW = "overflow"
NOTHING_DONE = "nothing-to-summarize"
"""Finding code: why a stage that was to summarize changed nothing. Users see it although it is no trouble."""
NOT_HANDLED = "not-handled"
"""Finding code: an unforeseen exception ended the work on a transcript, or on a line; it is left out."""
SELF_CHECK = "self-check"
"""Finding code: an edited transcript does not read back as intended; it is left out."""
NOT_EDITABLE = "not-editable"
"""Finding code: the same, and the transcript is malformed, which the finding describes."""
LEFT_OUT = (NOT_HANDLED, SELF_CHECK, NOT_EDITABLE)


def overflow(
    transcript: Transcript, tokens: int, available: int, details: Iterable[str], exactness: Exactness
) -> Finding:
    """The finding that a transcript does not fit; `details` name what could not go, a line each."""
    label = () if exactness == "exact" else (f"Current is {MEANINGS[exactness]}: {MARKS[exactness]}{tokens} tokens",)
    return Finding(
        OVERFLOW,
        "error",
        does_not_fit(tokens, available),
        transcript.line,
        tokens=tokens,
        details=(*label, *details, "Split the input into several transcripts, or raise the budget."),
    )


def describe(transcript: Transcript, message: Message, call: Part | None, tokens: int, exactness: Exactness) -> str:
    """One line that says which message it is (`call`: the one it answers, if any) and what it costs."""
    result = message.result
    tool = None if result is None else result.name or (call.name if call else None)
    what = f"result of {tool}" if tool else message.role
    number = "" if message.index is None else f" {message.index}"
    line = transcript.line_of(message)
    return f"message{number} ({what}){'' if line is None else f', line {line}'}: {MARKS[exactness]}{tokens} tokens"
