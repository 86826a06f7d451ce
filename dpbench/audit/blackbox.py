"""Empirical lower bounds of epsilon: what a mechanism shows of one row, measured and not assumed.

A mechanism is run many times on two neighbouring datasets. On one half of the releases an event is chosen that tells
them apart best; on the other half its two probabilities are bounded (Clopper and Pearson), and ln(p/q) from below is a
privacy loss that the mechanism certainly has. It never proves privacy; above the stated ε it proves a fault.
Imported by the `audit` verb; imports data kinds and the registry of mechanisms.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpbench.data import Catalogue, Contingency, Data, History, Incidence, Records, Release
from dpbench.data.summary import Entries, Estimated
from dpbench.mechanisms.base import MECHANISMS

QUANTILES = 64
"""Thresholds tried for each published number."""


@dataclass(frozen=True)
class Pair:
    """Two neighbouring datasets, small enough that one row shows as much as it ever can."""

    name: str
    before: Data
    after: Data


@dataclass(frozen=True)
class Finding:
    """The largest certain privacy loss found for one mechanism."""

    mechanism: str
    epsilon: float
    bound: float
    """Lower confidence bound of the loss; at most ε for a correct private mechanism."""
    pair: str
    event: str
    not_private: str
    """Why the mechanism, with the audited parameters, declares itself not private; empty when it does not."""
    pairs: int = 0
    """Number of pairs that were tried; with none, nothing was measured."""

    @property
    def violated(self) -> bool:
        return self.bound > self.epsilon


def incidence_pairs() -> list[Pair]:
    rows = [[0, 1], [1, 2], [1], [3]]
    base = Incidence.from_rows(rows, columns=4)
    return [
        Pair("one row with one 1", base, Incidence.from_rows([*rows, [0]], columns=4)),
        Pair("one row as large as the bound", base, Incidence.from_rows([*rows, [2, 3]], columns=4)),
        Pair("the first row of all", Incidence.from_rows([], columns=2), Incidence.from_rows([[0, 1]], columns=2)),
    ]


def records_pairs() -> list[Pair]:
    users = [[(0, 0), (1, 1)], [(1, 0)], [(2, 1), (2, 0)]]
    base = Records.from_rows(users, items=3)
    return [
        Pair("one user, two items", base, Records.from_rows([*users, [(0, 0), (1, 1)]], items=3)),
        Pair("one user, one item twice", base, Records.from_rows([*users, [(0, 1), (0, 1)]], items=3)),
    ]


def contingency_pairs() -> list[Pair]:
    counts = {0: 3, 3: 1, 5: 6}
    base = Contingency.from_dict(counts, size=8)
    return [
        Pair("one more in a filled cell", base, Contingency.from_dict({**counts, 5: 7}, size=8)),
        Pair("the first in an empty cell", base, Contingency.from_dict({**counts, 6: 1}, size=8)),
    ]


def catalogue_pairs() -> list[Pair]:
    matrix = [[1, 1, 0], [0, 1, 1], [1, 0, 0], [0, 0, 1]]
    base = Catalogue.from_matrix(matrix, histories=[[0, 2]])
    return [Pair("one more item", base, Catalogue.from_matrix(matrix, histories=[[0, 1, 2]]))]


PAIRS: dict[str, Callable[[], list[Pair]]] = {
    "incidence": incidence_pairs,
    "records": records_pairs,
    "contingency": contingency_pairs,
    "catalogue": catalogue_pairs,
}


def looked_at_pairs() -> list[Pair]:
    """What betrays a mechanism that takes its parameters from the data: one row changes the largest row, or the
    frequencies worth keeping, and with them the noise of everybody."""
    many, few = [[0]] * 200, [[0]] * 4
    return [
        Pair(
            "a row twenty times as large as any",
            Incidence.from_rows(many, columns=20),
            Incidence.from_rows([*many, list(range(20))], columns=20),
        ),
        # At ε = 1 and a bound of 2, the fifth 1 makes FPA keep a second coefficient.
        Pair("a fifth 1", Incidence.from_rows(few, columns=2), Incidence.from_rows([*few, [0]], columns=2)),
    ]


SMALL = {"bound": 2, "k": 1}  # parameters that fit the pairs above: the largest row, the length of a ranking


def audited(name: str) -> Any:
    """The mechanism with its default parameters, but small enough for the pairs, and private by a declared bound."""
    fields = {f.name for f in dataclasses.fields(MECHANISMS.get(name))}
    return MECHANISMS.make(name, **{key: value for key, value in SMALL.items() if key in fields})


def features(release: Release) -> np.ndarray:
    """What was published, as numbers at fixed places: `release.published()`, but lists of cells are spread over the
    domain, as which places are in a summary leaks too. Sum, least, largest and range of the counts tell apart what no
    single number does: a row that moves several numbers at once, or makes them all alike."""
    parts = release.parts()
    if isinstance(release, Entries | Estimated):
        places = np.arange(release.size if release.transform == "none" else 2 * release.size)
        listed = np.isin(places, release.cells).astype(np.float64)
        parts = {name: part for name, part in parts.items() if name not in release.numbers}
        parts |= {"cells": listed, "weights": release.at(places)}
    if isinstance(release, History):
        parts.pop("history", None)  # of any length; its aggregates are there
    counts = [part for name, part in parts.items() if not name.startswith("chosen.")]
    numbers = np.concatenate([np.empty(0), *counts])
    low, high = numbers.min(initial=np.inf), numbers.max(initial=-np.inf)
    return np.concatenate([*parts.values(), [numbers.sum(), low, high, high - low]])


def audit(name: str, epsilon: float, trials: int, seed: int = 0, alpha: float = 0.01) -> Finding:
    """The largest certain privacy loss of a mechanism, with confidence 1 - alpha over all pairs and directions."""
    mechanism = audited(name)
    pairs = [
        p for kind in mechanism.kinds for p in PAIRS[kind]() if not mechanism.unfit(p.before) + mechanism.unfit(p.after)
    ]
    nothing = Finding(name, epsilon, -math.inf, "", "", mechanism.not_private())
    return _find(nothing, mechanism, pairs, trials, seed, alpha)


def certain_loss(name: str, epsilon: float, **parameters: Any) -> float:
    """The privacy loss that a mechanism with these parameters certainly has (95 % confidence), where one row changes
    what it takes from the data; at least 0."""
    mechanism = MECHANISMS.make(name, **parameters)
    pairs = [p for p in looked_at_pairs() if not mechanism.unfit(p.before) + mechanism.unfit(p.after)]
    nothing = Finding(name, epsilon, 0.0, "", "", mechanism.not_private())
    return _find(nothing, mechanism, pairs, trials=400, seed=0, alpha=0.05).bound


def _find(best: Finding, mechanism: Any, pairs: list[Pair], trials: int, seed: int, alpha: float) -> Finding:
    """`best`, or the larger loss that one of the pairs shows."""
    best = dataclasses.replace(best, pairs=len(pairs))
    each = alpha / max(1, 2 * len(pairs))
    for number, pair in enumerate(pairs):
        rng = np.random.default_rng(np.random.SeedSequence([seed, number]))
        draws = [_draw(mechanism, data, best.epsilon, 2 * trials, rng) for data in (pair.before, pair.after)]
        for first, second in ((0, 1), (1, 0)):
            event = _choose(draws[first][:trials], draws[second][:trials])
            if event is None:
                continue
            hits = [int(event.holds(draws[i][trials:]).sum()) for i in (first, second)]
            loss = _loss(hits[0], hits[1], trials, each)
            if loss > best.bound:
                best = dataclasses.replace(best, bound=loss, pair=pair.name, event=str(event))
    return best


def _draw(mechanism: Any, data: Data, epsilon: float, count: int, rng: np.random.Generator) -> np.ndarray:
    return np.array([features(mechanism.release(data, epsilon, rng)) for _ in range(count)])


@dataclass(frozen=True)
class Event:
    """One published number on one side of a threshold."""

    number: int
    threshold: float
    above: bool

    def holds(self, draws: np.ndarray) -> np.ndarray:
        values = draws[:, self.number]
        return values >= self.threshold if self.above else values <= self.threshold

    def __str__(self) -> str:
        return f"number {self.number} {'≥' if self.above else '≤'} {self.threshold:.4g}"


def _choose(first: np.ndarray, second: np.ndarray) -> Event | None:
    """The event that tells the two samples apart best, judged by its bounds so that rare luck is not chosen."""
    best, chosen = 0.0, None
    n = len(first)
    for number in range(first.shape[1]):
        a, b = np.sort(first[:, number]), np.sort(second[:, number])
        thresholds = np.unique(np.quantile(np.concatenate([a, b]), np.linspace(0, 1, QUANTILES), method="nearest"))
        for above in (True, False):
            if above:
                p, q = n - np.searchsorted(a, thresholds, "left"), n - np.searchsorted(b, thresholds, "left")
            else:
                p, q = np.searchsorted(a, thresholds, "right"), np.searchsorted(b, thresholds, "right")
            # Two standard errors of ln p - ln q, instead of the exact bound, which is slow to take a thousand times.
            some, other = np.maximum(p, 1), np.maximum(q, 1)
            loss = np.log(some / other) - 2 * np.sqrt(np.maximum(1 / some + 1 / other - 2 / n, 0))
            at = int(np.argmax(loss))
            if loss[at] > best:
                best, chosen = float(loss[at]), Event(number, float(thresholds[at]), above)
    return chosen


def _loss(hits: int, misses: int, trials: int, alpha: float) -> float:
    """ln(p/q) from below: p bounded from below and q from above, each with error alpha/2 (Clopper and Pearson)."""
    from scipy.stats import beta

    low = beta.ppf(alpha / 2, hits, trials - hits + 1) if hits else 0.0
    high = beta.ppf(1 - alpha / 2, misses + 1, trials - misses) if misses < trials else 1.0
    return math.log(low / high) if low > 0 else -math.inf
