"""A pool of processes. Each works on one task; a process that dies costs only that task."""

import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from multiprocessing import get_context
from multiprocessing.connection import Connection
from signal import Signals
from typing import Any, Generic, TypeVar

from ctxtrim.io.signals import block_interrupts

T = TypeVar("T")
R = TypeVar("R")


class DeadWorkerError(Exception):
    """The process that worked on a task ended; the message says how."""


class Pool(Generic[T, R]):
    """Up to `size` processes that apply a function to tasks. All of them are pickled.

    This process can `help` them. Each process has a thread here that waits for it. Processes start
    when they are needed, or by `start` ahead of the first task, as new interpreters: a copy of this
    one could hold locks of its other threads.
    """

    def __init__(self, size: int, work: Callable[[T], R]) -> None:
        self._size, self._work = size, work
        self._tasks: deque[tuple[T, Future[R]]] = deque()  # that no process has begun
        self._threads = ThreadPoolExecutor(size, initializer=block_interrupts)
        self._own = threading.local()
        self.workers: list[Worker] = []
        self._lock = threading.Lock()
        self._is_closed = False

    def start(self) -> None:
        """Start all processes, so that they are ready for the first tasks."""
        for _ in range(self._size):
            self._threads.submit(self._worker)

    def submit(self, task: T) -> Future[R]:
        """The future result of a task; it raises `DeadWorkerError` if its process ends."""
        result: Future[R] = Future()
        self._tasks.append((task, result))
        self._threads.submit(self._begin, self._done)
        return result

    def help(self) -> bool:
        """Work here on the first task that no process has begun; False if there is none."""
        return self._begin(self._work)

    def close(self) -> None:
        """End all processes, also those that work."""
        with self._lock:
            self._is_closed = True
            for worker in self.workers:
                worker.end()
        self._threads.shutdown(cancel_futures=True)
        for worker in self.workers:
            worker.cause()  # waits for its end

    def _begin(self, work: Callable[[T], R]) -> bool:
        """Apply a function to the first task that no process has begun; False if there is none."""
        try:
            task, result = self._tasks.popleft()
        except IndexError:
            return False
        if result.set_running_or_notify_cancel():
            try:
                result.set_result(work(task))
            except Exception as error:  # noqa: BLE001 - the reader of the result gets it
                result.set_exception(error)
        return True

    def _done(self, task: T) -> R:
        """The result of a task, from the process of this thread."""
        worker = self._worker()
        try:
            result: R = worker.result(task)
        except (EOFError, OSError):
            self._own.worker = None
            raise DeadWorkerError(worker.cause()) from None
        return result

    def _worker(self) -> "Worker":
        """The process of this thread."""
        return getattr(self._own, "worker", None) or self._new()

    def _new(self) -> "Worker":
        with self._lock:
            if self._is_closed:
                raise DeadWorkerError("the run ended")
            worker = Worker(self._work)
            self.workers.append(worker)
        self._own.worker = worker
        return worker


class Worker:
    """A process, and the connection to it."""

    def __init__(self, work: Callable[[Any], Any]) -> None:
        context = get_context("spawn")
        self._connection, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs, work), daemon=True)
        self._process.start()
        theirs.close()

    def result(self, task: Any) -> Any:
        """The result of a task; an `EOFError` or `OSError` if the process ends."""
        self._connection.send(task)
        return self._connection.recv()

    @property
    def is_alive(self) -> bool:
        """Whether the process runs."""
        return self._process.is_alive()

    def end(self) -> None:
        """End the process."""
        self._process.terminate()

    def cause(self) -> str:
        """How the process ended, in words."""
        self._process.join()
        code = self._process.exitcode or 0
        return f"signal {Signals(-code).name}" if code < 0 else f"exit code {code}"


def _serve(connection: "Connection[Any, Any]", work: Callable[[Any], Any]) -> None:
    """Work on tasks until the other end of the connection is closed."""
    try:
        while True:
            connection.send(work(connection.recv()))
    except (EOFError, OSError):  # the run is over
        return
