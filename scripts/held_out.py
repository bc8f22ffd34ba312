"""Checks the constants of `ctxtrim/tokens/vendors` on sources from which they were not chosen.

A source is a repository. Each source of a constant is excluded once. The other sources give the
smallest value of the constant that leaves no `exact` or `bounded` count too low, and the excluded
source is counted with that value.
"""

import statistics
from collections import Counter as Counted
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from textwrap import fill
from typing import Any

from msgspec.structs import fields, replace

from ctxtrim import Transcript
from ctxtrim.metering import Metering
from ctxtrim.tokens.counter import Counter
from ctxtrim.tokens.framing import Framing
from ctxtrim.tokens.models import assumed_model, framing_name
from ctxtrim.tokens.vendors import TABLES

_OF_MESSAGES = {field.name for field in fields(Framing)}


@dataclass(frozen=True)
class Use:
    """A pair to which a constant applies: its source, its recorded and counted tokens, and how
    often the constant applies.
    """

    source: str
    recorded: int
    counted: int
    times: int

    @property
    def slack(self) -> int:
        """How far the constant can be lowered before the count is too low."""
        return (self.counted - self.recorded) // self.times

    def over(self) -> float:
        """The difference between the count and the recorded value, in percent of the recorded
        value.
        """
        return 100 * (self.counted - self.recorded) / self.recorded


def uses(
    rows: Iterable[tuple[dict[str, Any], Transcript | None]], metering: Callable[[str], Metering]
) -> dict[tuple[str, str], list[Use]]:
    """The pairs to which each constant applies, by framing and field.

    Two kinds of pairs are excluded: those labelled neither `exact` nor `bounded`, and those that
    the present constants count too low. The test of the recorded counts lists the latter.
    """
    result: dict[tuple[str, str], list[Use]] = defaultdict(list)
    for row, transcript in rows:
        if transcript is None:
            continue
        counter = metering(row["model"]).meter(transcript).counter
        if counter.exactness(transcript) not in ("exact", "bounded"):
            continue
        counted, source = counter.tokens(transcript), row["source"].split("@")[0]
        if counted < row["recorded"]:
            continue
        name = framing_name(
            assumed_model(row["model"]), counter.tokenizer.exactness, transcript.options.api
        )
        for field, fact in TABLES[name].items():
            if type(fact.value) is int:
                more = Counter(counter.tokenizer, _raised(counter.framing, field))
                if times := more.tokens(transcript) - counted:
                    result[name, field].append(Use(source, row["recorded"], counted, times))
    return result


def _raised(framing: Framing, field: str) -> Framing:
    """A framing with one of its constants raised by a token."""
    if field in _OF_MESSAGES:
        return replace(framing, **{field: getattr(framing, field) + 1})
    return replace(
        framing, request=replace(framing.request, **{field: getattr(framing.request, field) + 1})
    )


@dataclass(frozen=True)
class Check:
    """A constant, its value, and the pairs to which it applies."""

    name: str
    value: int
    pairs: Sequence[Use]

    @property
    def sources(self) -> list[str]:
        """The sources of the pairs, the largest first."""
        numbers = Counted(use.source for use in self.pairs)
        return sorted(numbers, key=lambda source: (-numbers[source], source))

    @property
    def least(self) -> int:
        """The least value that leaves no count too low."""
        return self.value - min(use.slack for use in self.pairs)

    def without(self, source: str) -> int:
        """The least value by the other sources."""
        return self.value - min(use.slack for use in self.pairs if use.source != source)

    def shortfalls(self) -> dict[str, list[int]]:
        """The deficit in tokens of the counts of each source, with the value from the other
        sources.
        """
        deficits = {}
        for source in self.sources if len(self.sources) > 1 else ():
            lower = self.value - self.without(source)
            mine = (use for use in self.pairs if use.source == source)
            missing = (lower * use.times - (use.counted - use.recorded) for use in mine)
            deficits[source] = [tokens for tokens in missing if tokens > 0]
        return deficits

    def margin(self) -> int:
        """The margin of the value above the smallest sufficient value."""
        return self.value - self.least


def checks(result: dict[tuple[str, str], list[Use]]) -> Iterator[Check]:
    """A check for each constant that applies to any pair."""
    for (name, field), group in sorted(result.items()):
        yield Check(f"{name}.{field}", TABLES[name][field].value, group)


def rows(checks: Sequence[Check]) -> Iterator[tuple[str, ...]]:
    """A header and a row for each check.

    `least` is the smallest value for all sources, `without` the smallest for all but one. `low` is
    the number of counts of the excluded source that this value leaves too low, `lowest` the largest
    deficit in tokens. `median %`: the distance of counts above the recorded values.
    """
    yield "constant", "value", "pairs", "sources", "least", "without", "low", "lowest", "median %"
    for check in checks:
        short = check.shortfalls()
        lows = [tokens for missing in short.values() for tokens in missing]
        yield (
            check.name,
            str(check.value),
            str(len(check.pairs)),
            str(len(check.sources)),
            str(check.least),
            str(min(map(check.without, short))) if short else "-",
            str(len(lows)),
            str(-max(lows, default=0)),
            f"{statistics.median(use.over() for use in check.pairs):.1f}",
        )


def summary(checks: Sequence[Check]) -> str:
    """A paragraph on the number of constants that hold on excluded sources."""
    several = [check for check in checks if len(check.sources) > 1]
    alone = [f"`{check.name}` ({check.margin()})" for check in checks if len(check.sources) == 1]
    trials = [missing for check in several for missing in check.shortfalls().values()]
    tokens = [item for missing in trials for item in missing]
    number = sum(len(check.pairs) for check in several)
    held = len(trials) - sum(map(bool, trials))
    return fill(
        "Held-out check (`--by-source`): each repository behind a constant is left out once, and "
        "the smallest value that keeps all `exact` and `bounded` counts of the other repositories "
        f"high enough is applied to it. This covers the {len(several)} constants that several "
        f"repositories support. The value was high enough in {held} of {len(trials)} trials. In "
        f"the other trials, {len(tokens)} of {number:,} counts were too low, by at most "
        f"{max(tokens, default=0)} tokens; the tables contain the value that is high enough for "
        "all. These constants come from one repository each (in parentheses: the tokens by which "
        f"the value in the table exceeds the required minimum): {', '.join(alone) or 'none'}.",
        120,
        break_long_words=False,
        break_on_hyphens=False,
    )
