"""The machine of a run: its cores, its garbage collector and its threads."""

import gc
import os
import sys

PARALLEL_SIZE = 1 << 25
"""Bytes of input from which more processes save more time than their start takes."""

_OWN_FILES = 32  # open files of the run itself: inputs, outputs, reports, libraries as they load
_PROCESS_FILES = 8  # open files for a further process: its pipes, also while it starts


def cores() -> int:
    """The number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def most_processes() -> int:
    """The number of processes, this one included, for which the limit of open files has room."""
    try:
        import resource  # of Unix
    except ImportError:
        return sys.maxsize
    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if limit == resource.RLIM_INFINITY:
        return sys.maxsize
    return 1 + max(0, limit - _OWN_FILES) // _PROCESS_FILES


def collect_rarely() -> None:
    """Look for reference cycles rarely: conversations have none, and each search looks at all new
    values of a long session.
    """
    gc.set_threshold(5_000_000, 20, 100)


def switch_often() -> None:
    """Let no thread wait long for another: one sends tasks to a process, which must not run out of
    them, while the main thread works.
    """
    sys.setswitchinterval(0.001)


def skip_last_collection() -> None:
    """Look for no reference cycles at the exit, which frees the memory in any case.

    The search takes a seventh of the time of a short command.
    """
    gc.freeze()


def limit_numpy_threads() -> None:
    """Let numpy start no threads, which wait actively for work. gigatoken imports numpy, and
    nothing here computes with it.
    """
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
