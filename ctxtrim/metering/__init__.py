"""The counter and budget of each transcript, from the options about models and budgets."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from ctxtrim.errors import UsageError
from ctxtrim.findings import Finding
from ctxtrim.model import Transcript
from ctxtrim.model.request import Api
from ctxtrim.text.numbers import Share
from ctxtrim.tokens.counter import Counter
from ctxtrim.tokens.models import (
    UNKNOWN,
    Model,
    assumed_model,
    find_model,
    framing_of,
    nearest_hint,
)
from ctxtrim.tokens.text_counts import keep
from ctxtrim.tokens.tokenizer import Budget, StandIn, Tokenizer

RESERVE = 4096  # tokens reserved for the answer
BOUND = "-bound"
"""The suffix of tokenizers that replace ctok's if it is not installed."""
BOUNDED = Finding(
    "claude-bounded",
    "info",
    "Claude's tokens are an upper bound; on Python 3.12 or newer ctok counts them",
)
USAGE = "usage"
"""The tokenizer that uses recorded usage up to the last answer, and counts later
messages by model.
"""
_BY_MODEL = (None, "auto", USAGE)


class Meter(Struct, frozen=True):
    """The counter and budget of one transcript. `notes` are findings about assumptions."""

    model: str | None
    counter: Counter
    budget: Budget
    notes: tuple[Finding, ...] = ()


