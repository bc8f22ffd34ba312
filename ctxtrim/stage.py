"""The contract between stages and the pipeline: settings, outcomes and changes as values."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import Field, dataclass, field, fields
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, Protocol

from msgspec import Struct

from ctxtrim.errors import UsageError
from ctxtrim.findings import Finding, Subject
from ctxtrim.model import Message, Transcript
from ctxtrim.tokens.counter import Counter
from ctxtrim.tokens.tokenizer import Budget

if TYPE_CHECKING:
    from ctxtrim.summaries.identity import Identity

Action = Literal[
    "kept", "truncated", "archived", "dropped", "summarized", "inserted", "merged", "stripped",
    "repaired"
]  # fmt: skip


class Change(Struct, frozen=True):
    """The action on one message (its index as read) and the reason.

    `kept` is recorded too, for `--explain`.

    An inserted message has no index. Its `before` is the index of the next message that was read,
    None at the end. `line`: the change concerns this line of the file, counted from 1, not a
    message.
    """

    message: int | None
    action: Action
    reason: str
    before: int | None = None
    line: int | None = None


def change_of(messages: Sequence[Message], position: int, action: Action, reason: str) -> Change:
    """The change for the message at a position, whether it was read or inserted."""
    index = messages[position].index
    if index is not None:
        return Change(index, action, reason)
    following = (message.index for message in messages[position:] if message.index is not None)
    return Change(None, action, reason, next(following, None))


class StoredSummary(Struct, frozen=True):
    """A summary that a stage inserted: its text, its tokens, and the number of messages that it
    covers.

    `indices`: those of these messages that are in the transcript, as far as known, by their index
    as read. A stored summary may meet its messages again.
    """

    text: str
    tokens: int
    messages: int
    indices: frozenset[int] = frozenset()


class Dropped(NamedTuple):
    """The dropped exchange that comes closest to fitting: its first message as read, and its
    minimum tokens.
    """

    message: int | None
    tokens: int


class Outcome(Struct, frozen=True):
    """The result of a stage.

    With an `overflow` finding, the transcript holds the messages that cannot be dropped.

    `smallest_dropped` has more tokens than the budget has room left; None if nothing was dropped.
    `large`: the largest messages, the largest first, if the stage lists them.
    """

    transcript: Transcript
    changes: tuple[Change, ...] = ()
    findings: tuple[Finding, ...] = ()
    summary: StoredSummary | None = None
    smallest_dropped: Dropped | None = None
    large: tuple[Subject, ...] = ()


class Original(Struct, frozen=True):
    """A tool result before a stage replaced it, or before it was moved to a file.

    `index`: the message as read. `id`: the trace id of the result, else its call id, else a hash of
    its text. `text`: the result as the model read it. `action`: the action of the stage.
    """

    index: int
    id: str
    text: str
    tool: str | None
    line: int | None
    action: Action


class Measured(Struct, frozen=True):
    """A change and the tokens of its message before and after.

    `archived` is the name of the stored original.
    """

    change: Change
    tokens_before: int
    tokens_after: int
    archived: str | None = None


class Keeper(Protocol):
    """Stores originals: the seam between the pipeline and an archive."""

    def keep(self, originals: Sequence[Original], stage: str) -> Mapping[int, str]:
        """Store originals and return their names by index.

        An `ArchiveError` means that nothing is replaced.
        """
        ...

    def path_of(self, name: str) -> str:
        """The path of the file for an original, by its SHA-256. The file may not exist yet."""
        ...

    def take(self) -> "StageOriginals":
        """Take back the originals since the last chunk, to keep them again in their turn."""
        ...


StageOriginals = tuple[tuple[tuple[Original, ...], str], ...]
"""Originals that a keeper has stored or must store, with the stages that replaced them."""


class Recalled(NamedTuple):
    """The stored summary of a transcript.

    None if there is none or if `warning` says why it is not used.
    """

    summary: StoredSummary | None
    warning: str | None = None


NOTHING_STORED = Recalled(None)


class Memory(Protocol):
    """Stores summaries between runs: the seam between stages and a summary store."""

    def recall(self, identity: "Identity") -> Recalled:
        """The stored summary of a transcript."""
        ...

    def remember(
        self, identity: "Identity", written: StoredSummary, covered: tuple[str, ...]
    ) -> None:
        """Store a summary for later runs.

        `covered` are the fingerprints of the last messages that it covers.
        """
        ...


@dataclass(frozen=True)
class Stage:
    """A frozen dataclass that maps a transcript to an outcome and keeps no state.

    Subclasses add fields: settings, and what the run passes to the stage.
    """

    is_verdict: ClassVar[bool] = False
    """Whether the stage only reports; a run continues after its overflow."""

    counter: Counter
    budget: Budget

    def __init_subclass__(cls) -> None:
        """Raise a `UsageError` for a field that would hide a method or a constant of `Stage`."""
        for name, value in vars(cls).items():
            if isinstance(value, Field) and hasattr(Stage, name):
                raise UsageError(
                    f"stage class {cls.__name__}: the field {name} hides {name} of "
                    "ctxtrim.Stage; rename the field"
                )

    def __call__(self, transcript: Transcript) -> Outcome:
        """Run the stage."""
        raise NotImplementedError

    @classmethod
    @cache
    def run_fields(cls) -> tuple[str, ...]:
        """The names of the fields that the pipeline passes."""
        return tuple(item.name for item in fields(cls) if "run" in item.metadata)

    @classmethod
    def settings(cls) -> tuple[Field[Any], ...]:
        """The fields that users can set."""
        return tuple(item for item in fields(cls) if "help" in item.metadata)

    @staticmethod
    def idle(settings: Mapping[str, Any]) -> str:
        """Why a stage with these settings changed nothing; empty if it gives no reason."""
        return ""

    @staticmethod
    def unused(settings: Mapping[str, Any]) -> Mapping[str, str]:
        """The fields that have no effect next to these settings, each with the reason."""
        return {}

    @staticmethod
    def moves_results(settings: Mapping[str, Any]) -> bool:
        """Whether a stage with these settings moves results to files."""
        return False

    @staticmethod
    def accepts_bounds(settings: Mapping[str, Any]) -> bool:
        """Whether a stage with these settings needs no count if an upper bound fits the budget."""
        return False

    def reason_to_run(self, transcript: Transcript) -> str | None:
        """Why the stage works on the transcript; None if its start and end are no events."""
        return None


@dataclass(frozen=True)
class FitsBudget(Stage):
    """A stage whose result fits the budget, or reports an overflow."""

    def exceeds(self, transcript: Transcript) -> bool:
        """Whether a transcript exceeds the budget; else the stage does not edit it."""
        return self.counter.tokens(transcript) > self.budget.available

    def first_edit(self, transcript: Transcript) -> int | None:
        """The position of the first message that the stage edits; None if there is none."""
        raise NotImplementedError

    def without_reasoning(self, replacements: Mapping[int, Message]) -> "FitsBudget":
        """The stage for a transcript of which some messages lose their reasoning; by position, the
        messages without it.
        """
        raise NotImplementedError


CHANGE, KEEP, SUMMARIES, RULES, REPORT = (
    "What to change",
    "What to keep",
    "Summaries",
    "Rules",
    "Report",
)
"""The panels of settings in help texts."""


def setting(
    default: Any,
    text: str,
    least: int | None = None,
    choices: tuple[str, ...] | None = None,
    check: Callable[[str], object] | None = None,
    **declared: Any,
) -> Any:
    """A field that users can set: its default, its help text and its valid values.

    `least` is the minimum of a number; `choices` are all valid words. `check` raises a `ValueError`
    with the reason for an invalid text. A default of None is a number that is not set; a default of
    `()` is a list of texts, which may be given one at a time. `declared` are further fields of
    `config.option.Option`, such as `panel`, `units` or `is_restricted`.
    """
    metadata = {"help": text, "least": least, "choices": choices, "check": check, "panel": CHANGE}
    return field(default=default, metadata=metadata | declared)


def run_field() -> Any:
    """A field that the run fills, not the user: a service that needs a disk or a network, or a fact
    about the run. The pipeline passes it if it has one.
    """
    return field(default=None, metadata={"run": True}, compare=False)
