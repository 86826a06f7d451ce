"""A crowded machine: other containers in the same folder, files that change under a running command, very many settings."""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from support.hostile import filled
from support.paths import ROOT

Call = Callable[..., subprocess.CompletedProcess[str]]
NAME = "from pathlib import Path; from dpbench.storage.files import temporary; print(temporary(Path('.')).name)"
RUN = ("run", "scale=smoke", "tracking=none", "figure=false", "runner.jobs=1")

OVERWRITES = '''
from dataclasses import dataclass
import glob, os
import numpy as np
from dpbench import Bounded, Counts

@dataclass(frozen=True, kw_only=True)
class Vandal(Bounded):
    """Publishes the exact counts, and overwrites the cached data in place after its fourth trial."""
    def publish_columns(self, columns, epsilon, noise):
        total = np.array(columns.counts, dtype=float)
        with open("calls", "a") as file:
            file.write("x")
        if os.path.getsize("calls") == 4:
            for path in glob.glob(os.environ["DPBENCH_CACHE"] + "/data/*/indices.npy"):
                with open(path, "r+b") as file:
                    file.seek(-800, 2)
                    file.write(bytes(800))
        return Counts(counts=total)
'''


def test_temporaries_of_another_container_are_left_alone(dpbench: Call, tmp_path: Path) -> None:
    """Its processes have other numbers: one that seems dead here may be writing there."""
    if (
        shutil.which("unshare") is None
        or subprocess.run(["unshare", "-p", "-f", "true"], capture_output=True).returncode
    ):
        pytest.skip("namespaces are not allowed here")
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    made = {}
    for where, before in {"there": ["unshare", "-p", "-f"], "here": []}.items():
        command = [*before, sys.executable, "-c", NAME]
        made[where] = subprocess.run(command, env=environment, capture_output=True, text=True).stdout.strip()
    runs = filled(tmp_path / "results", 1).path.parent
    young = runs / f"{made['here']}0"
    for path in (runs / made["there"], runs / made["here"], young):
        path.write_text("half")
        if path != young:
            os.utime(path, (time.time() - 3600,) * 2)
    done = dpbench(*RUN, "dataset=[trajectory]", "mechanism=[lpa]", "trials=2", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert {path.name for path in runs.glob(".tmp-*")} == {made["there"], young.name}


def test_data_overwritten_under_a_run_is_seen(tmp_path: Path) -> None:
    """A memory map shows the new bytes at once. They are noticed with the next chunk, and the data is built again."""
    (tmp_path / "vandal.py").write_text(OVERWRITES)
    environment = os.environ | {"PYTHONPATH": str(ROOT), "DPBENCH_CACHE": str(tmp_path / "cache")}
    words = (*RUN, "dataset=[trajectory]", "mechanism=[vandal.Vandal]", "epsilon=[1]", "trials=12", "runner.chunk=4")
    command = [sys.executable, "-m", "dpbench", *words]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    from dpbench.model.run import Run

    (run,) = Run.all(tmp_path / "results").values()
    errors = run.trials()["metric.mae"]
    assert len(errors) == 12
    assert (errors == 0).all(), "the exact counts of the data of this run"
    built = [path for path in (tmp_path / "cache" / "data").iterdir() if path.name.startswith(".damaged")]
    assert len(built) == 1


@pytest.mark.slow
def test_fifty_thousand_settings_are_planned_in_little_memory(tmp_path: Path) -> None:
    """In 500 MB; the time is measured by `bench`. What is shown of them is cut."""
    epsilons = ",".join(f"{0.0001 * (number + 1):.4f}" for number in range(10_000))
    words = ("run", "scale=smoke", "dataset=[trajectory]", "mechanism=[lpa,fpa,gs,alpa,zero]", "dry=true", "trials=2")
    peak = "import atexit, resource, runpy, sys; atexit.register(lambda: print(resource.getrusage(0).ru_maxrss))\n"
    peak += "sys.argv = ['dpbench', *sys.argv[1:]]; runpy.run_module('dpbench', run_name='__main__', alter_sys=True)"
    done = subprocess.run(
        [sys.executable, "-P", "-c", peak, *words, f"epsilon=[{epsilons}]"],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert "and 48000 more settings" in done.stdout
    assert "50000 settings, 100000 trials" in done.stdout
    assert int(done.stdout.split()[-1]) < max(500_000, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)


TOGETHER = '''
from dataclasses import dataclass
import os, pathlib, time
from dpbench import Incidence, Source

@dataclass(frozen=True, kw_only=True)
class Together(Source):
    """Is built when two processes are building it."""
    def build(self, rng):
        pathlib.Path(f"building-{os.getpid()}").touch()
        while len(list(pathlib.Path().glob("building-*"))) < 2:
            time.sleep(0.01)
        return Incidence.from_rows([rng.choice(9, 3, replace=False) for _ in range(40)], columns=9)
'''


def test_two_parts_of_a_run_build_its_data_at_the_same_time(tmp_path: Path) -> None:
    """As in every job array that begins with an empty cache: none of them fails, and they store one dataset."""
    (tmp_path / "both.py").write_text(TOGETHER)
    folder = tmp_path / "conf" / "dataset"
    folder.mkdir(parents=True)
    (folder / "both.yaml").write_text("both: {kind: incidence, source: generator, generator: both.Together}\n")
    environment = os.environ | {"PYTHONPATH": str(ROOT), "DPBENCH_CACHE": str(tmp_path / "cache")}
    words = (*RUN, "dataset=[both]", "mechanism=[lpa]", "epsilon=[1]", "trials=8")
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    started = [
        subprocess.Popen(
            [sys.executable, "-m", "dpbench", *words, f"runner.shard={part}/2"],
            cwd=tmp_path,
            env=environment,
            text=True,
            **pipes,  # type: ignore[arg-type]
        )
        for part in (1, 2)
    ]
    told = [process.communicate(timeout=300) for process in started]
    assert [process.returncode for process in started] == [0, 0], told
    from dpbench.model.run import Run

    (run,) = Run.all(tmp_path / "results").values()
    assert sorted(run.trials()["trial"]) == [*range(8)]
    assert len([path for path in (tmp_path / "cache" / "data").iterdir() if not path.name.startswith(".")]) == 1


SLOW_IMPORT = """
import runpy, sys
from dpbench.storage import mlflow_client, tracking
load, tracking.PATIENCE = mlflow_client.load, -1.0
def slow():  # the time is over before it is imported, and a minute is left afterwards
    load()
    tracking.PATIENCE = 60.0
mlflow_client.load = slow
sys.argv = ["dpbench", *sys.argv[1:]]
runpy.run_module("dpbench", run_name="__main__", alter_sys=True)
"""


def test_the_clock_of_mlflow_starts_when_it_is_imported(tmp_path: Path) -> None:
    filled(tmp_path / "results", 1, name="mine")
    done = subprocess.run(
        [sys.executable, "-P", "-c", SLOW_IMPORT, "track"],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert "mine: 1 settings logged" in done.stdout, done.stderr
