"""From what the user asked for to the counter and the budget of each transcript."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial

from ctxtrim.calibration import anchored, calibrated, recorded
from ctxtrim.errors import UsageError
from ctxtrim.model import Api, Transcript
from ctxtrim.stage import Finding
from ctxtrim.tokens import Budget, StandIn, Tokenizer
from ctxtrim.tokens.counter import Counter, keep
from ctxtrim.tokens.models import Model, assumed_model, find_model, framing_of, nearest_models

RESERVE = 4096  # tokens kept free for the answer
BOUND = "-bound"
"""How the names of the tokenizers end that stand in for those of ctok where it is not installed."""
BOUNDED = Finding(
    "claude-bounded",
    "info",
    "Claude's tokens are bounded here, never too few; on Python 3.12 or newer ctok counts them",
)
USAGE = "usage"
"""The tokenizer that takes what was recorded up to the last answer, and counts what follows by model."""
_BY_MODEL = (None, "auto", USAGE)


@dataclass(frozen=True)
class Bound:
    """What one transcript is measured with; `notes` say what had to be assumed."""

    model: str | None
    counter: Counter
    budget: Budget
    notes: tuple[Finding, ...] = ()


@dataclass(frozen=True)
class Binding:
    """The options about models and budgets; all in tokens. `tokenizer_of` makes tokenizers by name.

    `model_of` says what a model's name means.
    `most`: no window is taken to be larger than this, unless one is given; `spare`: the reserve where none is given;
    `session`: the limit where neither that nor a window is known, 0 for none.
    `calibrates`: counts learn from the usage that each transcript recorded. What depends on the model alone is made
    once a model.
    """

    tokenizer_of: Callable[[str], Tokenizer]
    model: str | None = None
    tokenizer: str | None = None
    context_window: int | None = None
    reserve: int | None = None
    limit: int | None = None
    safety: float = 1.0
    calibrates: bool = False
    model_of: Callable[[str | None], Model] = assumed_model
    most: int | None = None
    spare: int | None = None
    session: int | None = None
    _known: dict[tuple[str | None, Api | None], Bound] = field(default_factory=dict, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Contradictions are known before anything is read."""
        if self.tokenizer not in _BY_MODEL:
            self.tokenizer_of(self.tokenizer)
        if self.model is not None or self.context_window is not None or self.limit is not None:
            self._bind(self.model)

    def bind(self, transcript: Transcript) -> Bound:
        """The counter and budget for a transcript: of the model asked for, else of the one that it records."""
        bound = self._bind(self.model or transcript.model, transcript.options.api)
        bound = replace(bound, counter=bound.counter.fresh())
        if self.calibrates or self.tokenizer == USAGE:
            known = recorded(transcript, partial(_count_alike, bound.model))
            if self.calibrates:
                bound = self._taught(bound, *calibrated(bound.counter, transcript, known))
            if self.tokenizer == USAGE:
                bound = self._taught(bound, *anchored(bound.counter, transcript, known))
        return bound

    def _taught(self, bound: Bound, counter: Counter, note: Finding) -> Bound:
        """What a transcript is measured with from now on; what has become an estimate is made as safe as any other."""
        is_estimated = counter.tokenizer.exactness == "estimated"
        budget = replace(bound.budget, safety=self.safety) if is_estimated else bound.budget
        return replace(bound, counter=counter, budget=budget, notes=(*bound.notes, note))

    def _bind(self, name: str | None, api: Api | None = None) -> Bound:
        return self._known.get((name, api)) or keep(self._known, (name, api), self._make(name, api))

    def _make(self, name: str | None, api: Api | None) -> Bound:
        model = self.model_of(name)
        chosen = self.tokenizer if self.tokenizer not in _BY_MODEL else model.tokenizer
        tokenizer = self.tokenizer_of(chosen or model.tokenizer)
        _, framing = framing_of(model, tokenizer.exactness, api)
        is_own = chosen in (model.tokenizer, f"{model.tokenizer}{BOUND}") or tokenizer == self.tokenizer_of(
            model.tokenizer
        )
        if not (model.is_known and is_own):
            tokenizer = StandIn(tokenizer)
        budget = self._budget(model, self.safety if tokenizer.exactness == "estimated" else 1.0)
        is_strange = name is not None and not model.is_known and not model.source
        notes = [self._unknown(name or "", tokenizer.name, budget)] if is_strange else []
        if tokenizer.name.endswith(BOUND) and not (chosen or "").endswith(BOUND):
            notes.append(BOUNDED)
        return Bound(name, Counter(tokenizer, framing), budget, tuple(notes))

    def _budget(self, model: Model, safety: float) -> Budget:
        window = self.context_window or min(model.context_window, self.most or model.context_window)
        asked = self.spare if self.reserve is None else self.reserve
        reserve = asked if self.reserve is not None or (asked is not None and asked < window) else None
        if reserve is None:
            reserve = RESERVE if window > RESERVE else window // 2
        if reserve >= window and self.limit is None:
            raise UsageError(
                f"a reserve of {reserve} tokens leaves nothing of a context window of {window}; "
                "give a smaller --reserve or a larger --context-window"
            )
        max_input = model.max_input
        is_known = self.context_window is not None or model.is_known or bool(model.source)
        left = window - (reserve if asked is None else asked)
        known = min(left, max_input or left) if is_known and left > 0 else None
        limit = self.limit
        if limit is None and known is None and self.session:
            limit = min(self.session, window - reserve, max_input or self.session)
        return Budget(window, reserve, max_input, limit, safety, known if self.limit is None else self.limit)

    def _unknown(self, name: str, tokenizer: str, budget: Budget) -> Finding:
        nearest = ", ".join(nearest_models(name))
        return Finding(
            "unknown-model",
            "warning",
            f"model {name} is not known: counted as {tokenizer}, context window {budget.context_window} assumed"
            + (f" (nearest names: {nearest})" if nearest else "")
            + "; --context-window and --tokenizer say better",
        )


def _count_alike(name: str | None, other: str) -> bool:
    """Whether two models are one, or both are known to have the same tokenizer. No name is like any."""
    if name in (None, other):
        return True
    first, second = find_model(name), find_model(other)
    return first is not None and second is not None and first.tokenizer == second.tokenizer
