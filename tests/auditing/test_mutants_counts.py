"""Privacy faults planted in the mechanisms for column counts: baselines, grouping and the modern ones. Each must be found."""

from __future__ import annotations

import dataclasses
import itertools
from typing import Any

import numpy as np
import pytest

from dpbench import Counts

from support.faults import Fault, both, cases, method, must_find, patched, some_without, step
from support.planting import altered, less, without

B = {"bound": 3}
GROUPING = "gs.grouping"

# What a fault does in place of the right method. `right` is that method.


def shows(**numbers: Any) -> Any:
    """A release with one more number among the published parameters."""

    def publish_columns(right: Any, self: Any, columns: Any, epsilon: float, noise: Any) -> Counts:
        release = right(self, columns, epsilon, noise)
        more = {name: value(columns, release) for name, value in numbers.items()}
        return dataclasses.replace(release, chosen={**release.chosen, **more})

    return publish_columns


def whole_budget_each(right: Any, self: Any, data: Any, epsilon: float, noise: Any) -> Counts:
    return right(self, data, epsilon if data.edge_columns() is None else 2 * epsilon, noise)


def same_noise(right: Any, self: Any, columns: Any, epsilon: float, noise: Any) -> Counts:
    return Counts(counts=columns.counts + noise.laplace(0.0, scale=self.sensitivity(columns) / epsilon))


def from_stream(right: Any, self: Any, columns: Any, epsilon: float, noise: Any) -> Counts:
    drawn = noise.stream("noise").laplace(0.0, self.sensitivity(columns) / epsilon, columns.columns)
    return Counts(counts=columns.counts + drawn)


def reused(right: Any, self: Any, columns: Any, epsilon: float, noise: Any) -> Counts:
    """The noise of one output on other values."""
    noisy = noise.laplace(columns.counts, scale=self.sensitivity(columns) / epsilon)
    return Counts(counts=noisy, edges=(columns.counts**2 + (noisy - columns.counts))[:, None])


def not_below_the_truth(right: Any, self: Any, columns: Any, epsilon: float, noise: Any) -> Counts:
    return Counts(counts=np.maximum(right(self, columns, epsilon, noise).counts, columns.counts))


def no_noise_on_zeros(right: Any, self: Any, columns: Any, epsilon: float, noise: Any) -> Counts:
    counts, filled = np.zeros(columns.columns), columns.counts > 0
    counts[filled] = noise.laplace(columns.counts[filled], scale=self.sensitivity(columns) / epsilon)
    return Counts(counts=counts)


def once_per_value(right: Any, self: Any, columns: Any, epsilon: float, noise: Any) -> Counts:
    values, place = np.unique(columns.counts, return_inverse=True)
    return Counts(counts=noise.laplace(values, scale=self.sensitivity(columns) / epsilon)[place])


def imaginary_without(kind: str, call: Any, parameters: dict[str, Any]) -> Any:
    values = parameters.pop("values")
    parameters["scale"] = np.where(np.arange(len(values)) < 2, parameters["scale"], 0.0)
    return call(**parameters)


def by_true_counts(right: Any, self: Any, columns: Any, epsilon: float, noise: Any) -> Counts:
    """GS-R, with groups of similar counts."""
    w = min(self.sensitivity(columns), columns.columns)
    return self.smoothed(columns, np.argsort(columns.counts, kind="stable"), w, epsilon, noise)


def gs_with(order: Any = None, tuned: Any = None) -> Any:
    """GS, whose order or whose group size comes from elsewhere."""
    from dpbench.mechanisms.gs import grouping

    def publish_columns(right: Any, self: Any, columns: Any, epsilon: float, noise: Any) -> Counts:
        delta = self.sensitivity(columns)
        t_s, _ = grouping.noisy_sample(columns, self.sampling, delta, epsilon, noise)
        places = np.argsort(t_s) if order is None else order(columns.counts, t_s)
        estimate = np.sort(t_s) * delta if tuned is None else tuned(columns.counts)
        w, _ = self._tune(estimate, self.scale(columns, epsilon, 1), noise.stream("tuning"))
        return self.smoothed(columns, places, w, epsilon, noise)

    return publish_columns


def two_of_each_row(right: Any, indptr: Any, indices: Any, rng: Any) -> np.ndarray:
    return np.repeat(right(indptr, indices, rng), 2)


def most_frequent_of_each_row(right: Any, indptr: Any, indices: Any, rng: Any) -> np.ndarray:
    """The column that the row's others hold most often, too: what is taken of one row follows all rows."""
    counts = np.bincount(indices)
    rows = [indices[a:b] for a, b in itertools.pairwise(indptr) if b > a]
    return np.array([row[np.argmax(counts[row])] for row in rows], dtype=np.int64)


