"""Scores that distinguish the releases of two neighbours, learned from earlier draws, and the events made from them.

A score is one number per release; the larger, the more it looks like the data with the row. An event is a score on one side
of a threshold; the threshold is set separately for each ε. What is learned here is fixed before the draws it bets on.
Imported by the sequential test.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dpbench.auditing.e_process import STATED
from dpbench.auditing.features import FeatureLayout, Matrix, halves, learn_layout
from dpbench.auditing.observed import Observed
from dpbench.errors import UserError
from dpbench.numerics.arrays import Floats

if TYPE_CHECKING:
    from threadpoolctl import ThreadpoolController

QUANTILES = 128
"""Most thresholds tried for one score."""
EXTREME = 8
"""Further thresholds at either end, for rare events."""
BINS = 16
"""Most intervals of a number whose likelihood ratio is estimated."""
COLUMNS = 12
"""Columns whose events are examined closely."""
RARE_COLUMNS = 6
"""Further columns, with rare events."""
ENOUGH = 40
"""Draws per side that boosting needs."""
MOST = 12000
"""Draws per side that boosting learns from: the latest ones."""
LARGEST = 1e30
"""Larger numbers are clipped, so that scores stay finite."""

Score = Callable[[Matrix], Floats]


@dataclass(frozen=True)
class Events:
    """One score with its thresholds: for each direction (row 0: more likely without the row; row 1: with it) and each ε."""

    name: str
    score: Score
    thresholds: NDArray[np.float64]
    """Directions x levels. An event of direction 0 is a score of at most its threshold, of direction 1 at least."""
    gain: NDArray[np.float64]
    """Directions x levels: the expected gain of the event per draw, p - e^ε q - δ; no bet unless positive."""
    certain: NDArray[np.float64]
    """The same in standard errors of the draws it was estimated from."""

    def happened(self, values: Floats, direction: int) -> NDArray[np.float64]:
        """Levels x draws: 1 if the event holds."""
        edge = self.thresholds[direction][:, None]
        return ((values >= edge) if direction else (values <= edge)).astype(np.float64)

    def said(self, level: int) -> str:
        """The event used at a level, as text."""
        direction = int(np.argmax(self.certain[:, level]))
        sign = "≥" if direction else "≤"
        return f"{self.name} {sign} {self.thresholds[direction, level]:.4g}"


@dataclass(frozen=True)
class Learned:
    """Everything learned about one pair: the columns, and the events of each scoring method."""

    layout: FeatureLayout
    events: tuple[Events | None, ...]
    """One per method; None if it finds nothing."""


def learn(
    before: Sequence[Observed],
    after: Sequence[Observed],
    levels: NDArray[np.float64],
    delta: float,
    *,
    boosting: bool,
) -> Learned:
    """Learn from draws of both sides: one half is used to fit the scores, the other half to set the thresholds."""
    layout = learn_layout(before, after)
    sides = [_finite(layout.matrix(side)) for side in (before, after)]
    fit, rest = halves(min(len(before), len(after)))
    names = layout.names
    events = [
        _column_events(sides, names, levels, delta),
        _judged("likelihood ratio of the numbers", additive, sides, fit, rest, layout.independent, levels, delta),
        None,
    ]
    if boosting and fit.size >= ENOUGH:
        events[2] = _judged("learned score", boosted, sides, fit, rest, len(names), levels, delta)
    return Learned(layout, tuple(events))


def values_of(learned: Learned, draws: Sequence[Observed]) -> list[Floats | None]:
    """The scores of fresh draws, by every method."""
    matrix = _finite(learned.layout.matrix(draws))
    return [None if events is None else events.score(matrix) for events in learned.events]


def _finite(matrix: Matrix) -> Matrix:
    return np.clip(matrix, -LARGEST, LARGEST)  # nan stays


def _judged(
    name: str,
    way: Callable[[Matrix, Matrix], Score | None],
    sides: list[Matrix],
    fit: NDArray[np.int64],
    rest: NDArray[np.int64],
    columns: int,
    levels: NDArray[np.float64],
    delta: float,
) -> Events | None:
    first, second = (side[:, :columns] for side in sides)
    score = way(first[fit], second[fit])
    if score is None or not rest.size:
        return None

    def cut(matrix: Matrix) -> Floats:
        return score(matrix[:, :columns])

    return _with_thresholds(name, cut, score(first[rest]), score(second[rest]), levels, delta)


# The scoring methods.


def _column_events(sides: list[Matrix], names: list[str], levels: NDArray[np.float64], delta: float) -> Events | None:
    """The one column that shows the largest loss with some certainty: an event of a single number."""
    best, chosen = (-np.inf, -np.inf), None
    epsilon = float(levels[STATED])
    most = [
        *np.argsort(-_apart(*sides), kind="stable")[:COLUMNS],
        *np.argsort(-_rare(sides[0], sides[1], epsilon))[:RARE_COLUMNS],
    ]
    for column in dict.fromkeys(int(column) for column in most):
        low = min(_least(side[:, column]) for side in sides) - 1.0

        def score(matrix: Matrix, column: int = column, low: float = low) -> Floats:
            return np.nan_to_num(matrix[:, column], nan=low)

        first, second = (score(side) for side in sides)
        events = _with_thresholds(names[column], score, first, second, levels, delta)
        if (found := promise(events, levels)) > best:
            best, chosen = found, events
    return chosen


def _apart(first: Matrix, second: Matrix) -> Floats:
    """How well a threshold on each column can separate the two sides: the largest |p - q| in standard errors."""
    both = np.nan_to_num(np.concatenate([first, second]), nan=-np.inf)
    order = np.argsort(both, axis=0, kind="stable")
    ordered = np.take_along_axis(both, order, axis=0)
    of_first = np.cumsum(order < len(first), axis=0)
    of_second = np.arange(1, len(both) + 1)[:, None] - of_first
    p, q = of_first / max(1, len(first)), of_second / max(1, len(second))
    # Rare events count too: the distance is scaled by the frequency of both sides together in the shorter tail.
    tail = np.minimum(p + q, 2 - p - q) + 1 / max(1, len(both))
    last = np.ones(both.shape, dtype=bool)
    last[:-1] = ordered[1:] != ordered[:-1]
    return np.where(last, np.abs(p - q) / np.sqrt(tail), 0.0).max(axis=0)


def _rare(first: Matrix, second: Matrix, epsilon: float) -> Floats:
    """How certain it is that what a column says, yes or no, is too likely with the row: q - e^ε p in standard errors. Such an
    event may be so rare that all others separate the two sides better, although they are private."""
    n = max(1, min(len(first), len(second)))
    p, q = ((side == 1).sum(axis=0) / n for side in (first, second))
    error = np.sqrt((q + math.exp(2 * epsilon) * p + 0.5 / n) / n)
    plain = ((first == 0) | (first == 1)).all(axis=0) & ((second == 0) | (second == 1)).all(axis=0)
    return np.where(plain, (q - math.exp(epsilon) * p) / error, -np.inf)


def _least(values: Floats) -> float:
    there = values[~np.isnan(values)]
    return float(there.min()) if there.size else 0.0


def additive(first: Matrix, second: Matrix) -> Score | None:
    """The sum of each column's own log likelihood ratio: exact if the numbers have independent noise."""
    tables: list[tuple[int, Floats, Floats]] = []
    for column in range(first.shape[1]):
        edges = edges_of(np.concatenate([first[:, column], second[:, column]]))
        counts = [np.bincount(bin_of(side[:, column], edges), minlength=edges.size + 2) for side in (first, second)]
        total = counts[0] + counts[1]
        used = total > 0
        freedom = int(used.sum()) - 1
        if freedom < 1:
            continue
        chi2 = float(((counts[1] - counts[0]) ** 2 / np.maximum(total, 1)).sum())
        if chi2 < freedom + 3 * np.sqrt(2 * freedom):
            continue  # no more than chance: it would only add noise
        tables.append((column, edges, np.log((counts[1] + 1.0) / (counts[0] + 1.0))))
    if not tables:
        return None

    def score(matrix: Matrix) -> Floats:
        return np.sum([ratio[bin_of(matrix[:, column], edges)] for column, edges, ratio in tables], axis=0)

    return score


