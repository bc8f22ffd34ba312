"""The losses of a conversion, as findings."""

from collections.abc import Iterable

from ctxtrim.findings import Code, Finding, Severity
from ctxtrim.model import Message, Transcript
from ctxtrim.text.numbers import most_first, several


class Losses:
    """Collects what a conversion loses and changes.

    `kind` is a noun whose plural ends in s: reports count by it.
    """

    def __init__(self, transcript: Transcript) -> None:
        self._transcript = transcript
        self._findings: list[Finding] = []

    def lose(
        self, kind: str, what: str, message: Message | None = None, severity: Severity = "warning"
    ) -> None:
        """Record a loss; without a message, it concerns the whole transcript."""
        self._add("lost", kind, what, message, severity)

    def change(self, kind: str, what: str, message: Message | None = None) -> None:
        """Record a change that loses nothing, or a repair."""
        self._add("changed", kind, what, message, "info")

    def _add(
        self, code: Code, kind: str, what: str, message: Message | None, severity: Severity
    ) -> None:
        line = None if message is None else self._transcript.line_of(message)
        index = None if message is None else message.index
        self._findings.append(Finding(code, severity, what, line, index, kind=kind))

    @property
    def findings(self) -> tuple[Finding, ...]:
        """The findings in message order; those about the whole transcript come last."""
        return tuple(sorted(self._findings, key=_position))


def _position(finding: Finding) -> tuple[bool, int]:
    return finding.index is None, finding.index or 0


class LossTotals:
    """Numbers of losses and changes by kind."""

    def __init__(self) -> None:
        self._totals: dict[str, dict[str, int]] = {"lost": {}, "changed": {}}

    def add(self, findings: Iterable[Finding]) -> None:
        """Add the losses and changes among some findings."""
        for finding in findings:
            if finding.kind is not None:
                numbers = self._totals[finding.code]
                numbers[finding.kind] = numbers.get(finding.kind, 0) + 1

    @property
    def by_code(self) -> dict[str, dict[str, int]]:
        """The numbers by code (losses first) and kind, the largest first; no empty ones."""
        return {
            code: dict(most_first(numbers)) for code, numbers in self._totals.items() if numbers
        }

    def __str__(self) -> str:
        """The numbers in one line."""
        return "; ".join(
            f"{code}: {', '.join(several(number, kind) for kind, number in numbers.items())}"
            for code, numbers in self.by_code.items()
        )
