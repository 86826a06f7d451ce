"""Utility numbers in memory, for tests of what compares them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from dpbench.gate.baselines import CellNumbers, ExperimentNumbers
from dpbench.model.metric import Metric


def declared(task: str, metric: str) -> Metric:
    direction = {"mae": -1, "mse": -1, "noise": -1, "precision": 1}.get(metric, 0)
    better = {-1: "lower", 1: "higher", 0: "neither"}[direction]
    return Metric(metric, "", better, noiseless=metric in ("noise", "rows"))


def suite(
    seed: int, cells: int = 20, trials: int = 6, factor: float = 1.0, noise: float = 0.1
) -> dict[str, ExperimentNumbers]:
    rng = np.random.default_rng(seed)
    found = {}
    for i in range(cells):
        mae = factor * rng.gamma(1 / noise**2, noise**2, trials)
        values = {
            "mae": list(mae),
            "precision": list(rng.binomial(10, 0.7, trials) / 10),
            "signed": list(rng.normal(0, 1, trials)),
        }
        found[f"k{i}"] = CellNumbers({"dataset": f"d{i}", "mechanism": "lpa", "epsilon": 1, "task": "t"}, "t", values)
    return {"x/fig": ExperimentNumbers("x/fig", found, trials=trials)}


def moved(
    change: Callable[[list[float]], list[float]], metric: str = "mae", cells: int = 20
) -> dict[str, ExperimentNumbers]:
    """The suite of seed 0 with one metric changed in its first cells."""
    body = suite(0)["x/fig"]
    changed = dict(body.cells)
    for key in list(changed)[:cells]:
        values = dict(changed[key].values)
        changed[key] = replace(changed[key], values=values | {metric: change(values[metric])})
    return {"x/fig": replace(body, cells=changed)}


def one_trial(**values: float) -> dict[str, ExperimentNumbers]:
    labels = {"dataset": "d", "mechanism": "m", "epsilon": 1, "task": "t"}
    return {
        "x/table": ExperimentNumbers("x/table", {"k": CellNumbers(labels, "t", {n: [v] for n, v in values.items()})})
    }
