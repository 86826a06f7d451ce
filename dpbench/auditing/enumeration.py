"""Exact output probabilities of steps that draw one outcome: every outcome of the distribution, on both neighbours.

A distribution for `Noise.draw` that can list its outcomes has a method `outcomes()`, beside `draw` and `log_probability`; it
is used on tiny domains only. One whose outcome is an array of independent parts may have `independent()`: the probabilities
of each part being 0, 1, ...; it is used on larger domains. One with neither may have `bound(other)`: the log-probabilities
of an outcome under the two distributions never differ by more. Imported by the audit by replay; knows no mechanism.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

MOST = 5000
"""Most outcomes that are enumerated."""
OFF = 1e-8
"""How much the sum of probabilities may differ from 1."""


class NotEnumerable(Exception):
    """Raised with the reason why the probabilities of a distribution are not known."""


class TooMany(Exception):
    """There are too many outcomes to enumerate: smaller data is needed."""


@dataclass
class Samplers:
    """Checks that draws follow the probabilities that their distributions state.

    Each drawn outcome becomes a number that is uniform on (0, 1) if the stated distribution is right: the probability of all
    outcomes before it, likelier ones first and ties in listed order, plus a random part of its own probability.
    """

    rng: np.random.Generator
    places: dict[str, list[float]] = field(default_factory=dict)

    def note(self, step: str, probabilities: NDArray[np.float64], drawn: int) -> None:
        own = probabilities[drawn]
        before = probabilities[probabilities > own].sum() + probabilities[:drawn][probabilities[:drawn] == own].sum()
        self.places.setdefault(step, []).append(float(before + self.rng.random() * own))

    def note_one(self, step: str, chances: NDArray[np.float64], drawn: Any) -> None:
        """The same for one of many independent parts."""
        part = int(self.rng.integers(len(chances)))
        self.note(step, chances[part], int(np.asarray(drawn).ravel()[part]))

    def wrong(self, alarm: float = 1e-9) -> str:
        """The step whose draws do not follow its distribution (false alarm: `alarm` each); empty if there is none."""
        from scipy.stats import kstest

        return next((step for step, places in self.places.items() if kstest(places, "uniform").pvalue < alarm), "")


@dataclass(frozen=True, eq=False)
class Enumerated:
    """The outcomes of either distribution, and their probabilities."""

    one: NDArray[np.float64]
    other: NDArray[np.float64]
    at: dict[Hashable, int]

    def place(self, outcome: Any) -> int:
        return self.at[name_of(outcome)]


def enumerate_laws(one: Any, other: Any) -> Enumerated:
    """Both distributions over all outcomes of either. Raises `TooMany`, or `NotEnumerable` if they cannot be listed."""
    outcomes = {name_of(outcome): outcome for law in (one, other) for outcome in _listed(law)}
    first, second = (np.exp([log_probability(law, outcome) for outcome in outcomes.values()]) for law in (one, other))
    for law in (first, second):
        if abs(float(law.sum()) - 1) > OFF:
            raise NotEnumerable(f"the probabilities of all outcomes add up to {law.sum():.9g}, not to 1")
    return Enumerated(first, second, {name: at for at, name in enumerate(outcomes)})


def independent_laws(one: Any, other: Any) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
    """The probabilities of all parts under both distributions, one row per part; None if all outcomes are few enough to list,
    or the parts are not independent."""
    if not all(callable(getattr(law, "independent", None)) for law in (one, other)):
        return None
    first, second = one.independent(), other.independent()
    return None if max(len(first), len(second)) <= math.log2(MOST) else (first, second)


def stated_bound(one: Any, other: Any) -> float | None:
    """An upper bound of the cost of the draw, if its distribution states one."""
    return float(one.bound(other)) if callable(getattr(one, "bound", None)) and type(one) is type(other) else None


def log_probability(law: Any, outcome: Any) -> float:
    try:
        return float(law.log_probability(outcome))
    except NotImplementedError as error:
        raise NotEnumerable(str(error) or "its probabilities are not known") from None


def recorded_ratio(one: Any, other: Any, outcome: Any) -> float:
    """|ln p/q| of one outcome only: a lower bound of the cost of the draw."""
    first, second = log_probability(one, outcome), log_probability(other, outcome)
    return 0.0 if first == second else abs(first - second) if math.isfinite(first - second) else math.inf


def _listed(law: Any) -> list[Any]:
    outcomes = getattr(law, "outcomes", None)
    if not callable(outcomes):
        raise NotEnumerable(f"{type(law).__name__} does not list its outcomes")
    try:
        listed = list(itertools.islice(outcomes(), MOST + 1))
    except NotImplementedError as error:
        raise NotEnumerable(str(error)) from None
    if len(listed) > MOST:
        raise TooMany(f"{type(law).__name__} has more than {MOST} outcomes")
    return listed


def name_of(outcome: Any) -> Hashable:
    """An outcome in hashable form: arrays by their numbers."""
    if isinstance(outcome, tuple | list):
        return tuple(name_of(part) for part in outcome)
    return tuple(outcome.ravel().tolist()) if isinstance(outcome, np.ndarray) else outcome
