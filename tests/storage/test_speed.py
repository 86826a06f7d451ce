"""The floors of the harness: resuming, reading and planning large runs. The better of two times, as machines have other work."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dpbench.config.compose import compose
from dpbench.engine.execute import todo
from dpbench.engine.plan import Plan, make_plan
from dpbench.model.run import Run
from dpbench.storage.store import Store

from support.paths import ROOT
from support.stores import filled

pytestmark = [pytest.mark.slow, pytest.mark.timed]


@pytest.fixture(autouse=True)
def no_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    """The disk is not waited for while the files are made."""
    monkeypatch.setattr(os, "fsync", lambda _: None)


def seconds(work: Callable[[], Any]) -> float:
    times = []
    for _ in range(2):
        began = time.perf_counter()
        work()
        times.append(time.perf_counter() - began)
    return min(times)


def test_100_000_stored_trials_are_resumed_in_5_seconds(tmp_path: Path) -> None:
    run = filled(tmp_path, 5000, repetitions=20)
    plan = Plan(compose("gs/fig9", "smoke", {}), run, {s.dataset.fingerprint: 20 for s in run.settings})
    assert todo(plan, Store(tmp_path).done) == ([], 100_000)
    assert seconds(lambda: todo(plan, Store(tmp_path).done)) < 5
    assert seconds(lambda: Run.load(tmp_path, "gs/fig9")) < 5
    assert seconds(run.remarks) < 5


def test_200_000_trials_are_read_in_20_seconds(tmp_path: Path) -> None:
    run = filled(tmp_path, 500, repetitions=400)
    assert len(run.trials()) == 200_000
    assert seconds(run.trials) < 20


def test_5_000_settings_are_planned_in_10_seconds(tmp_path: Path) -> None:
    """Many variants of a mechanism and few epsilons, and the other way round."""
    for variants, epsilons in ((1000, 5), (50, 100)):
        settings = {
            "dataset": ["trajectory"],
            "mechanism": ["lpa"],
            "mechanism.lpa.bound": [100 + i for i in range(variants)],
            "epsilon": [(i + 1) / 100 for i in range(epsilons)],
            "results": tmp_path,
        }
        config = compose("gs/fig9", "smoke", settings)
        assert len(make_plan(config).run.settings) == 5000
        assert seconds(lambda config=config: make_plan(config).run.save()) < 10


@pytest.mark.parametrize(("variants", "epsilons"), [(10_000, 5), (50, 1000)])
def test_50_000_settings_are_planned_and_saved_in_30_seconds_and_500_megabytes(
    tmp_path: Path, variants: int, epsilons: int
) -> None:
    """Of processor time, in a process of its own; the time of its imports is counted too."""
    code = f"""if True:
        import resource, sys, time
        from pathlib import Path
        from dpbench.config.compose import compose
        from dpbench.engine.plan import make_plan
        words = {{"dataset": ["trajectory"], "mechanism": ["lpa"], "results": Path({str(tmp_path)!r})}}
        words["mechanism.lpa.bound"] = [100 + i for i in range({variants})]
        words["epsilon"] = [(i + 1) / 100 for i in range({epsilons})]
        run = make_plan(compose("gs/fig9", "smoke", words)).run
        run.save()
        print(len(run.settings), time.process_time(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
    """
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, timeout=600)
    settings, spent, memory = map(float, done.stdout.split())
    assert settings == 50_000
    assert spent < 30
    assert memory < 500 * 1024  # in units of 1024 bytes