def noise_of_the_average_on_the_sum(right: Any, counts: Any, order: Any, w: int, scale: float, noise: Any) -> Any:
    return right(counts, order, w, scale / w, noise)


def smaller_groups(right: Any, counts: Any, order: Any, w: int, scale: float, noise: Any) -> Any:
    return right(counts, order, max(1, w - 1), scale, noise)


class TwiceSpent:
    """A budget whose `rest` returns all of it."""

    def __init__(self, right: Any, epsilon: float) -> None:
        self.epsilon = epsilon

    def take(self, share: float) -> float:
        return share * self.epsilon

    def rest(self) -> float:
        return self.epsilon


def radius(columns: Any, release: Any) -> float:
    return float(np.abs(release.counts - columns.counts).max(initial=0.0))


def one(right: Any, self: Any, data: Any) -> int:
    return 1


def observed(right: Any, self: Any, data: Any) -> int:
    return max(1, data.largest_row)


def root_for_repeats(right: Any, self: Any, columns: Any) -> float:
    return float(min(self.sensitivity(columns), columns.columns) ** 0.5)


def without_cap(right: Any, self: Any, columns: Any, epsilon: float) -> tuple[float, float]:
    """The elliptic noise of rows of d ones, which leaves nothing for shorter rows."""
    d, sigma = columns.columns, self.unit_sigma(columns, epsilon)
    k = 0.9 * d
    v1, v2 = k / d**0.5, (k * (d - k) / d) ** 0.5
    length = v1 + v2 * (d - 1) ** 0.5
    across = sigma**2 * length * v2 / max(1, d - 1) ** 0.5
    return across**0.5, (max(0.0, sigma**2 * length * v1 - across) / d) ** 0.5


BASELINES = [
    Fault("lpa: scale a twentieth too small", step("lpa", "laplace", less(1.05), **B), "laplace", quick=True),
    Fault("lpa: sensitivity forgotten", method("lpa", B, sensitivity=one), "laplace"),
    Fault("lpa: sensitivity observed, bound declared", method("lpa", B, sensitivity=observed), "scale of laplace"),
    Fault("lpa: all of the budget for items and for edges", method("lpa", B, publish=whole_budget_each), "laplace"),
    Fault("lpa: the same noise in every column", method("lpa", B, publish_columns=same_noise), "published", quick=True),
    Fault("lpa: a stream in place of noise", method("lpa", B, publish_columns=from_stream), "published", quick=True),
    Fault("lpa: noise used twice", method("lpa", B, publish_columns=reused), "published 'edges'"),
    Fault("lpa: never below the true count", method("lpa", B, publish_columns=not_below_the_truth), "published"),
    Fault("lpa: no noise on zeros", method("lpa", B, publish_columns=no_noise_on_zeros), "size of laplace", quick=True),
    Fault("lpa: one noisy number per different count", method("lpa", B, publish_columns=once_per_value), "laplace"),
    Fault("lpa: no noise on one half", step("lpa", "laplace", some_without, **B), "laplace"),
    Fault("lpa: the bound is not enforced", method("lpa", B, unfit=lambda right, self, data: ""), "laplace"),
    Fault("lpa: number of rows published", method("lpa", B, publish_columns=shows(n=lambda c, r: c.rows)), "chosen.n"),
    Fault("alpa: half of the noise", step("alpa", "laplace", less(2.0)), "laplace"),
    Fault(
        "fpa: one coefficient's noise for two",
        patched("fpa", "baselines.fourier:noise_scale", lambda right, rho, *given: right(1, *given), rho=2, **B),
        "laplace",
    ),
    Fault("fpa: no noise on imaginary parts", step("fpa", "laplace", imaginary_without, rho=2, **B), "laplace", True),
    Fault(
        "fpa: L2 sensitivity without repeats", method("fpa", {**B, "rho": 1}, l2_sensitivity=root_for_repeats), "lap"
    ),
    Fault(
        "fpa: dropped energy published",
        method("fpa", {**B, "rho": 1}, publish_columns=shows(dropped=lambda c, r: r.diagnostics["dropped"])),
        "chosen.dropped",
    ),
    Fault("linf: ε a twentieth too large", step("linf", "ball", less(1.05)), "ball"),
    Fault("linf: the radius published", method("linf", publish_columns=shows(radius=radius)), "chosen.radius", True),
    Fault("gaussian: σ a twentieth too small", step("gaussian", "gaussian", less(1.05), **B), "gaussian", quick=True),
    Fault("gaussian: L2 sensitivity of one 1", method("gaussian", B, sensitivity=one), "gaussian"),
    Fault(
        "gaussian: ten times the stated δ",
        patched("gaussian", "baselines.base:analytic_sigma", lambda right, e, delta: right(e, 10 * delta), **B),
        "gaussian",
    ),
    Fault("knorm_counts: ε a twentieth too large", step("knorm_counts", "ball", less(1.05)), "ball", quick=True),
    Fault(
        "knorm_counts: repeats not refused",
        patched("knorm_counts", "baselines.correlated:_repeated", lambda right, columns: ""),
        "ball",
    ),
    Fault("gaussian_correlated: no cap on k", method("gaussian_correlated", deviations=without_cap), "gaussian"),
    Fault(
        "gaussian_correlated: δ not split over items and edges",
        method("gaussian_correlated", {**B, "delta": 0.5}, _of_each=lambda right, self, data: self),
        "gaussian",
    ),
    Fault(
        "gaussian_correlated: only the common noise",
        method("gaussian_correlated", B, deviations=lambda right, self, *given: (0.0, sum(right(self, *given)))),
        "gaussian",
        quick=True,
    ),
]

