"""Category aggregates of one user: the errors of epicrec, Section 4.3."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpbench.data import Catalogue, History
from dpbench.model.metric import Metric
from dpbench.tasks._expected import expected_errors, last_step_of
from dpbench.tasks.base import Task, once


@dataclass(frozen=True, kw_only=True)
class CategoryAggregates(Task, name="category_aggregates"):
    """How far the published category aggregates of a user are from the true ones, and how much of the history is left."""

    kinds = ("catalogue",)
    metrics = (
        Metric("mae", "mean absolute error over the categories", "lower"),
        Metric("rmse", "root of the mean squared error over the categories", "lower"),
        Metric("mse", "mean squared error over the categories", "lower"),
        Metric("jaccard", "items in both histories over items in either, where a history is published"),
        Metric("items", "items of the catalogue", noiseless=True),
    )

    def score(self, data: Catalogue, release: History, rng: np.random.Generator) -> dict[str, float]:
        error = once(self.errors, data, release)
        mse = float(np.dot(error, error)) / error.size
        scores = {"mae": float(np.abs(error).mean()), "rmse": mse**0.5, "mse": mse}
        if release.history is not None:
            true = data.history(release.user)
            both = np.intersect1d(true, release.history, assume_unique=True).size
            scores["jaccard"] = both / max(1, true.size + release.history.size - both)
        return scores | {"items": float(data.items)}

    def expected(self, data: Catalogue, release: History, rng: np.random.Generator) -> dict[str, float]:
        truth = data.aggregates[release.user]
        errors = expected_errors(data, last_step_of(release), truth, key=release.user)
        return {} if errors is None else {"mae": errors.absolute / truth.size, "mse": errors.squared / truth.size}

    def errors(self, data: Catalogue, release: History) -> np.ndarray:
        return release.aggregates - data.aggregates[release.user]


@dataclass(frozen=True, kw_only=True)
class CategoryNoise(Task, name="category_noise"):
    """The noise magnitude of each category, independent of the draw: the running example of epicrec, Figure 4."""

    kinds = ("catalogue",)
    metrics = (
        Metric("noise", "mean over the categories of the noise magnitude z", "lower", noiseless=True),
        Metric("noise_*", "noise magnitude of a category, numbered from 1", noiseless=True),
    )

    def score(self, data: Catalogue, release: History, rng: np.random.Generator) -> dict[str, float]:
        if release.z is None:
            raise TypeError("the release does not state the noise of each category: its field z is missing")
        z = release.z
        return {"noise": float(z.mean()), **{f"noise_{j}": float(value) for j, value in enumerate(z, 1)}}
