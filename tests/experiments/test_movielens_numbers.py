"""SRA, HPA and LPA on the real MovieLens against numbers that were computed independently.

The independent numbers are means of 20 trials at ε = 1; ours have their spread from 20 trials too. A difference of 4.5 standard
errors of it (√2 of our own) and the rounding of what is stated is allowed: a false alarm below 1e-4 for all seven together.
"""

from __future__ import annotations

import numpy as np
import pytest

import dpbench
from dpbench.config import catalogue
from dpbench.config.entries import dataset_of
from dpbench.sources.cache import open_dataset
from dpbench.tasks.base import TASKS

from support.paths import real_data

TRIALS = 20
INDEPENDENT = {
    ("sra", "mse"): (1.474e5, 1e2),
    ("sra", "kl_reverse"): (1.39, 0.01),
    ("sra", "precision_at_100"): (0.674, 0.001),
    ("hpa", "mse"): (1.448e5, 1e2),
    ("hpa", "kl_reverse"): (2.70, 0.01),
    ("hpa", "precision_at_100"): (0.516, 0.001),
    ("lpa", "mse"): (4.30e7, 1e5),
}
MECHANISMS = {"sra": {"l": 30}, "hpa": {"l": 30, "d": 20}, "lpa": {}}


@pytest.fixture(scope="module")
def scores() -> dict[str, list[dict[str, float]]]:
    entry = catalogue.dataset("movielens").from_files(real_data("movielens-1m"))
    data = open_dataset(dataset_of(entry, "paper")).data
    task = TASKS.make("record_analytics", ks=(100,))
    found = {}
    for name, parameters in MECHANISMS.items():
        mechanism, rng = dpbench.mechanism(name, **parameters), np.random.default_rng(17)
        found[name] = [task.score(data, mechanism.release(data, 1.0, rng), rng) for _ in range(TRIALS)]
    return found


@pytest.mark.parametrize(("mechanism", "metric"), INDEPENDENT)
def test_the_independent_number_is_met(scores, mechanism: str, metric: str) -> None:
    values = np.array([score[metric] for score in scores[mechanism]])
    stated, rounding = INDEPENDENT[mechanism, metric]
    spread = values.std(ddof=1) * np.sqrt(2 / TRIALS)
    assert abs(values.mean() - stated) < 4.5 * spread + rounding, (values.mean(), spread)