@dataclass(frozen=True)
class Metering:
    """The options about models and budgets, in tokens.

    - `tokenizer_of`: makes a tokenizer by its name; `model_of`: the model with a name
    - `limit`: a number, or a share of the window, before the reserve
    - `safety`: the factor by which the budget of estimated counts is divided
    - `calibrates`: recorded usage corrects the counts of each transcript
    - `max_window`: the maximum of an assumed window
    - `default_reserve`: the reserve if none is given and it leaves `least_room` of the window
    - `session_limit`: the limit if neither a limit nor a window is known, or the window is too
      small for `default_reserve`; 0 for none
    - `registrations`: a number that changes when names have other tokenizers

    Facts that depend on the model alone are computed once per model.
    """

    tokenizer_of: Callable[[str], Tokenizer]
    model: str | None = None
    tokenizer: str | None = None
    context_window: int | None = None
    reserve: int | None = None
    limit: int | Share | None = None
    safety: float = 1.0
    calibrates: bool = False
    model_of: Callable[[str | None], Model] = assumed_model
    max_window: int | None = None
    default_reserve: int | None = None
    least_room: int = 1
    session_limit: int | None = None
    registrations: Callable[[], int] = int  # always 0
    _known: dict[tuple[str | None, Api | None, int], Meter] = field(
        default_factory=dict, repr=False, compare=False
    )

    def __post_init__(self) -> None:
        """Check the options, so that contradictions are errors before anything is read."""
        if self.tokenizer not in _BY_MODEL:
            self.tokenizer_of(self.tokenizer)
        if self.model is not None or self.context_window is not None or self.limit is not None:
            self._meter_of(self.model)

    def __getstate__(self) -> dict[str, Any]:
        """The options without what was computed from them."""
        return vars(self) | {"_known": {}}

    def meter(self, transcript: Transcript) -> Meter:
        """The counter and budget of a transcript, for the given model or the recorded one."""
        meter = self._meter_of(self.model or transcript.model, transcript.options.api)
        meter = Meter(meter.model, meter.counter.fresh(), meter.budget, meter.notes)
        if self.calibrates or self.tokenizer == USAGE:
            from ctxtrim.metering.calibration import anchor, calibrate, recorded_answers

            answers = recorded_answers(transcript, partial(_count_alike, meter.model))
            if self.calibrates:
                meter = self._corrected(meter, *calibrate(meter.counter, transcript, answers))
            if self.tokenizer == USAGE:
                meter = self._corrected(meter, *anchor(meter.counter, transcript, answers))
        return meter

    def _corrected(self, meter: Meter, counter: Counter, note: Finding) -> Meter:
        """The corrected counter. If counts become estimates, the safety margin applies."""
        is_estimated = counter.tokenizer.exactness == "estimated"
        budget = meter.budget
        if is_estimated:
            budget = replace(budget, safety=self.safety)
        return replace(meter, counter=counter, budget=budget, notes=(*meter.notes, note))

    def _meter_of(self, name: str | None, api: Api | None = None) -> Meter:
        key = name, api, self.registrations()
        return self._known.get(key) or keep(self._known, key, self._make(name, api))

    def _make(self, name: str | None, api: Api | None) -> Meter:
        model = self.model_of(name)
        chosen = model.tokenizer if self.tokenizer in _BY_MODEL else self.tokenizer
        tokenizer = self.tokenizer_of(chosen)
        framing = framing_of(model, tokenizer.exactness, api)
        is_own = chosen in (
            model.tokenizer,
            f"{model.tokenizer}{BOUND}",
        ) or tokenizer == self.tokenizer_of(model.tokenizer)
        if not (model.is_known and is_own):
            tokenizer = StandIn(tokenizer)
        budget = self._budget(model, self.safety if tokenizer.exactness == "estimated" else 1.0)
        notes = []
        if name is not None and model.is_assumed:
            notes.append(_unknown_model(name, tokenizer.name, budget))
        is_limited = self.context_window is None and not isinstance(self.limit, int)
        if name is not None and model.is_derived and is_limited:
            notes.append(_derived_model(name, model, budget))
        if tokenizer.name.endswith(BOUND) and not chosen.endswith(BOUND):
            notes.append(BOUNDED)
        return Meter(name, Counter(tokenizer, framing), budget, tuple(notes))

    def _budget(self, model: Model, safety: float) -> Budget:
        window = self.context_window or min(
            model.context_window, self.max_window or model.context_window
        )
        reserve = self._reserve(window)
        limit = self.limit.of(window) if isinstance(self.limit, Share) else self.limit
        if limit is not None:
            return Budget(window, reserve, model.max_input, limit, safety, limit)
        if reserve >= window:
            raise UsageError(
                f"a reserve of {reserve:,} tokens leaves no room in a context window of "
                f"{window:,}; use a smaller reserve or a larger context window"
            )
        known_room = self._known_room(model, window, reserve)
        if known_room is None and self.session_limit:
            max_input = model.max_input or self.session_limit
            limit = min(self.session_limit, window - reserve, max_input)
        return Budget(window, reserve, model.max_input, limit, safety, known_room)

    def _reserve(self, window: int) -> int:
        """The reserve. Only one that the user gives may be as large as the window."""
        if self.reserve is not None:
            return self.reserve
        default = self.default_reserve
        if default is not None and window - default >= self.least_room:
            return default
        return RESERVE if window > RESERVE else window // 2

    def _known_room(self, model: Model, window: int, reserve: int) -> int | None:
        """The room for a prompt, None if the window is assumed or the reserve does not fit it."""
        if self.context_window is None and model.is_assumed:
            return None
        if self.reserve is None and self.default_reserve not in (None, reserve):
            return None
        room = window - reserve
        return min(room, model.max_input or room)


def _unknown_model(name: str, tokenizer: str, budget: Budget) -> Finding:
    """The warning that the facts about a model are assumed."""
    return Finding(
        "unknown-model",
        "warning",
        f"model {name} is unknown: counted as {tokenizer}, context window "
        f"{budget.context_window:,} assumed{nearest_hint(name)}; set --context-window and "
        "--tokenizer to correct this",
    )


def _derived_model(name: str, model: Model, budget: Budget) -> Finding:
    """The warning that the limits of a model are those of the known one that begins its name."""
    return Finding(
        "derived-model",
        "warning",
        f"model {name} is unknown: counted and limited as {model.name}, context window "
        f"{budget.context_window:,}; set --context-window to correct this",
    )


def _count_alike(name: str | None, other: str) -> bool:
    """Whether two models are the same, or have the same tokenizer. None is like any model.

    Unknown tokenizers are the same for models of one provider with one framing.
    """
    if name in (None, other):
        return True
    first, second = find_model(name), find_model(other)
    if first is None or second is None or first.tokenizer != second.tokenizer:
        return False
    is_one_family = (first.provider, first.framing) == (second.provider, second.framing)
    return first.tokenizer != UNKNOWN.tokenizer or is_one_family
