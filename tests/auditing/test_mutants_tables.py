"""Privacy faults planted in the mechanisms for histograms, and in those that choose columns. Each must be found."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

from dpbench import Counts, Incidence, Mechanism

from support.faults import Fault, cases, method, must_find, patched, step
from support.planting import less, without

BASE = "tables"


def table_sensitivity(right: Any, data: Any, transform: str) -> Any:
    """Noise for one node of a tree, or one coefficient."""
    return dataclasses.replace(right(data, transform), sensitivity=1)


def noise_on_nonzeros_only(right: Any, self: Any, alpha: float, noise: Any) -> np.ndarray:
    full = np.zeros(self.size)
    full[self.places] = noise.geometric(self.values, alpha=alpha, step="table")
    return full


def no_noise_on_the_last_half(right: Any, self: Any, alpha: float, noise: Any) -> np.ndarray:
    noisy = right(self, alpha, noise)
    late = self.places >= self.size // 2
    noisy[self.size // 2 :] = 0.0
    noisy[self.places[late]] = self.values[late]
    return noisy


def same_noise_in_all_cells(right: Any, self: Any, alpha: float, noise: Any) -> np.ndarray:
    full = np.zeros(self.size)
    full[self.places] = self.values
    return full + noise.geometric([0], alpha=alpha, step="table")


def kept_by_truth(right: Any, table: Any, keep: Any, alpha: float, noise: Any) -> Any:
    """What passes is decided on the true counts."""
    noisy = table.dense(alpha, noise)
    true = np.zeros(table.size)
    true[table.places] = table.values
    kept = np.flatnonzero(keep(true))
    return kept, noisy[kept]


def theta_from_data(right: Any, self: Any, data: Any, epsilon: float, noise: Any) -> Any:
    theta = max(1.0, data.total / max(1, data.nonzeros))
    return right(dataclasses.replace(self, theta=theta), data, epsilon, noise)


def size_from_data(right: Any, self: Any, data: Any, epsilon: float, noise: Any) -> Any:
    return right(dataclasses.replace(self, s=max(1, data.nonzeros)), data, epsilon, noise)


def true_priorities(right: Any, self: Any, data: Any, epsilon: float, noise: Any) -> Any:
    """The entries with the largest |true count| / r."""
    table = self.table(data)
    noisy = table.dense(self.alpha(epsilon, table.sensitivity), noise)
    true = np.zeros(table.size)
    true[table.places] = table.values
    best = np.argsort(-np.abs(true) / (1 - noise.stream("priorities").random(table.size)))[: self.s]
    return self.entries(data, np.sort(best), noisy[np.sort(best)], 1.0)


def true_number_of_entries(right: Any, self: Any, data: Any, epsilon: float, noise: Any) -> Any:
    release = right(self, data, epsilon, noise)
    return dataclasses.replace(release, chosen={**release.chosen, "n": data.nonzeros})


def hashed_by_data(right: Any, self: Any, data: Any, epsilon: float, noise: Any) -> Any:
    """Hash functions that follow the data: where the counts are, they hardly collide."""

    class Seeds:
        def __getattr__(self, name: str) -> Any:
            return getattr(noise, name)

        def stream(self, name: str) -> np.random.Generator:
            return np.random.default_rng(int(data.counts.sum()))

    return right(self, data, epsilon, Seeds())


def one_row_of_buckets(right: Any, self: Any, epsilon: float, sensitivity: float) -> float:
    return right(self, epsilon, sensitivity / self.rows)


def consistent_with_truth(right: Any, self: Any, data: Any, epsilon: float, noise: Any) -> Any:
    """Drops nodes that are empty in truth."""
    release = right(self, data, epsilon, noise)
    kept = np.isin(release.cells, self.table(data).places)
    return dataclasses.replace(
        release, cells=release.cells[kept], weights=release.weights[kept], chosen={"entries": int(kept.sum())}
    )


# Choices of columns.


def with_budget(factor: float) -> Any:
    """Draws as if ε were larger."""
    return lambda right, self, data, epsilon, noise: right(self, data, factor * epsilon, noise)


def with_counts(right: Any, self: Any, data: Any, epsilon: float, noise: Any) -> Any:
    release = right(self, data, epsilon, noise)
    return dataclasses.replace(release, chosen={"largest": float(data.counts.max(initial=0))})


def ranked_by_truth(right: Any, self: Any, data: Any, epsilon: float, noise: Any) -> Any:
    """The chosen columns, put in their true order."""
    release = right(self, data, epsilon, noise)
    return dataclasses.replace(release, top=release.top[np.argsort(-data.counts[release.top], kind="stable")])


def largest_first(right: Any, self: Any, rng: Any) -> np.ndarray:
    """The last of the k without noise: the largest that is left."""
    drawn = right(self, rng)
    left = [column for column in self.order.tolist() if column not in drawn[:-1].tolist()]
    return np.append(drawn[:-1], left[0])


def ties_in_order(right: Any, self: Any, rng: Any) -> np.ndarray:
    """Columns of equal count by their number."""
    counts = dict(zip(self.order.tolist(), self.rising[::-1].tolist(), strict=True))
    drawn = right(self, rng)
    for count in set(counts.values()):
        at = [i for i, column in enumerate(drawn.tolist()) if counts[column] == count]
        same = sorted(column for column, c in counts.items() if c == count)
        drawn[at] = same[: len(at)]
    return drawn


# Classes that draw noise of their own, and are judged by their releases.


class Plain:
    """A user's own Laplace mechanism, with noise for one 1 on rows of three."""

    bound = 3
    scale = 1.0

    def release(self, data: Incidence, epsilon: float, rng: np.random.Generator) -> np.ndarray:
        return data.counts + rng.laplace(0.0, self.scale / epsilon, data.columns)


