"""Changes that are post-processing only, or that cost no more than is stated: none of them may be called a violation."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from support.faults import Fault, Harmless, cases, method, must_find, must_hold, patched, step
from support.planting import less

B = {"bound": 3}


def after(change: Callable[[Any], Any]) -> Any:
    """What is published, changed afterwards."""
    return lambda right, self, data, epsilon, noise: change(right(self, data, epsilon, noise))


def counts(change: Callable[[np.ndarray], np.ndarray]) -> Any:
    return after(lambda release: dataclasses.replace(release, counts=change(release.counts)))


def weights(change: Callable[[np.ndarray], np.ndarray]) -> Any:
    return after(lambda release: dataclasses.replace(release, weights=change(release.weights)))


def edges_that_add_up(release: Any) -> Any:
    """Edge counts scaled to the item counts."""
    if release.edges is None:
        return release
    total = release.edges.sum(axis=1, keepdims=True)
    return dataclasses.replace(
        release, edges=release.edges * (release.counts[:, None] / np.where(total == 0, 1, total))
    )


def items_from_both(release: Any) -> Any:
    if release.edges is None:
        return release
    return dataclasses.replace(release, counts=(release.counts + release.edges.sum(axis=1)) / 2)


def only_large_entries(release: Any) -> Any:
    kept = np.abs(release.weights) > 3
    return dataclasses.replace(
        release, cells=release.cells[kept], weights=release.weights[kept], chosen={"entries": int(kept.sum())}
    )


def noisy_sample_published(right: Any, self: Any, columns: Any, epsilon: float, noise: Any) -> Any:
    """The sample has noise of its own, which is paid for."""
    kept: list[np.ndarray] = []

    class Kept:
        def __getattr__(self, name: str) -> Any:
            return getattr(noise, name)

        def laplace(self, values: Any, **more: Any) -> Any:
            kept.append(noise.laplace(values, **more))
            return kept[-1].copy()

    release = right(self, columns, epsilon, Kept())
    return dataclasses.replace(release, chosen={**release.chosen, "sample": kept[0]})


def rounded_ties_by_lot(right: Any, t_s: Any, noise: Any) -> tuple[np.ndarray, np.ndarray]:
    """Noisy values that are nearly equal, in random order."""
    lot = noise.stream("equal").permutation(t_s.size)
    order = lot[np.argsort(np.round(t_s[lot]), kind="stable")]
    return order, np.round(t_s)[order]  # tuning takes values that rise


def falling(right: Any, t_s: Any, noise: Any) -> tuple[np.ndarray, np.ndarray]:
    order, values = right(t_s, noise)
    return order[::-1], values


def consistent_tree(weights: np.ndarray) -> np.ndarray:
    """Consistent sums: here all scaled to the first node."""
    return weights * 0.5 + weights.mean() * 0.5


def whole_items(right: Any, self: Any, relaxed: Any, rng: Any) -> np.ndarray:
    """Rounded down, the first items of each class."""
    parts = [self.members[self.starts[k] : self.starts[k] + int(relaxed[k] + 1e-9)] for k in range(relaxed.size)]
    return np.sort(np.concatenate([np.empty(0, dtype=np.int64), *parts]))


def weighed_more(right: Any, self: Any, sizes: np.ndarray, m: int) -> np.ndarray:
    """m/|x| for √(m/|x|): large rows count less than they might."""
    return np.minimum(1.0, m / np.maximum(sizes, 1))


HARMLESS = [
    Harmless("lpa: rounded", method("lpa", B, publish=counts(np.round)), quick=True),
    Harmless("lpa: cut off at zero", method("lpa", B, publish=counts(lambda c: np.maximum(c, 0)))),
    Harmless("lpa: sorted", method("lpa", B, publish=counts(np.sort))),
    Harmless("lpa: scaled", method("lpa", B, publish=counts(lambda c: 0.8 * c + 1))),
    Harmless("lpa: only those above the mean", method("lpa", B, publish=counts(lambda c: c[c > c.mean()])), quick=True),
    Harmless("lpa: edges that add up to items", method("lpa", B, publish=after(edges_that_add_up))),
    Harmless("lpa: more noise than needed", step("lpa", "laplace", less(0.9), **B)),
    Harmless("alpa: whole numbers", method("alpa", publish=counts(np.floor))),
    Harmless("fpa: cut off at zero", method("fpa", {**B, "rho": 2}, publish=counts(lambda c: np.maximum(c, 0)))),
    Harmless("linf: cut to a public range", method("linf", publish=counts(lambda c: np.clip(c, 0, 100)))),
    Harmless(
        "gaussian: nothing but the largest", method("gaussian", B, publish=counts(lambda c: c.max(keepdims=True)))
    ),
    Harmless(
        "gs: ties of the sample by lot", patched("gs", "gs.grouping:rising", rounded_ties_by_lot, **B), quick=True
    ),
    Harmless("gs: groups by falling sample", patched("gs", "gs.grouping:rising", falling, **B)),
    Harmless("gs_s: noisy sample published", method("gs_s", B, publish_columns=noisy_sample_published), quick=True),
    Harmless("gs_s: rounded up", method("gs_s", {**B, "sampling": "row"}, publish=counts(np.ceil))),
    Harmless(
        "gs_private: the mean row is not told",
        method("gs_private", B, publish=after(lambda r: dataclasses.replace(r, chosen={}))),
    ),
    Harmless(
        "dpsense: scaled and rounded", method("dpsense", B, publish=counts(lambda c: np.round(1.2 * c))), quick=True
    ),
    Harmless(
        "dpsense: θ is not told", method("dpsense", B, publish=after(lambda r: dataclasses.replace(r, chosen={})))
    ),
    Harmless("sra: items from both counts", method("sra", {"l": 2}, publish=after(items_from_both)), quick=True),
    Harmless(
        "hpa: popularity with ties in order",
        patched(
            "hpa",
            "analytics._samples:score_ranks",
            lambda right, s: (np.argsort(np.argsort(-s, kind="stable")).astype(np.uint16), s.size),
            d=1,
            l=2,
        ),
    ),
    Harmless("clipped_gaussian: large rows count less", method("clipped_gaussian", {"m": 4}, weights=weighed_more)),
    Harmless("geometric: nothing below zero", method("geometric", publish=weights(lambda w: np.maximum(w, 0)))),
    Harmless(
        "geometric: drawn to the mean", method("geometric", {"transform": "dyadic"}, publish=weights(consistent_tree))
    ),
    Harmless(
        "filter: small entries dropped", method("filter", {"theta": 2}, publish=after(only_large_entries)), quick=True
    ),
    Harmless("priority: weights rounded", method("priority", {"s": 2}, publish=weights(np.round))),
    Harmless(
        "sketch: buckets cut",
        method(
            "sketch", {"buckets": 4}, publish=after(lambda r: dataclasses.replace(r, buckets=np.clip(r.buckets, -9, 9)))
        ),
    ),
    Harmless("synthesizer: weights doubled", method("synthesizer", publish=weights(lambda w: 2 * w))),
    Harmless(
        "pf_peeling: as a set",
        method("pf_peeling", {"k": 2}, publish=after(lambda r: dataclasses.replace(r, top=np.sort(r.top)))),
        quick=True,
    ),
    Harmless(
        "joint_topk: only the first",
        method("joint_topk", {"k": 2}, publish=after(lambda r: dataclasses.replace(r, top=r.top[:1]))),
    ),
    Harmless(
        "laplace_categories: rounded",
        method(
            "laplace_categories", publish=after(lambda r: dataclasses.replace(r, aggregates=np.round(r.aggregates)))
        ),
    ),
    Harmless("s_dpdp: rounded down", patched("s_dpdp", "epicrec._classes:ItemClasses.round", whole_items), quick=True),
    # A fault where δ is large beside ε (test_mutants_counts.py), and none here: two Gaussian steps of (1/2, 1e-6) add up in
    # squares, and are together within (1, 1e-6).
    Harmless(
        "gaussian_correlated: a small δ not split",
        method("gaussian_correlated", B, _of_each=lambda right, self, data: self),
        quick=True,
    ),
]


@pytest.mark.parametrize("change", cases(HARMLESS))
def test_post_processing_is_not_flagged(change: Harmless, monkeypatch: pytest.MonkeyPatch) -> None:
    must_hold(change, monkeypatch)


def test_both_checks_can_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    rounded, faulty = method("lpa", B, publish=counts(np.round)), step("lpa", "laplace", less(1.05), **B)
    with pytest.raises(AssertionError, match="loss 1 "):
        must_find(Fault("no fault", rounded, "laplace", pairs=30), monkeypatch)
    with pytest.raises(AssertionError, match=r"loss 1\.05 "):
        must_hold(Harmless("not harmless", faulty, pairs=30), monkeypatch)
    with pytest.raises(AssertionError, match="laplace"):
        must_find(Fault("named wrongly", faulty, "choose", pairs=30), monkeypatch)
