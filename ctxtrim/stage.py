"""The contract between stages and the pipeline: settings, outcomes and changes as values."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import Field, field, fields
from functools import cache
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol, TypeVar, runtime_checkable

from msgspec import Struct

from ctxtrim.findings import Finding, Subject
from ctxtrim.model import Message, Transcript
from ctxtrim.tokens import Budget
from ctxtrim.tokens.counter import Counter

if TYPE_CHECKING:
    from ctxtrim.summaries.identity import Identity

T = TypeVar("T")
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


class Stage(Protocol):
    """A frozen dataclass that maps a transcript to an outcome and keeps no state.

    Its first fields are the counter and the budget. The other fields are its settings. Its class
    attributes may declare a `Trait`. From its settings, static methods may say why it changes
    nothing (`idle`), whether it moves results to files (`moves_results`), and whether it needs no
    count if an upper bound fits the budget (`accepts_bounds`).
    """

    def __init__(self, counter: Counter, budget: Budget, **settings: Any) -> None: ...

    def __call__(self, transcript: Transcript) -> Outcome:
        """Run the stage."""
        ...


Trait = Literal["is_verdict", "fits_budget"]
"""A class attribute of a stage, with the value True.

`is_verdict`: the stage reports and edits nothing, so the run continues after its overflow.
`fits_budget`: its result fits the budget, or it reports an overflow.
"""


def declares(stage: type[Stage], trait: Trait) -> bool:
    """Whether a stage declares a trait."""
    return getattr(stage, trait, False)


def idle_reason(stage: type[Stage], settings: Mapping[str, Any]) -> str:
    """Why a stage with these settings changed nothing, as its function `idle` says, or nothing."""
    return _answer(stage, "idle", settings, "")


def moves_results(stage: type[Stage], settings: Mapping[str, Any]) -> bool:
    """Whether a stage with these settings moves results to files."""
    return _answer(stage, "moves_results", settings, False)


def accepts_bounds(stage: type[Stage], settings: Mapping[str, Any]) -> bool:
    """Whether a stage with these settings needs no count if an upper bound fits the budget."""
    return _answer(stage, "accepts_bounds", settings, False)


def _answer(stage: type[Stage], name: str, settings: Mapping[str, Any], otherwise: T) -> T:
    """What a static method of a stage says about its settings; `otherwise` if it has none."""
    method: Callable[[Mapping[str, Any]], T] | None = getattr(stage, name, None)
    return method(settings) if method is not None else otherwise


@runtime_checkable
class Announced(Protocol):
    """A stage whose start and end are reported as events if it has a reason to run."""

    def reason_to_run(self, transcript: Transcript) -> str | None:
        """Why the stage works on the transcript; None if it does not."""
        ...


@runtime_checkable
class FitsBudget(Stage, Protocol):
    """A stage that drops and shortens messages to fit a budget."""

    def exceeds(self, transcript: Transcript) -> bool:
        """Whether a transcript exceeds the budget; else the stage does not edit it."""
        ...

    def first_edit(self, transcript: Transcript) -> int | None:
        """The position of the first message that the stage edits; None if there is none."""
        ...

    def without_reasoning(self, replacements: Mapping[int, Message]) -> "FitsBudget":
        """The stage for a transcript of which some messages lose their reasoning; by position, the
        messages without it.
        """
        ...


DROP, KEEP, SUMMARIES, RULES, REPORT = (
    "What to drop",
    "What to keep",
    "Summaries",
    "Rules",
    "Report",
)
"""The panels of settings in help texts."""

CLOCKS = ("steps", "turns", "none")
CLOCK = "Count ages in steps or turns; none: ignore age."
"""The values and the help text of a setting for the unit of ages."""


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
    metadata = {"help": text, "least": least, "choices": choices, "check": check, "panel": DROP}
    return field(default=default, metadata=metadata | declared)


def run_field() -> Any:
    """A field that the run fills, not the user: a service that needs a disk or a network, or a fact
    about the run. The pipeline passes it if it has one.
    """
    return field(default=None, metadata={"run": True}, compare=False)


@cache
def run_fields_of(stage: type[Stage]) -> tuple[str, ...]:
    """The names of the fields that the pipeline passes to a stage."""
    return tuple(item.name for item in fields(stage) if "run" in item.metadata)  # type: ignore[arg-type]


def settings_of(stage: type[Stage]) -> tuple[Field[Any], ...]:
    """The fields of a stage that users can set."""
    return tuple(item for item in fields(stage) if "help" in item.metadata)  # type: ignore[arg-type]
