"""What the facts of two summaries share: a message may be summarized twice."""

from collections import Counter
from collections.abc import Sequence

from ctxtrim.summaries.sections import (
    CHANGED,
    EARLIER,
    READ,
    SECTIONS,
    Facts,
    counted,
    parse_counted,
)
from ctxtrim.text.numbers import most_first


def without(earlier: Facts, again: Facts) -> Facts:
    """The facts of a summary without the counts of messages that are summarized again. Their lines
    stay: equal lines are merged.
    """
    lines, left_out = dict(earlier.lines), dict(earlier.left_out)
    for section in SECTIONS:
        name = section.name
        old, new = lines.get(name, ()), again.lines.get(name, ())
        if section.merge == "sum":
            lines[name] = _difference(old, new)
        hidden = set(map(section.key, new)).difference(map(section.key, old))
        left_out[name] = max(0, left_out.get(name, 0) - len(hidden))
    return Facts(max(0, earlier.messages - again.messages), lines, left_out)


def has_counts_of(facts: Facts, other: Facts) -> bool:
    """Whether facts have at least the counts of others."""
    return not any(
        _difference(other.lines.get(section.name, ()), facts.lines.get(section.name, ()))
        for section in SECTIONS
        if section.merge == "sum"
    )


def has_lines_of(facts: Facts, other: Facts) -> bool:
    """Whether facts have all lines of others, apart from counts, quotes of earlier summaries and
    lines that these facts replace.
    """
    for section in SECTIONS:
        if section.merge == "sum" or section is EARLIER:
            continue
        if section.merge == "newest" and facts.lines.get(section.name):
            continue
        keys = set(map(section.key, facts.lines.get(section.name, ())))
        if section is READ:  # a file that was changed later is no longer listed as read
            keys.update(facts.lines.get(CHANGED.name, ()))
        if not keys.issuperset(map(section.key, other.lines.get(section.name, ()))):
            return False
    return True


def _difference(lines: Sequence[str], again: Sequence[str]) -> tuple[str, ...]:
    """Counts without those that are counted again; names without a rest are left out."""
    totals: Counter[str] = Counter()
    for line in lines:
        totals.update(parse_counted(line))
    for line in again:
        totals.subtract(parse_counted(line))
    return tuple(counted(name, count) for name, count in most_first(totals) if count > 0)
