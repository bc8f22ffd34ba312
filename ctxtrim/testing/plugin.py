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
_WINDOW = frozenset({
    "context_window", "contextWindow", "maxContextTokens",
    "reserve", "reservedOutputTokens", "reserveTokens",
})  # fmt: skip
"""The names of the options from which a budget is computed."""


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

    Options of the closest marker take precedence; a context window or a reserve replaces the budget
    of others. Paths are relative to the root of the tests.
    """
    from ctxtrim.api.verdict import fits

    markers = _options(request.node)
    root = request.config.rootpath

    def verdict(
        source: str | Path | Sequence[Mapping[str, Any]], **options: Any
    ) -> "BudgetVerdict":
        place = root / source if isinstance(source, str | Path) else source
        return fits(place, **_merged(options, *markers))

    return verdict


def _options(node: pytest.Item) -> list[Mapping[str, Any]]:
    """The options of the markers of a test, the closest first.

    Raises `UsageError` for a value without a name.
    """
    from ctxtrim.errors import UsageError

    markers = list(node.iter_markers(MARKER))
    for marker in markers:
        if marker.args:
            values = ", ".join(map(repr, marker.args))
            raise UsageError(
                f"marker {MARKER}({values}): expected options with names, such as budget=30_000"
            )
    return [marker.kwargs for marker in markers]


def _merged(*layers: Mapping[str, Any]) -> dict[str, Any]:
    """The options of layers, the closest first: of two names for a setting, the first one wins."""
    options: dict[str, Any] = {}
    for layer in layers:
        has_window = not _WINDOW.isdisjoint(options)
        for key, value in layer.items():
            if not (key == "budget" and has_window):
                options.setdefault(key, value)
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
    verdicts = {id(value): value for value in values if isinstance(value, kind) and not value}
    return [verdict for verdict in verdicts.values() if repr(verdict) in message]
