"""Variants of GS for studies, not for releases: the result of every group size (gs, Figure 8), and the grouping that is not
private (Section 3.2)."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from dpbench.data import ColumnData, Counts
from dpbench.mechanisms.gs import _sizes
from dpbench.mechanisms.gs._tuning import tuning_curve
from dpbench.mechanisms.gs.grouping import Grouped, filled_rows, noisy_sample, rising
from dpbench.privacy import Noise

CANDIDATES = 20
"""Number of group sizes with the lowest simulated error whose exact error is computed."""


@dataclass(frozen=True, kw_only=True)
class GSSizes(Grouped, name="gs_sizes"):
    """GS as printed, with the error of every group size among its diagnostics: for a study, not for a release.

    For each w: the real L1, by a simulated release of the counts, and the L1 that GS would estimate, with its sample scaled by
    Δ ("printed") and by the mean non-empty row ("mean_row"). `*_l1_at_W` is the average over the sizes from W up to the next one.
    `best_w` is the w of the lowest expected real L1; `*_excess` says by how much the estimate's choice exceeds it.
    """

    place = "Section 5, Figure 8"
    kinds = ("incidence", "records")
    label, look = "GS (every size)", 24
    audited = ({"bound": 3}, {})

    def publish_columns(self, columns: ColumnData, epsilon: float, noise: Noise) -> Counts:
        delta, scale = self.sensitivity(columns), self.scale(columns, epsilon, 1)
        t_s, _ = noisy_sample(columns, "column", delta, epsilon, noise)
        order, sorted_sample = rising(t_s, noise)
        mean_row = max(1.0, columns.ones / max(1, filled_rows(columns)))
        estimated = {
            "printed": tuning_curve(delta * sorted_sample, scale, noise.stream("printed")),
            "mean_row": tuning_curve(mean_row * sorted_sample, scale, noise.stream("mean row")),
        }
        counts = columns.counts[order].astype(np.float64)
        at = _sizes.sizes(counts.size)
        real = _sizes.real_curve(counts, at, scale, noise.stream("real"))
        chosen = {name: int(curve.argmin()) + 1 for name, curve in estimated.items()}
        measured: dict[str, float] = {f"real_l1_at_{w}": l1 for w, l1 in _sizes.points(at, real).items()}
        every = np.arange(1, counts.size + 1)
        for name, curve in estimated.items():
            measured |= {f"{name}_l1_at_{w}": l1 for w, l1 in _sizes.points(every, curve).items()}
        # The lowest of many simulated errors is biased downwards, so the exact errors of the best candidates decide.
        likely = {int(w) for w in at[np.argsort(real)[:CANDIDATES]]} | set(chosen.values())
        exact = {w: _sizes.expected_l1(counts, w, scale) for w in sorted(likely)}
        best = min(exact, key=lambda w: exact[w])
        measured |= {"best_w": best, "best_l1": exact[best], "delta": delta}
        for name, w in chosen.items():
            measured |= {f"{name}_w": w, f"{name}_excess": exact[w] / exact[best] - 1}
        release = self.smoothed(columns, order, chosen["printed"], epsilon, noise)
        return replace(release, diagnostics={**release.diagnostics, **measured})


@dataclass(frozen=True, kw_only=True)
class GSOptimal(Grouped, name="gs_optimal"):
    """GS-R with the optimal groups in place of random ones: columns that are neighbours by their true counts.

    The groups reveal the counts without any noise. This is the paper's counterexample; never publish with it.
    """

    place = "Section 3.2"
    share = 1.0
    label, look = "Optimal groups", 25
    audited = ({"bound": 3}, {})

    def not_private(self) -> str:
        return "the groups are made from the true counts"

    def publish_columns(self, columns: ColumnData, epsilon: float, noise: Noise) -> Counts:
        w = min(self.sensitivity(columns), columns.columns)
        order = np.argsort(columns.counts, kind="stable")
        return self.smoothed(columns, order, w, epsilon, noise)
