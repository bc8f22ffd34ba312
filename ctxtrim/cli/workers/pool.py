"""A pool of processes that work on tasks. A process that dies costs only the task in work."""

import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from multiprocessing import get_context
from multiprocessing.connection import Connection
from queue import SimpleQueue
from signal import Signals
from typing import Any, Generic, TypeVar

from ctxtrim.io.signals import block_interrupts

T = TypeVar("T")
R = TypeVar("R")

_SENT = 2  # tasks at a process: one in work, and one that it can begin at once
_STARTS = 3  # attempts to start a process, which can fail on a machine with much work


class DeadWorkerError(Exception):
    """The process that worked on a task ended; the message says how."""


class _Job(Generic[T, R]):
    """A task and its future result."""

    def __init__(self, task: T, is_small: bool) -> None:
        self.task, self.is_small = task, is_small
        self.result: Future[R] = Future()


class Pool(Generic[T, R]):
    """Up to `size` processes that apply a function to tasks.

    The function, the tasks and the results are pickled.

    This process can `help` them. Each process has a thread here that sends it tasks and waits for
    results. Processes start with the first task, or by `start` ahead of it, as new interpreters: a
    copy of this one could hold locks of its other threads.
    """

    def __init__(self, size: int, work: Callable[[T], R]) -> None:
        self._size, self._work = size, work
        self._jobs: deque[_Job[T, R]] = deque()  # that are at no process
        self._signals: SimpleQueue[None] = SimpleQueue()  # one for each job, and for the end
        self._threads: list[threading.Thread] = []
        self.workers: list[Worker] = []
        self._lock = threading.Lock()
        self._is_closed = False

    def start(self) -> None:
        """Start all processes, so that they are ready for the first tasks."""
        while len(self._threads) < self._size:
            thread = threading.Thread(target=self._share, daemon=True)
            self._threads.append(thread)
            thread.start()

    def submit(self, task: T, *, is_small: bool = True) -> Future[R]:
        """The future result of a task; it raises `DeadWorkerError` if its process ends.

        A small task may be sent to a process that still works on another.
        """
        self.start()
        job: _Job[T, R] = _Job(task, is_small)
        self._jobs.append(job)
        self._signals.put(None)
        return job.result

    def help(self) -> bool:
        """Work here on the first task that is at no process; False if there is none."""
        job = self._next()
        if job is None:
            return False
        try:
            job.result.set_result(self._work(job.task))
        except Exception as error:  # noqa: BLE001 - the reader of the result gets it
            job.result.set_exception(error)
        return True

    def close(self) -> None:
        """End all processes, also those that work."""
        with self._lock:
            self._is_closed = True
            for worker in self.workers:
                worker.end()
        for _ in self._threads:
            self._signals.put(None)
        for thread in self._threads:
            thread.join()
        for worker in self.workers:
            worker.cause()  # waits for its end

    def _share(self) -> None:
        """Let a process work on tasks, and another one after it dies, until the pool is closed."""
        sent: deque[_Job[T, R]] = deque()  # in the order in which the process works on them
        try:
            block_interrupts()
            while True:
                worker = self._started()
                try:
                    for job in sent:
                        worker.send(job.task)
                    while True:
                        self._send_to(worker, sent)
                        result = worker.receive()
                        sent.popleft().result.set_result(result)
                except (EOFError, OSError):
                    error = DeadWorkerError(worker.cause())
                    if sent:
                        sent.popleft().result.set_exception(error)
        except Exception as error:  # noqa: BLE001 - the readers of the results get it
            for job in sent:
                job.result.set_exception(error)

    def _send_to(self, worker: "Worker", sent: deque[_Job[T, R]]) -> None:
        """Send tasks to a process until it has enough; wait for one if it has none."""
        while len(sent) < _SENT:
            job = self._next(only_small=True) if sent else self._wait()
            if job is None:
                return
            sent.append(job)
            worker.send(job.task)

    def _wait(self) -> _Job[T, R]:
        """The first job that is at no process, as soon as there is one."""
        while True:
            self._signals.get()
            if self._is_closed:
                raise DeadWorkerError("the run ended")
            job = self._next()
            if job is not None:
                return job

    def _next(self, *, only_small: bool = False) -> _Job[T, R] | None:
        """The first job that is at no process, if there is one."""
        try:
            while not only_small or self._jobs[0].is_small:
                job = self._jobs.popleft()
                if job.result.set_running_or_notify_cancel():
                    return job
        except IndexError:
            pass
        return None

    def _started(self) -> "Worker":
        """A process that has started and can work on tasks.

        Raises `DeadWorkerError` if `_STARTS` processes ended before they could.
        """
        for _ in range(_STARTS):
            with self._lock:
                if self._is_closed:
                    raise DeadWorkerError("the run ended")
                worker = Worker(self._work)
                self.workers.append(worker)
            if worker.starts():
                return worker
        raise DeadWorkerError(worker.cause())


class Worker:
    """A process, and the connection to it."""

    def __init__(self, work: Callable[[Any], Any]) -> None:
        context = get_context("spawn")
        self._connection, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs, work), daemon=True)
        self._process.start()
        theirs.close()

    def starts(self) -> bool:
        """Whether the process starts; waits until it has."""
        try:
            self._connection.recv()
        except (EOFError, OSError):
            return False
        return True

    def send(self, task: Any) -> None:
        """Let the process work on a task after those before it; an `OSError` if it ended."""
        self._connection.send(task)

    def receive(self) -> Any:
        """The next result, in the order of the tasks; an `EOFError` or `OSError` if it ended."""
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
    tasks: SimpleQueue[tuple[Any] | None] = SimpleQueue()
    threading.Thread(target=_receive, args=(connection, tasks), daemon=True).start()
    try:
        connection.send(None)  # it has started
        while (task := tasks.get()) is not None:
            connection.send(work(*task))
    except OSError:  # the run is over
        return


def _receive(connection: "Connection[Any, Any]", tasks: "SimpleQueue[tuple[Any] | None]") -> None:
    """Receive tasks while the process works, so that the sender never waits for its results; None
    at the end.
    """
    try:
        while True:
            tasks.put((connection.recv(),))
    except (EOFError, OSError):
        tasks.put(None)