class OneNoise(Plain):
    """Enough noise, and the same in all columns."""

    def release(self, data: Incidence, epsilon: float, rng: np.random.Generator) -> np.ndarray:
        return data.counts + rng.laplace(0.0, 3 / epsilon)


class OwnRelease(Mechanism):
    """A mechanism derived from ours that bypasses `noise`."""

    def release(self, data: Any, epsilon: float, rng: Any, noise: str = "float") -> Counts:
        return Counts(counts=np.where(data.counts > 0, data.counts + rng.laplace(0.0, 7 / epsilon, data.columns), 0.0))


def tree(fault: Any) -> Any:
    """The hierarchies, with trees where the small tables of an audit would have none."""

    def plant(patch: pytest.MonkeyPatch) -> Any:
        from dpbench.mechanisms.histograms import _tree

        patch.setattr(_tree, "FLAT", 3)
        return fault(patch)

    return plant


def whole_budget_for_each_level(right: Any, values: Any, epsilon: float, noise: Any) -> Any:
    from dpbench.mechanisms.histograms import _tree

    return right(values, epsilon * _tree.shape_for(values.size)[1], noise)


def stability(change: Any) -> Any:
    """Another scale or threshold."""
    at = "histograms._stability:laplace_noise"
    return patched("stability_laplace", at, lambda right, *given: change(*right(*given)))


TABLES = [
    Fault("geometric: α a twentieth too small", step("geometric", "table", less(1.05)), "table", quick=True),
    Fault(
        "geometric: levels of the dyadic tree not counted",
        patched("geometric", f"{BASE}:table_of", table_sensitivity, transform="dyadic"),
        "table",
        quick=True,
    ),
    Fault(
        "geometric: levels of the wavelets not counted",
        patched("geometric", f"{BASE}:table_of", table_sensitivity, transform="haar"),
        "table",
    ),
    Fault(
        "geometric: combinations of levels not counted",
        patched("geometric", f"{BASE}:table_of", table_sensitivity, transform="dyadic_product"),
        "table",
    ),
    Fault("filter: sizes without noise", step("filter", "sizes", without, private_size=0.3), "published", quick=True),
    Fault(
        "priority: noise of one number for two sizes", step("priority", "sizes", less(2.0), private_size=0.6), "sizes"
    ),
    Fault(
        "filter: sizes for nothing",
        method("filter", {"private_size": 0.3}, table_budget=lambda right, self, epsilon: epsilon),
        "table",
    ),
    Fault(
        "geometric: no noise on zeros",
        patched("geometric", f"{BASE}:SparseTable.dense", noise_on_nonzeros_only),
        "table",
    ),
    Fault(
        "geometric: no noise on the last half",
        patched("geometric", f"{BASE}:SparseTable.dense", no_noise_on_the_last_half),
        "published",
    ),
    Fault(
        "geometric: the same noise in all cells",
        patched("geometric", f"{BASE}:SparseTable.dense", same_noise_in_all_cells),
        "published",
    ),
    Fault(
        "filter: no noise on zeros",
        patched("filter", f"{BASE}:SparseTable.dense", noise_on_nonzeros_only, theta=2),
        "table",
    ),
    Fault(
        "filter: passes by the true count",
        patched("filter", "sparse.filters:chosen_of_all", kept_by_truth, theta=2),
        "published",
        quick=True,
    ),
    Fault("filter: θ from the true counts", method("filter", {"theta": 2}, publish=theta_from_data), "published"),
    Fault(
        "filter: empty nodes dropped for consistency",
        method("filter", {"theta": 2, "transform": "dyadic", "consistent": True}, publish=consistent_with_truth),
        "published",
    ),
    Fault(
        "threshold: samples by true counts",
        patched("threshold", "sparse.samples:chosen_of_all", kept_by_truth, tau=3),
        "published",
    ),
    Fault(
        "threshold: number of non-zeros published",
        method("threshold", {"tau": 3}, publish=true_number_of_entries),
        "chosen.n",
    ),
    Fault("priority: by true weights", method("priority", {"s": 2}, publish=true_priorities), "published", quick=True),
    Fault("priority: s from the data", method("priority", {"s": 2}, publish=size_from_data), "published"),
    Fault(
        "filter_priority: passes by the true count",
        patched("filter_priority", "sparse.samples:chosen_of_all", kept_by_truth, s=2, theta=2),
        "published",
    ),
    Fault(
        "sketch: hash functions from the data",
        method("sketch", {"buckets": 4}, publish=hashed_by_data),
        "published",
        quick=True,
    ),
    Fault("sketch: noise of one row for two", method("sketch", {"buckets": 4}, alpha=one_row_of_buckets), "buckets"),
    Fault("sketch: no noise on the buckets", step("sketch", "buckets", without, buckets=4), "published"),
    Fault(
        "synthesizer: half of the prior",
        patched("synthesizer", "sparse._synthesis:prior_for", lambda right, *given: right(*given) / 2),
        "draw",
        quick=True,
    ),
    Fault(
        "synthesizer: the prior of δ = 0.1",
        patched("synthesizer", "sparse._synthesis:prior_for", lambda right, e, delta, *given: right(e, 0.1, *given)),
        "draw",
    ),
    Fault(
        "hb: all of the budget for each level",
        tree(patched("hb", "histograms._tree:noisy_leaves", whole_budget_for_each_level)),
        "level",
    ),
    Fault("hb: scale a twentieth too small", step("hb", "level 0", less(1.05)), "level 0"),
    Fault("dawa: totals of buckets without noise", step("dawa", "level 0", without), "published"),
    Fault(
        "alp: bits flipped half as often",
        patched(
            "alp", "histograms.alp:flip_probability", lambda right, *given: right(*given) / 2, largest=9, buckets=4
        ),
        "draw",
        pairs=20,
    ),
    Fault("alp: the exact maximum", step("alp", "largest", without, buckets=4), "chosen.largest"),
    Fault(
        "dawa: a hundredth of the noise on costs",
        patched("dawa", "histograms._partition:scale_for", lambda right, *given: right(*given) / 100),
        "partition",
    ),
    Fault(
        "gshm: no threshold",
        patched("gshm", "histograms._stability:gaussian_noise", lambda right, *given: (right(*given)[0], 0.0)),
        "nonzeros",
        quick=True,
    ),
    Fault(
        "gshm: noise of one cell for three",
        patched("gshm", "histograms._stability:gaussian_noise", lambda right, e, delta, k: right(e, delta, 1), k=3),
        "nonzeros",
    ),
    Fault("stability_laplace: scale a twentieth too small", stability(lambda b, tau: (b / 1.05, tau)), "nonzeros"),
    Fault("stability_laplace: threshold a fifth too low", stability(lambda b, tau: (b, 0.8 * tau)), "nonzeros"),
    Fault(
        "gaussian_sketch: noise of one row for three",
        method("gaussian_sketch", {"buckets": 4, "rows": 3}, sensitivity=lambda right, self, data: 1.0),
        "buckets",
    ),
    Fault("hb: leaves without noise", tree(step("hb", "level 0", without)), "published", quick=True),
]

