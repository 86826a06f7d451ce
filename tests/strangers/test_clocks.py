"""A clock that jumps: nothing that is decided by times of files or of the clock goes wrong with it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from support.paths import ROOT

JUMPS = """
import itertools, runpy, sys, time
steps = itertools.cycle([0, -9000 * 86400, 3600, -3600, 9000 * 86400])
real, real_ns = time.time, time.time_ns
time.time = lambda: real() + next(steps)
time.time_ns = lambda: real_ns() + next(steps) * 10**9
sys.argv = ["dpbench", *sys.argv[1:]]
runpy.run_module("dpbench", run_name="__main__", alter_sys=True)
"""


def test_a_run_under_a_clock_that_jumps_by_years(tmp_path: Path) -> None:
    """The sources seem to be younger than the process that loaded them: they are not taken for changed."""
    (tmp_path / "mine.py").write_text((ROOT / "tests" / "strangers.py").read_text())
    words = ("run", "scale=smoke", "dataset=[trajectory]", "mechanism=[mine.Noisy]", "epsilon=[1]", "trials=4")
    command = [sys.executable, "-c", JUMPS, *words, "tracking=none", "figure=false", "runner.jobs=1"]
    environment = os.environ | {"PYTHONPATH": str(ROOT), "DPBENCH_CACHE": str(tmp_path / "cache")}
    for told in ("4 trials computed", "0 trials computed, 4 found finished"):
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stderr
        assert told in done.stdout
