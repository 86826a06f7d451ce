"""The guard of a process: it is used again, its timers are disarmed between trials, and pairs stay what they are."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from dpbench.config.compose import compose
from dpbench.engine.execute import todo
from dpbench.engine.guard import Closed, Guard
from dpbench.engine.limits import Limits
from dpbench.engine.plan import make_plan
from dpbench.engine.worker import run_chunk
from dpbench.model.trial import Chunk, TrialRow
from dpbench.storage.store import Store


@pytest.fixture(scope="module")
def chunk(tmp_path_factory: pytest.TempPathFactory) -> Chunk:
    """Trials 0 to 5 of LPA."""
    words: dict[str, Path | int | list[str | int]] = {"results": tmp_path_factory.mktemp("guard"), "trials": 6}
    words |= {"dataset": ["trajectory"], "mechanism": ["lpa"], "epsilon": [1]}
    plan = make_plan(compose("gs/fig9", "smoke", words))
    (only,), _ = todo(plan, Store(plan.run.results).done)
    assert only.trials == (0, 1, 2, 3, 4, 5)
    return only


@pytest.fixture
def guard() -> Iterator[Guard]:
    made = Guard(Limits(timeout=240, memory=2))
    yield made
    made.close()


def numbers(rows: list[TrialRow]) -> list[TrialRow]:
    return [{name: value for name, value in row.items() if name != "seconds"} for row in rows]


def test_one_process_serves_chunks_that_come_late(chunk: Chunk) -> None:
    """The timer of the first chunk's trials must not strike in the pause, nor in the second one. A trial may take longer, and so
    does the pause, where the machine is too busy for it."""
    plain = numbers(run_chunk(chunk).rows)
    for seconds in (4, 30, 240):
        made = Guard(Limits(timeout=seconds, memory=2))
        try:
            before, first = made.run(chunk), made.process
            time.sleep(0 if before.failures else seconds + 1)
            after = made.run(chunk)
            if (before.failures or after.failures) and seconds < 240:
                continue
            assert numbers(before.rows) == numbers(after.rows) == plain
            assert made.process is first is not None
            return
        finally:
            made.close()


def test_a_process_that_ended_in_the_pause_is_started_again(guard: Guard, chunk: Chunk) -> None:
    guard.run(chunk)
    assert guard.process is not None
    os.kill(guard.process.process.pid, signal.SIGKILL)
    assert numbers(guard.run(chunk).rows) == numbers(run_chunk(chunk).rows)


def test_a_partner_that_is_lost_is_not_compared_with(chunk: Chunk) -> None:
    """Trial 3 after trial 2 has failed is stored without its pair; after trial 2 was finished elsewhere, with it."""
    plain = {row["trial"]: row for row in numbers(run_chunk(chunk).rows)}
    (alone,) = numbers(run_chunk(replace(chunk, trials=(3,), lost=(2,))).rows)
    assert alone == plain[3] | {"metric.pair_variance": None, "metric.pair_bias2": None}
    (late,) = numbers(run_chunk(replace(chunk, trials=(3,))).rows)
    assert late == plain[3]
    assert late["metric.pair_variance"] is not None


def test_a_closed_guard_leaves_no_process(guard: Guard, chunk: Chunk) -> None:
    guard.run(chunk)
    assert guard.process is not None
    pid = guard.process.process.pid
    guard.close()
    assert not psutil.pid_exists(pid)
    with pytest.raises(Closed):
        guard.run(chunk)
