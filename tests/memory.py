"""Measures the memory that Python objects take."""

import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass


@dataclass
class Memory:
    """The most bytes that the objects of a block took at one time, after its end."""

    peak: int = 0


@contextmanager
def measured() -> Iterator[Memory]:
    """Measure the objects that are made in a block. Tests after one that fails are not slowed."""
    memory = Memory()
    tracemalloc.start()
    try:
        yield memory
        memory.peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
