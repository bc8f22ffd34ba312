"""The rules of `check` for transcripts that fit: no warning with `--strict`, and no growth above a
baseline.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from ctxtrim.config.option import Values
from ctxtrim.io.inputs import Input
from ctxtrim.reports.report import Report

if TYPE_CHECKING:
    from ctxtrim.reports.baseline import Baseline

_OF_BASELINES = ("baseline", "update_baseline", "tolerance")


class Gate(Struct, frozen=True):
    """The rules of a run.

    `is_strict`: warnings are errors. `baseline`: the tokens of an earlier run, from `file`.
    """

    is_strict: bool = False
    baseline: "Baseline | None" = None
    file: Path | None = None

    def add_to(self, report: Report) -> None:
        """Let the rules judge the rows of a report."""
        if self.baseline is not None:
            report.judges += (self.baseline.judge,)
        if self.is_strict:
            from ctxtrim.reports.strictness import strict_finding, strict_row

            report.judges += (strict_row,)
            report.on_note = strict_finding

    def finish(self, report: Report, sources: Sequence[Input]) -> None:
        """Note what the baseline does not have, and update it."""
        if self.baseline is not None and self.file is not None:
            from ctxtrim.cli.baselines import finish_baseline

            finish_baseline(self.baseline, self.file, sources, report)


def gate_of(values: Values) -> Gate:
    """The rules that the options name."""
    baseline = None
    if any(values[name] for name in _OF_BASELINES):
        from ctxtrim.cli.baselines import open_baseline

        baseline = open_baseline(values)
    file = Path(values["baseline"]) if values["baseline"] else None
    return Gate(values["strict"], baseline, file)