def edges_of(values: Floats) -> Floats:
    """Where the intervals of a number begin: at each value if there are few, otherwise at quantiles."""
    there = values[~np.isnan(values)]
    different = np.unique(there)
    if different.size <= BINS:
        return different
    return np.unique(np.quantile(there, np.linspace(0, 1, BINS + 1)[1:-1], method="nearest"))


def bin_of(values: Floats, edges: Floats) -> NDArray[np.int64]:
    """0: below the first edge; i: from edge i on; the last: missing."""
    return np.where(np.isnan(values), edges.size + 1, np.searchsorted(edges, values, side="right"))


def boosted(first: Matrix, second: Matrix) -> Score | None:
    """Gradient boosting over all columns: finds what only several columns show together."""
    try:
        from sklearn.ensemble import HistGradientBoostingClassifier
    except ImportError:
        raise UserError(
            "a mechanism whose random numbers do not all come from `noise` cannot be replayed, and the sequential test of its "
            "releases needs scikit-learn: pip install 'dpbench-repro[audit]'"
        ) from None

    first, second = first[-MOST:], second[-MOST:]
    both = np.concatenate([first, second])
    varied = np.flatnonzero(~((both == both[:1]) | (np.isnan(both) & np.isnan(both[:1]))).all(axis=0))
    if not varied.size:
        return None
    rows = len(both)
    model = HistGradientBoostingClassifier(
        max_iter=20 if rows < 1000 else 50,
        learning_rate=0.2 if rows < 1000 else 0.12,
        max_leaf_nodes=6 if rows < 1000 else 12,
        min_samples_leaf=10 if rows < 1000 else 25,
        max_bins=63,
        l2_regularization=1.0,
        early_stopping=False,
        random_state=0,
    )
    with _one_thread():
        model.fit(both[:, varied], np.repeat([0, 1], [len(first), len(second)]))

    def score(matrix: Matrix) -> Floats:
        with _one_thread():
            return model.decision_function(matrix[:, varied])

    return score


