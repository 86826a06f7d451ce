"""The model of a run on several machines: limits that hold whatever its constants are."""

from __future__ import annotations

import pytest

from dpbench.bench.scaling import Machinery, Work, pool_seconds, shard_seconds

WORK = Work(settings=100, trials=10_000, computing=36_000, data=1e9)
FREE = Machinery(start=0, per_setting=0, per_trial=0, joining=0, chunk=0, bandwidth=float("inf"))


@pytest.mark.parametrize("way", [pool_seconds, shard_seconds])
def test_without_overhead_n_workers_take_an_nth(way: type) -> None:
    for workers in (1, 4, 64):
        assert way(WORK, workers, costs=FREE) == pytest.approx(36_000 / workers)


@pytest.mark.parametrize("way", [pool_seconds, shard_seconds])
def test_workers_beyond_the_cores_compute_no_faster(way: type) -> None:
    assert way(WORK, 4, cores=2) >= way(WORK, 2, cores=2)
    assert way(WORK, 4, cores=2, costs=FREE) == way(WORK, 2, costs=FREE)


def test_the_parent_that_stores_is_the_limit_of_a_pool_but_not_of_shards() -> None:
    storing = Machinery(start=0, per_setting=0, per_trial=0.1, joining=0, chunk=0)
    assert pool_seconds(WORK, 10_000, 100, costs=storing) >= 0.1 * WORK.trials
    assert shard_seconds(WORK, 10_000, costs=storing) < 0.01 * pool_seconds(WORK, 10_000, 100, costs=storing) + 20


def test_more_data_and_more_settings() -> None:
    larger = WORK.larger(data=10, settings=100)
    assert (larger.settings, larger.trials) == (10_000, 1_000_000)
    assert (larger.computing, larger.data) == (36_000 * 1000, 1e10)
    waiting = Machinery(waiting=60)
    assert shard_seconds(WORK, 8, costs=waiting) == pytest.approx(60 + shard_seconds(WORK, 8))
