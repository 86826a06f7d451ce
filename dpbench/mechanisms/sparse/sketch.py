"""The noisy count sketch of sparse: a few rows of buckets that every cell is hashed to."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpbench.data import Contingency
from dpbench.data.summary import Sketched
from dpbench.errors import one_of, positive
from dpbench.mechanisms.base import Mechanism
from dpbench.mechanisms.sparse.base import Sizes, Summarised, check_optional
from dpbench.mechanisms.tables import too_many, with_collisions
from dpbench.numerics import hashing
from dpbench.privacy import Noise


@dataclass(frozen=True, kw_only=True)
class Sketch(Summarised, name="sketch"):
    """Count sketch with noise on its buckets (sparse, Sketches).

    In each of d rows, cell i adds g(i) M(i) to bucket h(i). One individual moves one bucket per row by one, so
    α = exp(-ε/(dΔ)). The error of an estimate is ‖M‖₂/√w from collisions and √2 dΔ/ε from noise, over √d: few rows are
    best. The laborious form is here the paper's first approach, which it improves on: the sketch of the noisy table, whose
    buckets hold the noise of m/w cells each. That is not the same distribution.
    """

    rows: int = 2
    """d, the number of hash functions."""
    buckets: int | None = None
    """w, the buckets per row. None: `ratio` times n in all rows together."""
    combine: str = "mean"
    """How rows are combined: mean or median."""

    place = "Appendix, sketches"
    reconstructed = "number of rows (the text says small, its number is lost)"
    label, look = "Sketch", 5
    audited = (
        {"buckets": 4},
        {"buckets": 3, "rows": 3, "combine": "median"},
        {"buckets": 4, "transform": "dyadic"},
        {"buckets": 2, "rows": 1, "transform": "haar"},
        {"buckets": 4, "laborious": True},
        {"private_size": 0.3},
        {},
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        positive("rows", self.rows, whole=True)
        check_optional(buckets=self.buckets)
        one_of("combine", self.combine, ("mean", "median"))
        self.check_private_size()

    def stepwise(self) -> Mechanism:
        """Itself: it has noise on every bucket, and the laborious form has another distribution."""
        return self

    def told(self) -> dict[str, int | None]:
        return {"buckets": self.buckets}

    def inexact(self) -> str:
        return ""  # every bucket gets noise in either form

    def publish(self, data: Contingency, epsilon: float, noise: Noise) -> Sketched:
        table, sizes = self.table(data), self.sizes(data, epsilon, noise)
        width = self._width(sizes)
        seeds = tuple(int(seed) for seed in noise.stream("hashes").integers(0, 2**63, self.rows))
        alpha = self.alpha(self.table_budget(epsilon), self.moved(data))
        if self.laborious:
            places, values = np.arange(table.size), table.dense(alpha, noise)
        else:
            places, values = table.places, table.values
        sums = np.empty((self.rows, width))
        for row, seed in enumerate(seeds):
            bucket, sign = hashing.bucket_and_sign(places, width, seed)
            sums[row] = np.bincount(bucket, weights=sign * values, minlength=width)
        if not self.laborious:
            sums = noise.geometric(sums, alpha=alpha, step="buckets")
        release = Sketched(
            size=data.size,
            shape=data.shape,
            transform=self.transform,
            buckets=sums,
            seeds=seeds,
            places=table.size,
            combine=self.combine,
            chosen={"alpha": alpha, "buckets": width, "entries": sums.size, **sizes.published()},
        )
        return with_collisions(release, table)

    def moved(self, data: Contingency) -> int:
        return super().moved(data) * (1 if self.laborious else int(self.rows))

    def _width(self, sizes: Sizes) -> int:
        return int(self.buckets) if self.buckets is not None else max(1, self.target(sizes, None) // self.rows)

    def too_large(self, data: Contingency, alpha: float) -> str:
        return too_many(self.rows * self._width(Sizes.of(data)), "expected fewer buckets or rows")
