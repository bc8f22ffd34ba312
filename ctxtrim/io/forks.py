"""Forked processes: they inherit locks that no thread will release."""

import os
from collections.abc import Callable


def call_when_forked(function: Callable[[], object]) -> None:
    """Call a function in every process that is forked from this one, before anything else."""
    if hasattr(os, "register_at_fork"):  # not on Windows
        os.register_at_fork(after_in_child=function)
