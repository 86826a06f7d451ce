"""Chunks on the cores of this machine: their outcomes do not pile up when they are stored slowly."""

from __future__ import annotations

import platform
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from dpbench.config.compose import compose
from dpbench.engine import local
from dpbench.engine.plan import make_plan
from dpbench.engine.runner import todo
from dpbench.engine.worker import Chunk, Outcome
from dpbench.results.store import Store


def test_a_slow_disk_slows_the_workers_down(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sixty chunks, taken more slowly than they are computed: only a few wait, and every one arrives once."""
    monkeypatch.setattr(local, "MOST_WAITING", 4)
    given = {"dataset": ["grouping_example"], "mechanism": ["lpa"], "epsilon": [1], "trials": 120, "runner.chunk": 2}
    work, _ = todo(make_plan(compose(None, "smoke", {**given, "results": tmp_path})), Store(tmp_path))
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
