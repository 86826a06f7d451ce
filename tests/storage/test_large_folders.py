"""Large results folders: what the verbs make of 200,000 trials, and the memory of a run that stores many.

Processor time, as the machine may have other work.
"""

from __future__ import annotations

import os
import re
import resource
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from dpbench.config.compose import compose
from dpbench.engine.plan import make_plan
from dpbench.storage.store import Store

from support import door
from support.homes import make_home
from support.paths import ROOT

pytestmark = [pytest.mark.slow, pytest.mark.timed]

METRICS = ("mae", "mre", "mse", "l1", "signed")


def fill(results: Path, trials: int, **more: object) -> int:
    """A run with its trials as `run` would store them, but for the numbers. Returns how many there are."""
    config = compose(None, "smoke", {"results": results, "trials": trials, **more})
    plan = make_plan(config)
    plan.run.save()
    store, rng = Store(results), np.random.default_rng(3)
    for setting in plan.run.settings:
        for first in range(0, trials, 20):
            rows = []
            for trial in range(first, min(first + 20, trials)):
                drawn = dict(zip((f"metric.{m}" for m in METRICS), rng.exponential(10.0, len(METRICS)), strict=True))
                pair = {name: float(rng.random()) if trial % 2 else None for name in PAIR}
                rows.append({"trial": trial, "seconds": 0.01, **drawn, "chosen.scale": 3.0, **pair})
            store.write(setting.id, rows, "{}")
    return len(plan.run.settings) * trials


PAIR = ("metric.pair_variance", "metric.pair_bias2")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """200,000 trials: Figure 9 with many budgets, and a run of one's own with many settings of few trials."""
    home = tmp_path_factory.mktemp("many")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda _: None)
        epsilons = [round(0.05 * i, 2) for i in range(1, 21)]
        count = fill(home / "results", 255, experiment="gs/fig9", epsilon=epsilons)
        bounds = [200 + i for i in range(230)]
        more = {"mechanism.lpa.bound": bounds, "epsilon": [(i + 1) / 10 for i in range(8)], "name": "bounds"}
        count += fill(home / "results", 20, dataset=["trajectory"], mechanism=["lpa"], **more)
    assert count == 200_000
    return home


@pytest.mark.parametrize("verb", ["figures", "report", "track"])
def test_a_minute_for_200_000_trials(folder: Path, verb: str) -> None:
    """In a Python of its own, whose processor time the system counts as that of a child."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = door.cold(verb, cwd=folder, timeout=3600)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert done.returncode == 0, done.stderr
    took = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    print(f"{verb}: {took:.1f} s")
    assert took < 60


PARENT = """if True:
    import sys
    from pathlib import Path
    from dpbench.config.compose import compose
    from dpbench.ranking.rounds import execute_one
    from dpbench.engine.plan import make_plan
    trials, results = int(sys.argv[1]), Path(sys.argv[2])
    epsilons = [(i + 1) / 10 for i in range(40)]
    given = {"dataset": ["small"], "mechanism": ["noisy"], "epsilon": epsilons, "trials": trials, "results": results}
    plan = make_plan(compose(None, "smoke", {**given, "runner.jobs": 2}, [Path("mine")]))
    result = execute_one(plan)
    assert result.computed == 40 * trials, result
    print(next(line for line in open("/proc/self/status") if line.startswith("VmHWM")))
"""


def test_the_memory_of_the_parent_does_not_grow_with_the_trials(tmp_path: Path) -> None:
    """1,600 and 64,000 trials of 40 settings. What is planned takes some 30 bytes per trial; their rows would take 1,000."""
    home = make_home(tmp_path)
    peak = {}
    for trials in (40, 1600):
        command = [sys.executable, "-c", PARENT, str(trials), f"results-{trials}"]
        environment = os.environ | {"PYTHONPATH": f"{ROOT}:{home}"}
        done = subprocess.run(command, cwd=home, env=environment, capture_output=True, text=True, timeout=900)
        assert done.returncode == 0, done.stderr
        peak[trials] = int(re.findall(r"\d+", done.stdout)[0]) / 1024
    print(peak)
    assert peak[1600] - peak[40] < 12
