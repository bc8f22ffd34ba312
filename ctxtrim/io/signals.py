"""Signals that end the program: exceptions, so that temporary files are removed.

They are delayed while a file is replaced.
"""

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sys import UnraisableHookArgs

_TERMINATION = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]


_received: list[int] = []
"""The signals that ended this run. An import or a finalizer may replace or drop their exception."""


class Terminated(KeyboardInterrupt):
    """The program received `signum`, a signal that ends it.

    A kind of `KeyboardInterrupt`, as Ctrl-C raises.
    """

    def __init__(self, signum: int) -> None:
        super().__init__(signum)
        self.signum = signum


@contextmanager
def termination_raises() -> Iterator[None]:
    """Within the block SIGINT, SIGTERM and SIGHUP raise `Terminated`, unless they are ignored.

    `received` has the signal afterwards. Main thread only.
    """

    def terminate(signum: int, frame: FrameType | None) -> None:
        _received.append(signum)
        raise Terminated(signum)

    def ignore_interrupts(problem: "UnraisableHookArgs") -> None:
        if not isinstance(problem.exc_value, KeyboardInterrupt):
            former_hook(problem)

    unhandled = (signal.SIG_DFL, signal.default_int_handler)  # `nohup` ignores SIGHUP: leave it so
    signals = [
        number for number in (signal.SIGINT, *_TERMINATION) if signal.getsignal(number) in unhandled
    ]
    if signals:  # else within another such block
        _received.clear()
    former_hook = sys.unraisablehook
    sys.unraisablehook = ignore_interrupts
    former = {signum: signal.signal(signum, terminate) for signum in signals}
    try:
        yield
    finally:
        for signum, handler in former.items():
            signal.signal(signum, handler)
        sys.unraisablehook = former_hook


def received() -> int | None:
    """The first signal that ended the last block of `termination_raises`; None if there is none."""
    return _received[0] if _received else None


def take_received() -> int | None:
    """The signal of `received`, which does not end later work of this process."""
    signum = received()
    _received.clear()
    return signum


def must_continue() -> None:
    """Raise `Terminated` if a signal that ends the program was received but had no effect."""
    if _received:
        raise Terminated(_received[0])


@contextmanager
def delayed() -> Iterator[None]:
    """Within the block signals that end the program wait until its end.

    In other threads than the main one: nothing.
    """
    waiting: list[tuple[int, FrameType | None]] = []
    former = {}
    try:
        for signum in (signal.SIGINT, *_TERMINATION):
            if signal.getsignal(signum) not in (signal.SIG_IGN, None):
                former[signum] = signal.signal(signum, lambda *received: waiting.append(received))
    except ValueError:  # not in the main thread, where no signal interrupts
        pass
    try:
        yield
    finally:
        for signum, handler in former.items():
            signal.signal(signum, handler)
        for signum, frame in waiting:
            handler = former[signum]
            # A loop of asyncio has noticed the signal already: to raise it again would be a second.
            if callable(handler):
                handler(signum, frame)
            else:
                signal.raise_signal(signum)


def block_interrupts() -> None:
    """Block Ctrl-C in this thread and in processes that it starts: the main thread ends them."""
    if hasattr(signal, "pthread_sigmask"):
        from multiprocessing import resource_tracker  # most runs have one process

        resource_tracker.ensure_running()  # its start would unblock the signal again
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