CHOICES = [
    Fault(
        "pf_peeling: the largest without randomness",
        patched(
            "pf_peeling", "baselines._topk:Peeling.draw", lambda right, self, rng: self.order[: self.k].copy(), k=2
        ),
        "draw",
        quick=True,
    ),
    Fault(
        "pf_peeling: budget not split over rounds",
        method("pf_peeling", {"k": 2}, publish=with_budget(2.0)),
        "draw",
        quick=True,
    ),
    Fault(
        "pf_peeling: the last round without noise",
        patched("pf_peeling", "baselines._topk:Peeling.draw", largest_first, k=2),
        "draw",
    ),
    Fault("pf_peeling: in their true order", method("pf_peeling", {"k": 2}, publish=ranked_by_truth), "published"),
    Fault("pf_peeling: with the largest count", method("pf_peeling", {"k": 2}, publish=with_counts), "published"),
    Fault("joint_topk: exponent without 1/2", method("joint_topk", {"k": 2}, publish=with_budget(2.0)), "draw"),
    Fault(
        "joint_topk: ties in the order of the columns",
        patched("joint_topk", "baselines._topk:Joint.draw", ties_in_order, k=2),
        "draw",
    ),
    Fault(
        "gumbel_topk: budget not split over rounds",
        method("gumbel_topk", {"k": 3}, publish=with_budget(3.0)),
        "draw",
        quick=True,
    ),
    Fault("gumbel_topk: in their true order", method("gumbel_topk", {"k": 2}, publish=ranked_by_truth), "published"),
]

STRANGERS = [
    Fault("a stranger's class: sensitivity forgotten", lambda patch: Plain(), "", quick=True),
    Fault("a stranger's class: the same noise in all columns", lambda patch: OneNoise(), ""),
    Fault("a release of its own: no noise on zeros", lambda patch: OwnRelease(), ""),
]


@pytest.mark.parametrize("fault", cases(TABLES + CHOICES))
def test_faults_of_tables_and_choices_are_found(fault: Fault, monkeypatch: pytest.MonkeyPatch) -> None:
    must_find(fault, monkeypatch)


@pytest.mark.parametrize("fault", cases(STRANGERS))
def test_faults_that_only_releases_show_are_found(fault: Fault, monkeypatch: pytest.MonkeyPatch) -> None:
    must_find(fault, monkeypatch)