GROUPED = [
    Fault("gs_r: averages a twentieth too exact", step("gs_r", "averages", less(1.05), **B), "averages"),
    Fault("gs_r: groups of like true counts", method("gs_r", B, publish_columns=by_true_counts), "published", True),
    Fault(
        "gs_r: noise of the average on the sum",
        patched("gs_r", f"{GROUPING}:smooth", noise_of_the_average_on_the_sum, **B),
        "averages",
    ),
    Fault("gs_s: no noise on the sample", step("gs_s", "sample", without, **B), "published", quick=True),
    Fault("gs_s: no noise on half of the sample", step("gs_s", "sample", some_without, **B), "sample"),
    Fault(
        "gs_s: all of the budget for the averages",
        method("gs_s", B, scale=lambda right, self, columns, epsilon, w: right(self, columns, epsilon, w) / 2),
        "averages",
        quick=True,
    ),
    Fault(
        "gs_s: noise of a sample on all data",
        step("gs_s", "sample", less(3.0), sampling="none", **B),
        "sample",
    ),
    Fault(
        "gs_s: rows sampled at 1/Δ",
        patched("gs_s", f"{GROUPING}:row_rate", lambda right, epsilon, delta: 1 / delta, sampling="row", **B),
        "sample",
        quick=True,
    ),
    Fault(
        "gs_s: smaller groups under the same noise", patched("gs_s", f"{GROUPING}:smooth", smaller_groups, **B), "av"
    ),
    Fault(
        "gs: w tuned on the true counts",
        method("gs", B, publish_columns=gs_with(tuned=lambda counts: np.sort(counts) * 1.0)),
        "averages",
        True,
    ),
    Fault(
        "gs: groups of like true counts",
        method("gs", B, publish_columns=gs_with(order=lambda c, t: np.argsort(c, kind="stable"))),
        "published",
    ),
    Fault(
        "gs: ties by the true counts",
        method("gs", B, publish_columns=gs_with(order=lambda c, t: np.lexsort((c, np.round(t / 4))))),
        "published",
    ),
    Fault(
        "gs: two columns of each row under the noise of one",
        patched("gs", f"{GROUPING}:sample_columns", two_of_each_row, **B),
        "sample",
    ),
    Fault(
        "gs: each row's most frequent column",
        patched("gs", f"{GROUPING}:sample_columns", most_frequent_of_each_row, **B),
        "sample",
        quick=True,
    ),
    Fault(
        "gs: size of the sample published",
        method("gs", B, publish_columns=shows(size=lambda c, r: r.diagnostics["sample_size"])),
        "chosen.size",
    ),
    Fault(
        "gs: scaled up by the mean row, undeclared",
        method("gs", B, _factor=lambda right, self, columns, delta: max(1.0, columns.ones / max(1, columns.rows))),
        "published",
    ),
    Fault(
        "gs: all of the budget for items and for edges",
        method("gs", B, publish=whole_budget_each),
        "laplace",
    ),
    Fault(
        "gs_private: total and rows share no budget",
        both(
            step("gs_private", "total", less(1 / 0.9), mean_share=0.5, **B),
            lambda m: altered(m, "rows with ones", less(10)),
        ),
        "laplace",
        quick=True,
    ),
    Fault("gs_private: a total that moves by 1", step("gs_private", "total", less(3.0), mean_share=0.5, **B), "total"),
    Fault(
        "gs_private: the mean row is free",
        patched("gs_private", f"{GROUPING}:Budget", TwiceSpent, mean_share=0.5, **B),
        "laplace",
    ),
    Fault("gs_private: exact number of rows", step("gs_private", "rows with ones", without, **B), "published"),
]


@pytest.mark.parametrize("fault", cases(BASELINES + GROUPED))
def test_faults_of_counts_are_found(fault: Fault, monkeypatch: pytest.MonkeyPatch) -> None:
    must_find(fault, monkeypatch)