def _one_thread() -> AbstractContextManager[object]:
    """Limit boosting to one thread: on a busy machine, waiting threads make it many times slower."""
    return _threads().limit(limits=1)


@functools.cache
def _threads() -> ThreadpoolController:
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


# Thresholds and their expected gain.


def _with_thresholds(
    name: str, score: Score, first: Floats, second: Floats, levels: NDArray[np.float64], delta: float
) -> Events:
    """The threshold of each direction and level with the most significant gain: p - e^ε q - δ over its standard error."""
    tried = np.unique(np.concatenate([first, second]))
    if tried.size > QUANTILES:
        # Rare events show up at the ends only: there, thresholds are closer.
        ends = np.geomspace(1 / tried.size, 0.5 / QUANTILES, EXTREME) if tried.size > 2 * QUANTILES else np.empty(0)
        shares = np.concatenate([np.linspace(0, 1, QUANTILES), ends, 1 - ends])
        tried = np.unique(np.quantile(np.concatenate([first, second]), np.sort(shares), method="nearest"))
    a, b = np.sort(first), np.sort(second)
    n, m = a.size, b.size
    factor = np.exp(levels)[:, None]
    thresholds, gain, certain = (np.empty((2, levels.size)) for _ in range(3))
    for direction in (0, 1):
        if direction:
            hits, misses = m - np.searchsorted(b, tried, "left"), n - np.searchsorted(a, tried, "left")
        else:
            hits, misses = np.searchsorted(a, tried, "right"), np.searchsorted(b, tried, "right")
        # Half a case is added against us, so that an event that was never seen does not count as impossible.
        p, q = hits / ((m if direction else n) + 1), (misses + 0.5) / ((n if direction else m) + 1)
        won = p - factor * q - delta
        error = np.sqrt((p * (1 - p) + factor**2 * q * (1 - q)) / min(n, m))
        z = won / np.maximum(error, 1e-12)
        at = np.argmax(z, axis=1)
        rows = np.arange(levels.size)
        thresholds[direction], gain[direction], certain[direction] = tried[at], won[rows, at], z[rows, at]
    return Events(name, score, thresholds, gain, certain)


def promise(events: Events, levels: NDArray[np.float64]) -> tuple[float, float]:
    """Priority of an event for further draws: the largest loss it shows at two standard errors, then its significance."""
    best = events.certain.max(axis=0)
    shown = np.flatnonzero(best >= 2)
    if not shown.size:
        return (-1.0, float(best[0]))
    top = int(shown[-1])
    return (float(levels[top]), float(best[min(top + 1, levels.size - 1)]))
