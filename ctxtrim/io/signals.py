"""Signals that end the program: exceptions, so that temporary files are removed.

They are delayed while a file is replaced.
"""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_TERMINATION = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]


class Terminated(KeyboardInterrupt):
    """The program received `signum`, a signal that ends it.

    A kind of `KeyboardInterrupt`, as Ctrl-C raises.
    """

    def __init__(self, signum: int) -> None:
        super().__init__(signum)
        self.signum = signum


@contextmanager
def termination_raises() -> Iterator[None]:
    """Within the block SIGTERM and SIGHUP raise `Terminated`, unless they are ignored.

    Main thread only.
    """

    def terminate(signum: int, frame: FrameType | None) -> None:
        raise Terminated(signum)

    former = {
        signum: signal.signal(signum, terminate)
        for signum in _TERMINATION
        if signal.getsignal(signum) is signal.SIG_DFL  # `nohup` ignores SIGHUP: leave it so
    }
    try:
        yield
    finally:
        for signum, handler in former.items():
            signal.signal(signum, handler)


@contextmanager
def delayed() -> Iterator[None]:
    """Within the block signals that end the program wait until its end.

    In other threads than the main one: nothing.
    """
    waiting: list[int] = []
    former = {}
    try:
        for signum in (signal.SIGINT, *_TERMINATION):
            if signal.getsignal(signum) not in (signal.SIG_IGN, None):
                former[signum] = signal.signal(signum, lambda signum, frame: waiting.append(signum))
    except ValueError:  # not in the main thread, where no signal interrupts
        pass
    try:
        yield
    finally:
        for signum, handler in former.items():
            signal.signal(signum, handler)
        for signum in waiting:
            signal.raise_signal(signum)


def block_interrupts() -> None:
    """Block Ctrl-C in this thread and in processes that it starts: the main thread ends them."""
    if hasattr(signal, "pthread_sigmask"):
        from multiprocessing import resource_tracker  # most runs have one process

        resource_tracker.ensure_running()  # its start would unblock the signal again
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
