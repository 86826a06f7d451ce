"""Privacy faults planted in mechanisms that limit or sample rows, and in those for one user's items. Each must be found."""

from __future__ import annotations

import dataclasses
import itertools
from typing import Any

import numpy as np
import pytest

from dpbench.numerics.rows import weighed_counts

from support.faults import Fault, as_monotone, cases, method, must_find, patched, step
from support.planting import less, without

B = {"bound": 3}
SAMPLES = "analytics._samples"
SAMPLING = "analytics.sampling"
HPA = {"d": 1, "l": 2, "popularity_share": 0.4}


def shown(*names: str) -> Any:
    """Diagnostics among the published parameters."""

    def publish(right: Any, self: Any, data: Any, epsilon: float, noise: Any) -> Any:
        release = right(self, data, epsilon, noise)
        more = {name: release.diagnostics[name] for name in names}
        return dataclasses.replace(release, chosen={**release.chosen, **more})

    return publish


# SRA and HPA.


def unlimited(right: Any, indptr: Any, *given: Any) -> np.ndarray:
    """All records of all users."""
    return np.arange(indptr[-1])


def budget_for_both(right: Any, data: Any, sample: Any, most: int, budgets: Any, noise: Any) -> Any:
    whole = dataclasses.replace(budgets, epsilon_1=budgets.alone, epsilon_2=budgets.alone)
    return right(data, sample, most, whole, noise)


def noise_for_one_record(right: Any, data: Any, sample: Any, most: int, *given: Any) -> Any:
    return right(data, sample, 1, *given)


def noise_of_items_on_edges(right: Any, data: Any, sample: Any, most: int, budgets: Any, noise: Any) -> Any:
    """One noisy number for each item, and the same noise in all of its contexts."""
    release = right(data, sample, most, budgets, noise)
    if release.edges is None:
        return release
    items, edges = data.item_columns(), data.edge_columns().records
    q1 = np.bincount(items.indices[sample], minlength=items.columns)
    q2 = np.zeros((items.columns, edges.n_contexts))
    np.add.at(q2, (edges.items[sample], edges.contexts[sample]), 1)
    return dataclasses.replace(release, edges=q2 + (release.counts - q1)[:, None])


def by_true_popularity(right: Any, self: Any, data: Any, epsilon: float, noise: Any) -> Any:
    """SRA that keeps each user's most frequent items."""
    from dpbench.mechanisms.analytics import _samples, sampling

    items = data.item_columns()
    scores = np.bincount(items.indices, minlength=items.columns)
    sample = _samples.greedy_sample(data.indptr, items.indices, scores, int(self.l), noise.stream("ties"))
    budgets = sampling._budgets(sampling.Budget(epsilon), self.item_share, self.per_query)
    return sampling._publish_sample(data, sample, self.l, budgets, noise)


def ties_by_truth(right: Any, indptr: Any, items: Any, scores: Any, most: int, rng: Any) -> np.ndarray:
    """Records of equal noisy popularity by the true one."""
    true = np.bincount(items, minlength=scores.size)
    return right(indptr, items, np.lexsort((true, scores)).argsort().astype(float), most, rng)


def smallest_user(right: Any, self: Any, data: Any) -> int:
    sizes = data.item_columns().row_sizes
    return max(1, int(sizes.min())) if sizes.size else 1


# Sensitivity control and clipping.


def all_counts(right: Any, self: Any, columns: Any, *given: Any) -> np.ndarray:
    return columns.counts.astype(float)


def one_too_many(right: Any, self: Any, columns: Any, theta: int, *given: Any) -> np.ndarray:
    return right(self, columns, theta + 1, *given)


def not_split(right: Any, self: Any, epsilon: float) -> tuple[float, float]:
    return epsilon, epsilon


def sum_for_mean(right: Any, self: Any, data: Any, epsilon: float) -> np.ndarray:
    """Quality as the sum over columns, with the sensitivity of the mean."""
    costs = np.arange(1, self.sensitivity(data) + 1) / self.split(epsilon)[1]
    return (right(self, data, epsilon) + costs) * data.columns - costs


def keeps_the_frequent(right: Any, indptr: Any, indices: Any, counts: Any, theta: int, rng: Any) -> np.ndarray:
    """Of a row that is too large, the columns that most rows hold."""
    out = np.zeros(counts.size)
    for a, b in itertools.pairwise(indptr):
        row = indices[a:b]
        out[row[np.argsort(-counts[row], kind="stable")[:theta]]] += 1
    return out


