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


@dataclass(frozen=True)
class Check:
    """One constant, its value, the pairs of both halves that pay it, and the least value that suffices for each half.

    `others` holds no pair and `least` one value where all pairs come from one source.
    """

    name: str
    value: int
    pairs: Sequence[Use]
    others: Sequence[Use]
    least: tuple[int, ...]

    @property
    def sources(self) -> int:
        """From how many sources the pairs come."""
        return len({use.source for use in (*self.pairs, *self.others)})

    def shortfalls(self) -> tuple[list[int], list[int]]:
        """How many tokens the counts of each half are too low by, with the value that the other half needs."""
        first, second = (
            [
                missing
                for use in half
                if (missing := (self.value - least) * use.times - (use.counted - use.recorded)) > 0
            ]
            for half, least in zip((self.pairs, self.others), reversed(self.least), strict=True)
        )
        return first, second


def checks(found: dict[tuple[str, str], list[Use]]) -> Iterator[Check]:
    """A check for each constant that enough pairs pay."""
    for (name, field), group in sorted(found.items()):
        if len(group) >= FEW:
            value = TABLES[name][field].value
            first, second = halves(group)
            least = tuple(value - min(use.slack for use in half) for half in (first, second) if half)
            yield Check(f"{name}.{field}", value, first, second, least)


def rows(found: Sequence[Check]) -> Iterator[tuple[str, ...]]:
    """A head and a row for each check: the least values by half, and the counts that they leave too low in the other.

    `median %` is how far the counts of the halves are above the recorded ones.
    """
    yield "constant", "value", "pairs", "sources", "least", "other", "low", "low other", "median %", "other %"
    for check in found:
        number = len(check.pairs) + len(check.others)
        cells = [check.name, str(check.value), str(number), str(check.sources), *map(str, check.least)]
        if check.others:
            cells += [str(len(low)) for low in check.shortfalls()]
            cells += [f"{statistics.median(use.over() for use in half):.1f}" for half in (check.pairs, check.others)]
        yield tuple(cells)


def summary(found: Sequence[Check]) -> str:
    """A paragraph on how many constants hold on the half of the sources that they were not chosen from."""
    both = [check for check in found if check.others]
    alone = ", ".join(f"`{check.name}`" for check in found if not check.others)
    lows = [low for check in both for low in check.shortfalls()]
    tokens = [missing for low in lows for missing in low]
    held = sum(not low for low in lows)
    number = sum(len(check.pairs) + len(check.others) for check in both)
    return (
        "Held-out check (`--by-source`): the repositories behind each constant are dealt into two halves. The least\n"
        "value that leaves no `exact` or `bounded` count of one half too low was tried on the other half, for the\n"
        f"{len(both)} constants with {FEW} pairs or more from several repositories. It held in {held} of {len(lows)}"
        f" trials; in the rest\n{len(tokens)} of {number:,} counts were too low, by {max(tokens, default=0)} tokens at"
        " most. The tables have the larger of both values or\n"
        f"more, so that they hold on both. Pairs of one repository alone are behind {alone or 'none'}."
    )
