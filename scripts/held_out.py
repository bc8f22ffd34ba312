"""Whether the constants of `ctxtrim/tokens/vendors` hold on sources that they were not chosen from.

A source is a repository. The sources of a constant are dealt into two halves. From one half comes the least value of
the constant that leaves no `exact` or `bounded` count of the half too low; the other half is counted with that value.
"""

import statistics
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from ctxtrim.binding import Binding
from ctxtrim.counter import Counter
from ctxtrim.framing import Framing
from ctxtrim.model import Transcript
from ctxtrim.models import assumed_model, framing_of
from ctxtrim.tokens.vendors import TABLES

FEW = 8  # a constant with fewer pairs than this is not checked

_OF_MESSAGES = {field.name for field in fields(Framing)}


@dataclass(frozen=True)
class Use:
    """One pair that pays a constant: its source, its tokens as recorded and as counted, and how often it pays."""

    source: str
    recorded: int
    counted: int
    times: int

    @property
    def slack(self) -> int:
        """How far the constant can be lowered before the count is too low."""
        return (self.counted - self.recorded) // self.times

    def over(self) -> float:
        """How far the count is above the recorded one, in percent."""
        return 100 * (self.counted - self.recorded) / self.recorded


def uses(
    rows: Iterable[tuple[dict[str, Any], Transcript | None]], binding: Callable[[str], Binding]
) -> dict[tuple[str, str], list[Use]]:
    """The pairs that pay each constant, by framing and field.

    Pairs labelled neither `exact` nor `bounded` are left out, and those that are too low with the constants as they
    are: the test of the recorded counts lists them.
    """
    found: dict[tuple[str, str], list[Use]] = defaultdict(list)
    for row, transcript in rows:
        if transcript is None:
            continue
        counter = binding(row["model"]).bind(transcript).counter
        if counter.exactness(transcript) not in ("exact", "bounded"):
            continue
        counted, source = counter.tokens(transcript), row["source"].split("@")[0]
        if counted < row["recorded"]:
            continue
        name, _ = framing_of(assumed_model(row["model"]), counter.tokenizer.exactness, transcript.options.api)
        for field, fact in TABLES[name].items():
            if type(fact.value) is int:
                more = Counter(counter.tokenizer, _raised(counter.framing, field))
                if times := more.tokens(transcript) - counted:
                    found[name, field].append(Use(source, row["recorded"], counted, times))
    return found


def _raised(framing: Framing, field: str) -> Framing:
    """A framing with one of its constants raised by a token."""
    if field in _OF_MESSAGES:
        return replace(framing, **{field: getattr(framing, field) + 1})
    return replace(framing, request=replace(framing.request, **{field: getattr(framing.request, field) + 1}))


def halves(found: Sequence[Use]) -> tuple[list[Use], list[Use]]:
    """The pairs of every other source, from the largest source to the smallest, and the pairs of the rest."""
    by_source: dict[str, list[Use]] = defaultdict(list)
    for use in found:
        by_source[use.source].append(use)
    ordered = [by_source[source] for source in sorted(by_source, key=lambda source: (-len(by_source[source]), source))]
    first = [use for group in ordered[::2] for use in group]
    return first, [use for group in ordered[1::2] for use in group]


def rows(found: dict[tuple[str, str], list[Use]]) -> Iterator[tuple[str, ...]]:
    """A head and a row for each constant: its value, the least values by half, and what the other half says of them."""
    yield "constant", "value", "pairs", "sources", "least", "other", "low", "low other", "median %", "other %"
    for (name, field), group in sorted(found.items()):
        value = TABLES[name][field].value
        first, second = halves(group)
        if len(group) < FEW or not second:
            if len(group) >= FEW:
                least = value - min(use.slack for use in group)
                yield f"{name}.{field}", str(value), str(len(group)), "1", str(least), *"-----"
            continue
        slacks = [min(use.slack for use in half) for half in (first, second)]
        yield (
            f"{name}.{field}",
            str(value),
            str(len(group)),
            str(len({use.source for use in group})),
            *(str(value - slack) for slack in slacks),
            str(sum(use.slack < slacks[1] for use in first)),
            str(sum(use.slack < slacks[0] for use in second)),
            *(f"{statistics.median(use.over() for use in half):.1f}" for half in (first, second)),
        )
