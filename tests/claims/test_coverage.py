"""How often intervals hold the truth, for every kind of expression, at the numbers of trials that runs have.

An interval of 95 % must cover at least 93 %. The laws are the hardest that mechanisms have: the square of one Laplace draw (a
mean squared error of one noisy number), averages of a few, and precisions near their upper end. The quick version has 60
samples and fails below 83 %: by chance that happens with a probability below 0.001 where the coverage is 95 %, and with almost
90 % where it is 76 %, as Student's interval has it for such squares. The slow one has 1500 samples: its standard error at 95 % is
0.6 %, so that 93 % is three and a half of them away.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from dpbench.claims.cells import CellTrials
from dpbench.claims.scope import Scope

from support.verdicts import evaluate

Make = Callable[[np.random.Generator, int], list[CellTrials]]


def squares(rng: np.random.Generator, n: int, k: int) -> np.ndarray:
    """Mean squared errors of k numbers with Laplace noise; their mean is 2."""
    return (rng.laplace(size=(n, k)) ** 2).mean(axis=1)


def mse(*parts: int, offset: float = 0.0) -> Make:
    """One cell for each number of draws in an average."""
    return lambda rng, n: [
        CellTrials(f"c{i}", {"m": i, "w": i}, {"mse": offset + squares(rng, n, k)}) for i, k in enumerate(parts)
    ]


def hits(k: int, *shares: float) -> Make:
    """Precisions of k items, each found with a probability of its own."""
    task = {"task": "record_analytics"}
    return lambda rng, n: [
        CellTrials(f"c{i}", {**task, "m": i}, {f"precision_at_{k}": rng.binomial(k, share, n) / k})
        for i, share in enumerate(shares)
    ]


def paired(rng: np.random.Generator, n: int) -> list[CellTrials]:
    first = rng.exponential(size=n)
    return [CellTrials("c", {}, {"mae": first, "l1": first + rng.exponential(size=n)})]


def slope(rng: np.random.Generator, n: int) -> list[CellTrials]:
    return [CellTrials(f"c{w}", {"w": w}, {"mse": squares(rng, n, 5) + 0.1 * abs(w - 4)}) for w in range(12)]


def draws_of_data(rng: np.random.Generator, n: int) -> list[CellTrials]:
    seeds = np.repeat(np.arange(5), n)
    shared = 1 + 0.1 * rng.standard_normal(5)[seeds]
    return [CellTrials(name, {"m": name}, {"mse": shared * squares(rng, 5 * n, 3)}, seeds) for name in "ab"]


KINDS: dict[str, tuple[Make, str, float]] = {
    "the square of one draw": (mse(1, offset=5), "mse()", 7),
    "the mean of five squares": (mse(5), "mse()", 2),
    "a ratio of heavy tails": (mse(1, 1), "mse(m=0) / mse(m=1)", 1),
    "a ratio": (mse(5, 20), "mse(m=0) / mse(m=1)", 1),
    "the least of twelve": (mse(*[5] * 12), "least(mse(), over=w)", 2),
    "the most of twelve": (mse(*[5] * 12), "most(mse(), over=w)", 2),
    "one over the least": (mse(*[5] * 13), "mse(m=12) / least(mse(), over=w) - 1", 0),
    "the place of the least": (slope, "argmin(mse(), over=w)", 4),
    "the largest of three": (mse(5, 5, 5, 20), "max(mse(m=0), mse(m=1), mse(m=2)) / mse(m=3)", 1),
    "an absolute value": (mse(5, 5), "abs(mse(m=0) - mse(m=1))", 0),
    "an average of cells": (mse(1, 2, 5, 5), "average(mse(), over=w)", 2),
    "metrics of one cell": (paired, "l1() / mae()", 2),
    "a precision of 1": (hits(1, 0.97), "precision_at_1()", 0.97),
    "a precision of 10": (hits(10, 0.97), "precision_at_10()", 0.97),
    "a precision of 10 in the middle": (hits(10, 0.5), "precision_at_10()", 0.5),
    "a difference of precisions": (hits(10, 0.98, 0.9), "precision_at_10(m=0) - precision_at_10(m=1)", 0.08),
    "several draws of the data": (draws_of_data, "mse(m=a)", 2),
    "a ratio over draws of the data": (draws_of_data, "mse(m=a) / mse(m=b)", 1),
}


def coverage(kind: str, trials: int, samples: int) -> float:
    make, text, truth = KINDS[kind]
    rng = np.random.default_rng([trials, len(kind)])
    held = 0
    for _ in range(samples):
        found = evaluate(text, Scope(make(rng, trials)))
        held += found.low - 1e-12 <= truth <= found.high + 1e-12
    return held / samples


@pytest.mark.parametrize("kind", KINDS)
def test_intervals_cover_in_a_few_samples(kind: str) -> None:
    assert coverage(kind, 10, 60) >= 0.83


@pytest.mark.slow
@pytest.mark.parametrize("trials", [6, 10, 20, 100, 200])
@pytest.mark.parametrize("kind", KINDS)
def test_intervals_cover(kind: str, trials: int) -> None:
    assert coverage(kind, trials, 1500) >= 0.93
