"""The pytest plugin: a marker, a fixture, and reports that say where the tokens are.

pytest loads it in every run of an environment with ctxtrim, so it imports nothing of ctxtrim before
a test uses it.
"""

import sys
from collections.abc import Callable, Generator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from ctxtrim.api.verdict import BudgetVerdict

MARKER = "ctxtrim"
_VERDICT = "ctxtrim.api.verdict"


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker."""
    config.addinivalue_line(
        "markers",
        f"{MARKER}(model=..., budget=..., ...): default options of the fixture transcript_fits, "
        "as of ctxtrim.fits.",
    )


@pytest.fixture
def transcript_fits(request: pytest.FixtureRequest) -> "Callable[..., BudgetVerdict]":
    """A function like `ctxtrim.fits`, with the options of the marker `ctxtrim` as defaults.

    Options of the closest marker take precedence. Paths are relative to the root of the tests.
    """
    from ctxtrim.api.verdict import fits

    defaults = _options(request.node)
    root = request.config.rootpath

    def verdict(
        source: str | Path | Sequence[Mapping[str, Any]], **options: Any
    ) -> "BudgetVerdict":
        place = root / source if isinstance(source, str | Path) else source
        return fits(place, **(defaults | options))

    return verdict


def _options(node: pytest.Item) -> dict[str, Any]:
    """The options of the markers of a test. Raises `UsageError` for a value without a name."""
    from ctxtrim.errors import UsageError

    options: dict[str, Any] = {}
    for marker in node.iter_markers(MARKER):  # the closest first
        if marker.args:
            values = ", ".join(map(repr, marker.args))
            raise UsageError(
                f"marker {MARKER}({values}): expected options with names, such as budget=30_000"
            )
        options = {**marker.kwargs, **options}
    return options


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add a section for each verdict that made an assertion fail."""
    report = yield
    if call.excinfo is not None and report.failed and _VERDICT in sys.modules:
        for verdict in _verdicts(call.excinfo):
            report.sections.append(("ctxtrim: where the tokens are", str(verdict)))
    return report


def _verdicts(error: pytest.ExceptionInfo[BaseException]) -> "list[BudgetVerdict]":
    """The false verdicts that a failed assertion shows; none for other errors.

    pytest keeps the values of a failed `assert` in variables of the frame. Other verdicts in the
    frame have nothing to do with the failure.
    """
    if not isinstance(error.value, AssertionError):
        return []
    kind = sys.modules[_VERDICT].BudgetVerdict
    message = str(error.value)
    values = error.traceback[-1].frame.f_locals.values()
    found = {id(value): value for value in values if isinstance(value, kind) and not value}
    return [verdict for verdict in found.values() if repr(verdict) in message]
