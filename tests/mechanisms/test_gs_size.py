"""GS and FPA at the size of the paper's largest column count, Checkin's: time and memory. Floors as in the design."""

from __future__ import annotations

import json
import subprocess
import sys
import time

import numpy as np
import pytest

from dpbench.mechanisms.gs._sampling import sample_columns
from dpbench.mechanisms.gs._tuning import tuning_curve, tuning_curve_direct

from support.paths import ROOT

CHECKIN = """
import json, resource, time
import numpy as np
import dpbench

rng = np.random.default_rng(0)
rows, d, ones = 196_591, 5_977_758, 6_442_890
sizes = np.bincount(rng.integers(0, rows, ones), minlength=rows)
data = dpbench.Incidence(np.concatenate([[0], np.cumsum(sizes)]), rng.integers(0, d, ones, dtype=np.int32), d)
mechanisms = {"gs": dpbench.mechanism("gs", bound=2175), "fpa": dpbench.mechanism("fpa", bound=2175)}
small = dpbench.Incidence.from_rows([[0, 1]], columns=5)
found = {"counts": int(data.counts.sum())}
for name, mechanism in mechanisms.items():
    mechanism.release(small, 1.0, rng)  # compiled and imported before the clock starts
    began = time.perf_counter()
    release = mechanism.release(data, 0.69, rng)
    found[name] = time.perf_counter() - began
    assert release.counts.shape == (d,) and np.isfinite(release.counts).all()
found["gigabytes"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
print(json.dumps(found))
"""


def best_of(call, repeat):
    times = []
    for _ in range(repeat):
        began = time.perf_counter()
        call()
        times.append(time.perf_counter() - began)
    return min(times)


@pytest.mark.slow
def test_checkin_fits_one_core_and_two_gigabytes():
    """About 10 s on an idle core; allowed four times that, as other tests may be running."""
    command = [sys.executable, "-c", CHECKIN]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["gs"] < 40
    assert found["fpa"] < 60  # the optimal ρ tries a dozen transforms, once a dataset and epsilon
    assert found["gigabytes"] < 2


@pytest.mark.slow
def test_tuning_is_300_times_the_direct_loop():
    rng = np.random.default_rng(1)
    estimate = np.sort(17000 * rng.laplace(0, 2 / np.log(2), 17770))
    scale = 2 * 17000 / np.log(2)
    tuning_curve(estimate[:5], scale, rng)
    fast = best_of(lambda: tuning_curve(estimate, scale, rng), 7)
    direct = best_of(lambda: tuning_curve_direct(estimate, scale, rng), 1)
    assert direct / fast > 300


@pytest.mark.slow
def test_column_sampling_is_at_most_three_gathers():
    rng = np.random.default_rng(2)
    rows, per_row = 500_000, 100
    indices = rng.integers(0, 17770, rows * per_row, dtype=np.int32)
    indptr = np.arange(0, rows * per_row + 1, per_row)
    places = rng.integers(0, indices.size, rows)
    sample_columns(indptr[:3], indices[: 2 * per_row], rng)
    gather = best_of(lambda: indices[places], 7)
    sample = best_of(lambda: sample_columns(indptr, indices, rng), 7)
    assert sample < 3 * gather
