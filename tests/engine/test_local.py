"""Chunks on the cores of this machine: small plans start no workers, and outcomes do not pile up when they are stored slowly."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
import threadpoolctl

from dpbench.config.compose import compose
from dpbench.engine import local
from dpbench.engine.execute import todo
from dpbench.engine.plan import make_plan
from dpbench.mechanisms.base import Mechanism
from dpbench.model.setting import Variant
from dpbench.model.trial import Chunk, Outcome
from dpbench.storage.store import Store


@dataclass(frozen=True, kw_only=True)
class Mine(Mechanism):
    """A user's own."""

    inside: Any = None


def chunks(results: Path, **given: Any) -> list[Chunk]:
    words = {"dataset": ["grouping_example"], "mechanism": ["lpa"], "epsilon": [1], "trials": 40, "runner.chunk": 10}
    words |= {"results": results, **given}
    work, _ = todo(make_plan(compose(None, "smoke", words)), Store(results).done)
    return work


def numbers(outcomes: list[Outcome]) -> dict[Any, Any]:
    return {
        row["trial"]: {name: value for name, value in row.items() if name != "seconds"}
        for outcome in outcomes
        for row in outcome.rows
    }


def no_workers(*_: Any) -> Iterator[Outcome]:
    raise AssertionError("workers are started")


def test_a_small_plan_starts_no_workers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It gives the same numbers, and the process gets the threads of BLAS back."""
    work = chunks(tmp_path)
    monkeypatch.setattr(local, "HERE", 0.0)
    in_workers = list(local.outcomes(work, 2))
    monkeypatch.setattr(local, "HERE", 60.0)
    monkeypatch.setattr(local, "_in_workers", no_workers)
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    before = threadpoolctl.threadpool_info()
    here = list(local.outcomes(work, 2))
    assert len(here) == len(in_workers) == 4
    assert numbers(here) == numbers(in_workers)
    assert threadpoolctl.threadpool_info()[: len(before)] == before
    assert os.environ["OMP_NUM_THREADS"] == "3"


def test_what_takes_longer_goes_to_the_workers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each trial is said to take a second: one chunk of ten fits, if there are fifteen seconds."""

    class Clock(local._Clock):
        def end(self) -> None:
            self.seconds = 1.0

    sent: list[Chunk] = []
    now = iter(range(0, 1000, 10))
    monkeypatch.setattr(local, "_Clock", Clock)
    monkeypatch.setattr(local, "HERE", 15.0)
    monkeypatch.setattr(local, "_in_workers", lambda work, _, own: iter(sent.extend(work) or ()))
    monkeypatch.setattr(local.time, "process_time", lambda: next(now))
    outcomes = list(local.outcomes(chunks(tmp_path), 2))
    assert [outcome.chunk.trials[0] for outcome in outcomes] == [0]
    assert [chunk.trials[0] for chunk in sent] == [10, 20, 30]


def test_what_could_end_the_process_is_left_for_the_workers(tmp_path: Path) -> None:
    """A user's class, also inside one of ours, other libraries, and data that could fill the memory."""
    setting = chunks(tmp_path)[0].setting
    assert local.is_harmless(setting)
    theirs = [Mine(), replace(Mine(), inside=3)]
    assert not any(local.is_harmless(replace(setting, mechanism=Variant("x", "x", instance=it))) for it in theirs)
    lpa = setting.mechanism.make(local.MECHANISMS)
    object.__setattr__(lpa, "inside", [Mine()])
    assert not local.is_harmless(replace(setting, mechanism=Variant("x", "x", instance=lpa)))
    for statistics in ({"rows": 10, "ones": 2e6}, {}):
        data = replace(setting.dataset, statistics=statistics)
        assert not local.is_harmless(replace(setting, dataset=data))


def test_a_slow_disk_slows_the_workers_down(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sixty chunks, taken more slowly than they are computed: only a few wait, and every one arrives once."""
    monkeypatch.setattr(local, "MOST_WAITING", 4)
    monkeypatch.setattr(local, "HERE", 0.0)
    work = chunks(tmp_path, **{"trials": 120, "runner.chunk": 2})
    assert len(work) == 60
    waiting: list[dict[tuple[str, int], Chunk]] = []
    whole = local._parallel

    def watched(work: list[Chunk], sent: dict[tuple[str, int], Chunk]) -> Iterator[Outcome]:
        waiting.append(sent)
        yield from whole(work, sent)

    monkeypatch.setattr(local, "_parallel", watched)
    trials, most = [], 0
    for outcome in local.outcomes(work, 2):
        trials += [row["trial"] for row in outcome.rows]
        time.sleep(0.03)
        most = max(most, len(waiting[-1]))
    assert sorted(trials) == list(range(120))
    assert most <= 8, "four per worker, by which both are always busy"


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="only glibc has this setting")
def test_workers_reuse_the_memory_of_large_arrays() -> None:
    """Touching new pages is what costs time: after the first array, equally large ones need almost none."""
    program = """
import resource, sys
import numpy as np
from dpbench.engine.local import keep_memory

if sys.argv[1] == "keep":
    keep_memory()

def faults():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt

np.ones(6_000_000)
before = faults()
for _ in range(20):
    np.ones(6_000_000)
print(faults() - before)
"""
    found = {
        how: int(
            subprocess.run([sys.executable, "-c", program, how], check=True, capture_output=True, text=True).stdout
        )
        for how in ("keep", "return")
    }
    assert found["keep"] < 50 < 200 < found["return"]
