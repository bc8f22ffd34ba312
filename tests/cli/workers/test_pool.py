"""A process that dies costs only its task."""

import os
import signal

import pytest

from ctxtrim.cli.workers.pool import DeadWorkerError, Pool


def half(number: int) -> int:
    if number == 13:
        os.kill(os.getpid(), signal.SIGKILL)
    if number == 14:
        os._exit(3)
    return number // 2


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


def test_a_closed_pool_has_no_process() -> None:
    pool = Pool(1, half)
    assert pool.submit(4).result() == 2
    pool.close()
    assert all(not worker.is_alive for worker in pool.workers)
