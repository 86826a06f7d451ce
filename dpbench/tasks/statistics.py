"""The papers' tables of datasets: statistics of the data itself, independent of the release."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpbench.data import Data, Release
from dpbench.model.metric import Metric
from dpbench.tasks.base import Task


@dataclass(frozen=True, kw_only=True)
class Statistics(Task, name="statistics"):
    """The dataset's row in its paper's table; use a cheap mechanism and one trial."""

    kinds = ("incidence", "records", "contingency", "catalogue")
    metrics = (Metric("*", "a statistic of the data, as its kind names it", noiseless=True),)

    def score(self, data: Data, release: Release, rng: np.random.Generator) -> dict[str, float]:
        return data.memo("statistics", data.statistics)
