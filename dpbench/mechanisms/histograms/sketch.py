"""The private count sketch: Gaussian noise on the buckets, and the median of its rows."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dpbench.data import Contingency, Data
from dpbench.data.summary import Sketched
from dpbench.errors import positive
from dpbench.mechanisms.histograms.base import Histogram, check_delta
from dpbench.mechanisms.tables import too_many, with_collisions
from dpbench.numerics import dyadic, hashing
from dpbench.numerics.gaussian import analytic_sigma, discrete_sigma
from dpbench.privacy import Noise


@dataclass(frozen=True, kw_only=True)
class GaussianSketch(Histogram, name="gaussian_sketch"):
    """Count sketch with Gaussian noise: in each of R rows, cell i adds g(i) M(i) to bucket h(i), (ε, δ) only.

    Pagh, Thorup: Improved Utility Analysis of Private CountSketch, NeurIPS 2022. One individual moves one bucket of each row
    by one, √R in L2. Its k cells may fall into one bucket: k √R, which is assumed here, as a histogram does not show which
    counts belong to one individual. Over dyadic ranges each level has its own part of a row, so that levels never collide:
    the factor is √(levels), not `levels`.
    """

    rows: int = 5
    """R, the number of hash functions; an odd number has a median."""
    buckets: int = 2**16
    """b, the buckets per row, for all levels of a tree together; at most the number of places. Declared, so it is public."""
    delta: float = 1e-6
    """δ, the chance of an output that tells more than ε."""

    paper = "Pagh, Thorup: Improved Utility Analysis of Private CountSketch, NeurIPS 2022"
    place = "the private count sketch, with the analytic Gaussian noise of Balle and Wang"
    privacy = "(ε, δ)"
    label, look = "Gaussian sketch", 9
    audited = (
        {"rows": 3, "buckets": 16},
        {"rows": 1, "buckets": 4, "k": 3},
        {"rows": 2, "buckets": 32, "k": 2, "transform": "dyadic"},
        {"delta": 0.01},
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("rows", "buckets"):
            positive(name, getattr(self, name), whole=True)
        check_delta(self.delta)

    def unfit(self, data: Data) -> str:
        if reason := super().unfit(data):
            return reason
        assert isinstance(data, Contingency)
        if self.buckets < (levels := len(self.blocks(data))):
            return f"buckets={self.buckets} is below the {levels} levels of the tree"
        return too_many(self.rows * self.width(data), "expected fewer buckets or rows")

    def blocks(self, data: Contingency) -> tuple[int, ...]:
        """The first place of each level, if there are levels."""
        return (0,) if self.transform == "none" else tuple(dyadic.offsets(data.size)[:-1].tolist())

    def sensitivity(self, data: Contingency) -> float:
        """L2 sensitivity: k in one bucket of each row and level."""
        return self.k * math.sqrt(self.rows * len(self.blocks(data)))

    def sigma(self, data: Contingency, epsilon: float, form: str = "float") -> float:
        """The noise of a bucket; exact noise is the discrete Gaussian, whose σ comes from zCDP."""
        calibrate = discrete_sigma if form == "exact" else analytic_sigma
        key = (calibrate.__name__, epsilon, self.delta)
        return self.sensitivity(data) * data.memo(key, lambda: calibrate(epsilon, self.delta))

    def width(self, data: Contingency) -> int:
        """Buckets of a row."""
        levels, places = len(self.blocks(data)), self.domain(data)
        return min(int(self.buckets) // levels * levels, max(1, places // levels) * levels)

    def publish(self, data: Contingency, epsilon: float, noise: Noise) -> Sketched:
        table, width, blocks = self.table(data), self.width(data), self.blocks(data)
        seeds = tuple(int(seed) for seed in noise.stream("hashes").integers(0, 2**63, self.rows))
        sums = np.empty((self.rows, width), dtype=np.int64 if noise.form == "exact" else np.float64)
        for row, seed in enumerate(seeds):
            bucket, sign = hashing.block_bucket_and_sign(table.places, blocks, width, seed)
            sums[row] = np.bincount(bucket, weights=sign * table.values, minlength=width)
        sigma = self.sigma(data, epsilon, noise.form)
        release = Sketched(
            size=data.size,
            shape=data.shape,
            transform=self.transform,
            buckets=noise.gaussian(sums, sigma=sigma, step="buckets"),
            seeds=seeds,
            places=table.size,
            combine="median",
            blocks=blocks,
            chosen={"sigma": sigma, "buckets": width, "entries": sums.size},
        )
        return with_collisions(release, table)

    def deviation(self, data: Contingency, epsilon: float) -> float:
        """The approximate standard deviation of an estimated cell: √(π/2R) √(Rσ² + ‖tail‖²/b), from noise and from the other
        cells of a bucket; the median ignores the b/4 largest. One or two rows have no median: 1 instead of π/2, all cells."""
        b, sigma = self.width(data), self.sigma(data, epsilon)
        values = np.sort(self.table(data).values).astype(np.float64)
        median = self.rows > 2
        tail = values[: max(0, values.size - b // 4)] if median else values
        return math.sqrt((math.pi / 2 if median else 1) / self.rows * (sigma**2 + float(tail @ tail) / b))