def observed(right: Any, self: Any, data: Any) -> int:
    return max(1, data.largest_row)


def whole_sizes(right: Any, self: Any, columns: Any) -> np.ndarray:
    return columns.row_sizes


def clipped_one_late(right: Any, self: Any, columns: Any, m: int, *form: str) -> np.ndarray:
    weights = self.weights(self.sizes(columns), m + 1)
    return weighed_counts(columns.indptr, columns.indices, columns.counts, weights)


# One user's items.


def own_items_first(right: Any, self: Any, data: Any, epsilon: float, noise: Any) -> Any:
    release = right(self, data, epsilon, noise)
    own = data.history(release.user)
    history = np.sort(np.concatenate([own, np.setdiff1d(release.history, own)])[: release.history.size])
    return dataclasses.replace(release, history=history, aggregates=data.aggregate(history))


def true_aggregates(right: Any, self: Any, data: Any, epsilon: float, noise: Any) -> Any:
    release = right(self, data, epsilon, noise)
    return dataclasses.replace(release, aggregates=data.aggregates[release.user])


def within_own_number(right: Any, self: Any, data: Any, epsilon: float, noise: Any) -> Any:
    """No more items than the user has."""
    release = right(self, data, epsilon, noise)
    return dataclasses.replace(release, history=release.history[: data.history(release.user).size])


def calibrated_to_own(right: Any, self: Any, data: Any, epsilon: float, noise: Any) -> Any:
    """Noise for the items that the user has."""
    user = self.pick(data, noise)
    widths = np.diff(data.item_ptr)[data.history(user)]
    scale = np.full(data.categories, max(1, int(widths.max(initial=1))) / epsilon)
    return dataclasses.replace(
        right(self, data, epsilon, noise), aggregates=noise.laplace(data.aggregates[user], scale=scale, step="own")
    )


def spends_more(right: Any, self: Any, data: Any, epsilon: float, noise: Any) -> Any:
    return right(self, data, max(epsilon, self.choose(data)), noise)


RECORDS = [
    Fault("sra: edges a twentieth too exact", step("sra", "edges", less(1.05), l=2), "edges"),
    Fault(
        "sra: without its limit l", patched("sra", f"{SAMPLES}:random_sample", unlimited, l=2), "laplace", quick=True
    ),
    Fault("sra: budget not split", patched("sra", f"{SAMPLING}:_publish_sample", budget_for_both, l=2), "laplace"),
    Fault(
        "sra: noise for one record", patched("sra", f"{SAMPLING}:_publish_sample", noise_for_one_record, l=3), "laplace"
    ),
    Fault(
        "sra: the noise of items on all their edges",
        patched("sra", f"{SAMPLING}:_publish_sample", noise_of_items_on_edges, l=2),
        "published 'edges'",
        quick=True,
    ),
    Fault(
        "sra: the most frequent items by true counts", method("sra", {"l": 1}, publish=by_true_popularity), "laplace"
    ),
    Fault("sra: size of the sample published", method("sra", {"l": 2}, publish=shown("sample")), "chosen.sample"),
    Fault("hpa: no noise on the popularity", step("hpa", "popularity", without, **HPA), "laplace", quick=True),
    Fault(
        "hpa: popularity noise for one record", step("hpa", "popularity", less(3.0), **{**HPA, "d": 3}), "popularity"
    ),
    Fault("hpa: without its limit l", patched("hpa", f"{SAMPLES}:greedy_sample", unlimited, **HPA), "laplace"),
    Fault("hpa: ties by true popularity", patched("hpa", f"{SAMPLES}:greedy_sample", ties_by_truth, **HPA), "laplace"),
    Fault("hpa: d of the smallest user, undeclared", method("hpa", HPA, records_taken=smallest_user), "popularity"),
    Fault(
        "hpa_popularity: without its limit d",
        patched("hpa_popularity", f"{SAMPLES}:random_sample", unlimited, d=1, popularity_share=0.9),
        "popularity",
        quick=True,
    ),
]

