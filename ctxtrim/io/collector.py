"""The garbage collector, set for the values that a run makes."""

import gc


def calm_collector() -> None:
    """Look for reference cycles rarely: decoded JSON has none, and the search takes a third of the
    time.
    """
    gc.set_threshold(200_000, 20, 100)
