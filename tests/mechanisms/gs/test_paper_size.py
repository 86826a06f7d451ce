"""GS and FPA at the size of the paper's largest column count, Checkin's: memory. `bench` measures the time."""

from __future__ import annotations

import subprocess
import sys

import pytest

from support.paths import ROOT

CHECKIN = """
import resource
import numpy as np
import dpbench

rng = np.random.default_rng(0)
rows, d, ones = 196_591, 5_977_758, 6_442_890
sizes = np.bincount(rng.integers(0, rows, ones), minlength=rows)
data = dpbench.Incidence(np.concatenate([[0], np.cumsum(sizes)]), rng.integers(0, d, ones, dtype=np.int32), d)
for name in ("gs", "fpa"):
    release = dpbench.mechanism(name, bound=2175).release(data, 0.69, rng)
    assert release.counts.shape == (d,) and np.isfinite(release.counts).all()
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20)
"""


@pytest.mark.slow
def test_checkin_fits_two_gigabytes() -> None:
    command = [sys.executable, "-c", CHECKIN]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=1800)
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) < 2