LIMITED = [
    Fault("dpsense: choice of θ a twentieth too sure", step("dpsense", "choose", less(1.05), bound=60), "choose"),
    Fault(
        "dpsense: the best θ without randomness",
        step("dpsense", "choose", without, **B),
        "scale of laplace",
        quick=True,
    ),
    Fault("dpsense: θ is not applied", method("dpsense", B, limited=all_counts), "laplace"),
    Fault(
        "dpsense: rows cut to θ + 1", method("dpsense", {**B, "theta": 2}, limited=one_too_many), "laplace", quick=True
    ),
    Fault("dpsense: budget not split", method("dpsense", B, split=not_split), "laplace"),
    Fault("dpsense: quality not divided by d", method("dpsense", B, quality=sum_for_mean), "choose"),
    Fault("dpsense: candidates up to the largest row", method("dpsense", B, sensitivity=observed), "choose"),
    Fault("dpsense: the best θ published", method("dpsense", B, publish=shown("best_theta")), "chosen.best_theta"),
    Fault(
        "dpsense: keeps each row's most frequent columns",
        patched("dpsense", "sensitivity._control:sampled_counts", keeps_the_frequent, theta=1, limit="sample"),
        "laplace",
        quick=True,
    ),
    Fault("dpsense_s: exponent without 1/2", step("dpsense_s", "choose", as_monotone, bound=60, alphas=2), "choose"),
    Fault(
        "dpsense_s: α left out of the sensitivity",
        method(
            "dpsense_s",
            {"bound": 2, "alphas": 4, "alpha_max": 4.0, "tight": True},
            quality_sensitivity=lambda right, self, data: right(self, data) / 3,
        ),
        "choose",
        quick=True,
    ),
    Fault("dpsense_s: two thirds of the noise", step("dpsense_s", "laplace", less(1.5), alphas=2, **B), "laplace"),
    Fault("clipped_laplace: rows are not clipped", method("clipped_laplace", B, clipped=all_counts), "laplace"),
    Fault(
        "clipped_laplace: clipped to m + 1", method("clipped_laplace", {"m": 2}, clipped=clipped_one_late), "laplace"
    ),
    Fault(
        "clipped_laplace: budget not split", method("clipped_laplace", {**B, "share": 0.5}, split=not_split), "laplace"
    ),
    Fault(
        "clipped_laplace: exponent without 1/2",
        step("clipped_laplace", "choose", as_monotone, bound=60, share=0.5),
        "choose",
    ),
    Fault(
        "clipped_laplace: m without randomness",
        step("clipped_laplace", "choose", without, **B),
        "scale of laplace",
        quick=True,
    ),
    Fault(
        "clipped_laplace: clipped rows published",
        method("clipped_laplace", B, publish=shown("clipped_rows")),
        "chosen.clipped_rows",
    ),
    Fault(
        "clipped_gaussian: exponent without 1/2",
        step("clipped_gaussian", "choose", as_monotone, bound=60, share=0.5),
        "choose",
    ),
    Fault(
        "clipped_gaussian: norm of rows without repeats", method("clipped_gaussian", B, sizes=whole_sizes), "gaussian"
    ),
]

PERSONAL = [
    Fault("laplace_categories: half of the noise", step("laplace_categories", "laplace", less(2.0)), "laplace"),
    Fault(
        "laplace_categories: noise for own items", method("laplace_categories", publish=calibrated_to_own), "laplace"
    ),
    Fault("s_dpdp: scale a twentieth too small", step("s_dpdp", "laplace", less(1.05)), "laplace"),
    Fault("s_dpdp: own items first", method("s_dpdp", publish=own_items_first), "published", quick=True),
    Fault("s_dpdp: as many items as the user has", method("s_dpdp", publish=within_own_number), "published 'history'"),
    Fault("s_dpdp: true aggregates beside the items", method("s_dpdp", publish=true_aggregates), "aggregates"),
    Fault(
        "s_dpdp: calibration without an item",
        patched("s_dpdp", "epicrec.personal:least_noise", lambda right, rows: right(rows[1:]), solve_once=False),
        "laplace",
        quick=True,
    ),
    Fault("s_pbq: spends what it finds best", method("s_pbq", publish=spends_more), "laplace"),
]


@pytest.mark.parametrize("fault", cases(RECORDS + LIMITED + PERSONAL))
def test_faults_of_rows_are_found(fault: Fault, monkeypatch: pytest.MonkeyPatch) -> None:
    must_find(fault, monkeypatch)
