"""Sums over ranges, rectangles and subsets: the queries and errors of sparse's experiments."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from dpbench.data import Contingency, Data, Summary
from dpbench.data.last_step import FairSigns, NoisyTable
from dpbench.data.summary import Dense, Entries
from dpbench.errors import UserError, one_of, positive
from dpbench.model.metric import Metric
from dpbench.numerics import boxes, geometric, keyed
from dpbench.numerics.hashing import Shuffle
from dpbench.tasks._expected import last_step_of
from dpbench.tasks._split import SHARES, shares
from dpbench.tasks.base import Task, once

WEIGHTS = ("adjusted", "plain")
EXPLICIT = 2**25
"""Most cells to which subset queries are expanded, if a release cannot be shuffled as a whole."""

REDRAWS = 32
"""How often the signs of published zeros are drawn again for one expected error."""
MEANS = ("abs_error", "mean_relative_error")
"""How the names of metrics begin that are means over queries of absolute errors."""
NO_ERRORS = ("signed", "truth")
Weighed = Callable[[np.ndarray], np.ndarray]
"""The answers of all queries, by the weights of the entries."""


@dataclass(frozen=True, kw_only=True)
class Queries(Task):
    """A seeded set of queries, of one size or of several sizes; the same for every mechanism and trial."""

    share: float = 0.01
    """Size of a query as a share of the domain; the smallest one, when there are several."""
    upto: float | None = None
    """Largest size, when there are several."""
    steps: int = 1
    """Number of sizes, in equal ratios from `share` to `upto`. With more than one, errors are also given by size, as
    `abs_error/CELLS` and `median_relative_error/CELLS`."""
    queries: int = 1000
    """Queries of each size."""
    seed: int = 1
    """Seed of the queries."""
    weights: str = "adjusted"
    """Answer from adjusted (unbiased) weights or from plain noisy values."""

    kinds = ("contingency",)
    metrics: ClassVar[tuple[Metric, ...]] = (
        Metric("abs_error", "mean absolute error of a query", "lower"),
        Metric("median_relative_error", "median over queries of absolute error over true answer (at least 1)", "lower"),
        Metric("mean_relative_error", "mean over queries of absolute error over true answer (at least 1)", "lower"),
        Metric("mse", "mean squared error of a query", "lower"),
        Metric("signed", "mean signed error of a query", beside="abs_error"),
        Metric("truth", "mean true answer"),
        Metric("abs_error/*", "mean absolute error of the queries of that many cells", "lower"),
        Metric("median_relative_error/*", "median relative error of the queries of that many cells", "lower"),
        *SHARES,
    )

    def __post_init__(self) -> None:
        positive("share", self.share)
        for name in ("steps", "queries"):
            positive(name, getattr(self, name), whole=True)
        one_of("weights", self.weights, WEIGHTS)
        if self.upto is not None:
            positive("upto", self.upto)
        if (self.steps > 1) != (self.upto is not None):
            raise UserError(f"steps={self.steps} and upto={self.upto}: several sizes need both, one size neither")
        if max(self.share, self.upto or 0) > 1:
            raise UserError(f"a query covers {max(self.share, self.upto or 0)} times the domain: expected at most 1")

    def lengths(self, data: Contingency) -> np.ndarray:
        """Sizes of the queries in cells; in a small domain two steps may give the same size."""
        shares = np.geomspace(self.share, self.upto or self.share, self.steps)
        return np.unique(np.maximum(1, np.rint(shares * data.size)).astype(np.int64))

    def bounds(self, data: Contingency) -> tuple[np.ndarray, np.ndarray]:
        """lo and hi of every query, size by size."""

        def draw() -> tuple[np.ndarray, np.ndarray]:
            rng = keyed.stream(self.seed, "queries", type(self).__name__)
            lengths = np.repeat(self.lengths(data), self.queries)
            lo = rng.integers(0, data.size - lengths, endpoint=True)
            return lo, lo + lengths

        return data.memo(self._key("bounds"), draw)

    def _key(self, what: str) -> Hashable:
        return (type(self), what, self.share, self.upto, self.steps, self.queries, self.seed)

    def truth(self, data: Contingency) -> np.ndarray:
        """True answers."""
        return data.memo(self._key("truth"), lambda: self.exact(data).astype(np.float64))

    def exact(self, data: Contingency) -> np.ndarray:
        raise NotImplementedError

    def answers(self, data: Contingency, release: Any) -> np.ndarray:
        """Estimated answers."""
        raise NotImplementedError

    def errors(self, data: Contingency, release: Any) -> np.ndarray:
        return self._answers(data, release) - self.truth(data)

    def _answers(self, data: Contingency, release: Any) -> np.ndarray:
        return self.answers(data, release if self.weights == "adjusted" else release.plain)

    def _shares(self, data: Contingency, errors: np.ndarray, release: Any) -> dict[str, float]:
        """The split of the squared error of the queries; empty if the release has no stages."""
        stages = getattr(release, "stages", None)  # a user's own release class may not have them
        if stages is None:
            return {}
        answers = ((stage.part, self._answers(data, stage.answers)) for stage in stages)
        return shares(self.truth(data), errors.ravel(), answers)

    def score(self, data: Contingency, release: Summary, rng: np.random.Generator) -> dict[str, float]:
        errors = once(self.errors, data, release)
        return self._scores(data, errors) | self._shares(data, errors, release)

    def _scores(self, data: Contingency, errors: np.ndarray) -> dict[str, float]:
        errors = errors.reshape(-1, self.queries)
        truth = self.truth(data).reshape(-1, self.queries)
        size = np.abs(errors)
        relative = size / np.maximum(truth, 1.0)
        scores = {
            "abs_error": float(size.mean()),
            "median_relative_error": float(np.median(relative)),
            "mean_relative_error": float(relative.mean()),
            "mse": float(np.square(errors).mean()),
            "signed": float(errors.mean()),
            "truth": float(truth.mean()),
        }
        if self.steps > 1:
            for cells, error, ratio in zip(self.lengths(data), size, relative, strict=True):
                scores[f"abs_error/{cells}"] = float(error.mean())
                scores[f"median_relative_error/{cells}"] = float(np.median(ratio))
        return scores

    def expected(self, data: Contingency, release: Any, rng: np.random.Generator) -> dict[str, float]:
        """Exact for noise on a whole table; for summaries, means over several draws of the signs of published zeros."""
        last = last_step_of(release)
        if isinstance(last, NoisyTable) and release.transform != "haar":
            key = (self._key("expected"), release.transform, last.alpha)
            return data.memo(key, lambda: self._of_table(data, release, last.alpha))
        # Over a transform, few queries are answered from published zeros: there is hardly anything to gain.
        if isinstance(last, FairSigns) and release.transform == "none":
            return self._of_signs(data, release, last.fair(), rng)
        return {}

    def _of_table(self, data: Contingency, release: Dense, alpha: float) -> dict[str, float]:
        """The error of a query is the sum of as many draws as places answer it."""
        ones = replace(release, weights=np.ones(release.weights.size), stages=None, last_step=None)
        places = np.rint(self.answers(data, ones)).astype(np.int64)
        number, where = np.unique(places, return_inverse=True)
        size = np.array([geometric.mean_abs_sum(alpha, int(n)) for n in number])[where]
        means = {name: mean for name, mean in self._scores(data, size).items() if name.startswith(MEANS)}
        return means | {"mse": float(places.mean()) * geometric.variance(alpha)}

    def _of_signs(
        self, data: Contingency, release: Entries, fair: np.ndarray, rng: np.random.Generator
    ) -> dict[str, float]:
        listed = release if self.weights == "adjusted" else release.plain
        known = self.answers(data, replace(listed, weights=np.where(fair, 0.0, listed.weights))) - self.truth(data)
        weights = listed.weights[fair]
        weighed = self.weighed(
            data, replace(listed, cells=listed.cells[fair], weights=weights, values=None, absent=0.0)
        )
        each = []
        for _ in range(REDRAWS):
            signs = 2.0 * rng.integers(0, 2, weights.size, dtype=np.int8) - 1.0
            each.append(self._scores(data, known + weighed(signs * weights)))
        means = {name: float(np.mean([scores[name] for scores in each])) for name in each[0] if name not in NO_ERRORS}
        return means | {"mse": float(np.mean(np.square(known) + weighed(np.square(weights))))}

    def weighed(self, data: Contingency, release: Entries) -> Weighed:
        """The answers from these entries, which are cells, with other weights."""
        raise NotImplementedError


@dataclass(frozen=True, kw_only=True)
class RangeQueries(Queries, name="range_queries"):
    """Sums over contiguous ranges of cells, at uniformly random positions."""

    def exact(self, data: Contingency) -> np.ndarray:
        return data.sum(*self.bounds(data))

    def answers(self, data: Contingency, release: Summary) -> np.ndarray:
        return release.sum(*self.bounds(data))

    def weighed(self, data: Contingency, release: Entries) -> Weighed:
        first, end = (np.searchsorted(release.cells, side) for side in self.bounds(data))
        return lambda weights: _between(weights, first, end)


@dataclass(frozen=True, kw_only=True)
class RectangleQueries(Queries, name="rectangle_queries"):
    """Sums over rectangles, at uniformly random positions. A query takes the same share of every attribute."""

    def unfit(self, data: Data) -> str:
        if reason := super().unfit(data):
            return reason
        assert isinstance(data, Contingency)
        return "" if len(data.shape) > 1 else "needs data of two attributes or more, not one: use range_queries"

    def sides(self, data: Contingency) -> np.ndarray:
        """Sides of the rectangles, one row per size; in a small domain two steps may give the same size."""
        shares = np.geomspace(self.share, self.upto or self.share, self.steps)[:, None]
        sides = np.rint(shares ** (1 / len(data.shape)) * np.array(data.shape))
        return np.unique(np.maximum(1, sides).astype(np.int64), axis=0)

    def lengths(self, data: Contingency) -> np.ndarray:
        return np.prod(self.sides(data), axis=1)

    def bounds(self, data: Contingency) -> tuple[np.ndarray, np.ndarray]:
        """lo and hi of every rectangle, size by size, one column per attribute."""

        def draw() -> tuple[np.ndarray, np.ndarray]:
            rng = keyed.stream(self.seed, "queries", type(self).__name__)
            sides = np.repeat(self.sides(data), self.queries, axis=0)
            lo = rng.integers(0, np.array(data.shape) - sides, endpoint=True)
            return lo, lo + sides

        return data.memo(self._key("bounds"), draw)

    def exact(self, data: Contingency) -> np.ndarray:
        return data.rectangles(*self.bounds(data))

    def answers(self, data: Contingency, release: Summary) -> np.ndarray:
        return release.rectangles(*self.bounds(data))

    def weighed(self, data: Contingency, release: Entries) -> Weighed:
        lo, hi = self.bounds(data)
        parts: list[tuple[np.ndarray, np.ndarray]] = []

        def locate(starts: np.ndarray, ends: np.ndarray) -> np.ndarray:
            first, end = (np.searchsorted(release.cells, side).astype(np.int32) for side in (starts, ends))
            parts.append((first, end))
            return np.zeros(starts.size)

        boxes.sums(locate, lo, hi, data.shape)
        first, end = (np.concatenate(side) for side in zip(*parts, strict=True))
        rows = np.prod((hi - lo)[:, :-1], axis=1)  # of each rectangle, one range of the line each
        begin = np.cumsum(rows) - rows
        return lambda weights: np.add.reduceat(_between(weights, first, end), begin)


@dataclass(frozen=True, kw_only=True)
class SubsetQueries(Queries, name="subset_queries"):
    """Sums over random sets of cells.

    Sets of millions of cells are not listed: a seeded shuffle puts the domain in random order, and a set is
    a range of that order. One pass over what is published answers all of them.
    """

    def shuffle(self, data: Contingency) -> Shuffle:
        return Shuffle(data.size, self.seed)

    def exact(self, data: Contingency) -> np.ndarray:
        return self._sums(self.shuffle(data).places(data.cells), data.counts, *self.bounds(data))

    def answers(self, data: Contingency, release: Summary) -> np.ndarray:
        lo, hi = self.bounds(data)
        if release.transform == "none" and isinstance(release, Entries):
            places = self.shuffle(data).places(release.cells)
            listed = self._sums(places, release.weights, lo, hi)
            if not release.absent:
                return listed
            return listed + release.absent * ((hi - lo) - self._sums(places, np.ones(places.size), lo, hi))
        if release.transform == "none" and isinstance(release, Dense):
            order = data.memo(("shuffled", self.seed), lambda: self.shuffle(data).places(release.cells))
            running = np.zeros(data.size + 1)
            running[1:][order] = release.weights
            np.cumsum(running, out=running)
            return running[hi] - running[lo]
        if int((hi - lo).sum()) > EXPLICIT:
            raise UserError(f"{self.name}: too many cells to look up one by one in a {release.transform} release")
        shuffle = self.shuffle(data)
        return np.array([release.subset(shuffle.cells(np.arange(*ends))) for ends in zip(lo, hi, strict=True)])

    def expected(self, data: Contingency, release: Any, rng: np.random.Generator) -> dict[str, float]:
        # Over a transform, every set is looked up cell by cell.
        return {} if release.transform != "none" else super().expected(data, release, rng)

    def weighed(self, data: Contingency, release: Entries) -> Weighed:
        return self._summing(self.shuffle(data).places(release.cells), *self.bounds(data))

    @classmethod
    def _sums(cls, places: np.ndarray, weights: np.ndarray, lo: np.ndarray, hi: np.ndarray) -> np.ndarray:
        """Sums of the weights whose place lies in [lo, hi)."""
        return cls._summing(places, lo, hi)(weights)

    @staticmethod
    def _summing(places: np.ndarray, lo: np.ndarray, hi: np.ndarray) -> Weighed:
        """The same for any weights. The ends cut the order into few parts, so nothing is sorted."""
        ends = np.unique(np.concatenate([lo, hi]))
        part = np.searchsorted(ends, places, side="right")  # how many ends are not above the place
        first, last = np.searchsorted(ends, lo), np.searchsorted(ends, hi)

        def sums(weights: np.ndarray) -> np.ndarray:
            running = np.cumsum(np.bincount(part, weights, ends.size + 1))
            return running[last] - running[first]

        return sums


def _between(weights: np.ndarray, first: np.ndarray, end: np.ndarray) -> np.ndarray:
    """The sum of the weights from each first to before its end."""
    running = np.concatenate([[0.0], np.cumsum(weights)])
    return running[end] - running[first]
