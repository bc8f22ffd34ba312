"""A process has its next task while it works, and costs only the task in work if it dies."""

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from ctxtrim.cli.workers.pool import DeadWorkerError, Pool


def half(number: int) -> int:
    if number == 13:
        os.kill(os.getpid(), signal.SIGKILL)
    if number == 14:
        os._exit(3)
    return number // 2


def doubled(data: bytes) -> bytes:
    return data * 2


def wait_for(path: Path) -> None:
    until(path.exists)


def until(condition: Callable[[], bool]) -> None:
    """Wait until a condition is true; fail after a minute."""
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.001)


def test_a_dead_process_costs_only_its_task() -> None:
    pool = Pool(2, half)
    try:
        futures = {number: pool.submit(number) for number in (10, 13, 16, 14, 18, 20)}
        with pytest.raises(DeadWorkerError, match="signal SIGKILL"):
            futures[13].result()
        with pytest.raises(DeadWorkerError, match="exit code 3"):
            futures[14].result()
        assert [futures[number].result() for number in (10, 16, 18, 20)] == [5, 8, 9, 10]
    finally:
        pool.close()


def test_a_task_behind_that_of_a_dead_process_is_done() -> None:
    pool = Pool(1, half)
    try:
        first, dead, behind = (pool.submit(number) for number in (10, 13, 16))
        assert first.result() == 5
        with pytest.raises(DeadWorkerError, match="signal SIGKILL"):
            dead.result()
        assert behind.result() == 8
    finally:
        pool.close()


def test_large_tasks_and_results_do_not_wait_for_each_other() -> None:
    pool = Pool(1, doubled)
    try:
        tasks = [bytes([number]) * (4 << 20) for number in range(6)]
        futures = [pool.submit(task) for task in tasks]
        assert [future.result() for future in futures] == [task * 2 for task in tasks]
    finally:
        pool.close()


def test_a_process_has_its_next_task_while_it_works(tmp_path: Path) -> None:
    pool = Pool(1, wait_for)
    try:
        in_work, ahead = (pool.submit(tmp_path / "file") for _ in range(2))
        until(ahead.running)
        assert not in_work.done()
        (tmp_path / "file").touch()
        ahead.result()
    finally:
        pool.close()


def test_a_large_task_is_not_sent_to_a_process_that_works(tmp_path: Path) -> None:
    pool = Pool(1, wait_for)
    try:
        in_work = pool.submit(tmp_path / "file")
        large = pool.submit(tmp_path, is_small=False)
        until(in_work.running)
        assert pool.help()
        assert large.done()
        assert not in_work.done()
    finally:
        pool.close()


def test_a_closed_pool_has_no_process() -> None:
    pool = Pool(1, half)
    assert pool.submit(4).result() == 2
    pool.close()
    assert all(not worker.is_alive for worker in pool.workers)


class _StartsOnce:
    """Work whose process ends while it starts, unless a file exists."""

    def __init__(self, file: Path) -> None:
        self.file = file

    def __call__(self, number: int) -> int:
        return number + 1

    def __setstate__(self, state: dict[str, Path]) -> None:
        vars(self).update(state)
        if not self.file.exists():
            self.file.touch()
            os._exit(9)


class _NeverStarts(_StartsOnce):
    """Work whose process always ends while it starts."""

    def __setstate__(self, state: dict[str, Path]) -> None:
        os._exit(9)


def test_a_process_that_ends_while_it_starts_is_started_again(tmp_path: Path) -> None:
    pool = Pool(1, _StartsOnce(tmp_path / "file"))
    try:
        assert [pool.submit(number).result() for number in (1, 2)] == [2, 3]
        assert len(pool.workers) == 2
    finally:
        pool.close()


def test_without_a_process_that_starts_this_one_does_the_work(tmp_path: Path) -> None:
    pool = Pool(1, _NeverStarts(tmp_path / "file"))
    try:
        future = pool.submit(1)
        until(lambda: len(pool.workers) == 3 and not pool.workers[-1].is_alive)
        assert pool.help()
        assert future.result() == 2
    finally:
        pool.close()
