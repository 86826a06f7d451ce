"""Exact output probabilities of what is drawn as a whole: every outcome of a law, on both neighbours.

A law for `Noise.draw` that can list its outcomes has a method `outcomes()`, beside `draw` and `log_probability`; it is
used on tiny domains only. One whose outcome is an array of independent parts may have `independent()`: the chances of each
part to be 0, 1, ...; it is used on larger ones. One with neither may have `bound(other)`: no outcome has probabilities under the
two laws whose logarithms are further apart. Imported by the audit by replay; knows no mechanism.
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
"""Outcomes that are enumerated."""
OFF = 1e-8
"""By how much probabilities may miss a sum of 1."""


class NotEnumerable(Exception):
    """Why the probabilities of a law are not known."""


class TooMany(Exception):
    """There are more outcomes than are enumerated: smaller data are wanted."""


@dataclass
class Samplers:
    """Whether draws follow the probabilities that their laws state.

    Each drawn outcome becomes a number that is uniform on (0, 1) if the law is right: the probability of all outcomes
    before it, the likelier ones first and equal ones as they are listed, and a random part of its own.
    """

    rng: np.random.Generator
    places: dict[str, list[float]] = field(default_factory=dict)

    def note(self, step: str, probabilities: NDArray[np.float64], drawn: int) -> None:
        own = probabilities[drawn]
        before = probabilities[probabilities > own].sum() + probabilities[:drawn][probabilities[:drawn] == own].sum()
        self.places.setdefault(step, []).append(float(before + self.rng.random() * own))

    def note_one(self, step: str, chances: NDArray[np.float64], drawn: Any) -> None:
        """The same of one of many independent parts."""
        part = int(self.rng.integers(len(chances)))
        self.note(step, chances[part], int(np.asarray(drawn).ravel()[part]))

    def wrong(self, alarm: float = 1e-9) -> str:
        """The step whose draws cannot come from its law (false alarm: `alarm` each); empty when there is none."""
        from scipy.stats import kstest

        return next((step for step, found in self.places.items() if kstest(found, "uniform").pvalue < alarm), "")


@dataclass(frozen=True, eq=False)
class Enumerated:
    """The outcomes that either law has, and their probabilities."""

    one: NDArray[np.float64]
    other: NDArray[np.float64]
    at: dict[Hashable, int]

    def place(self, outcome: Any) -> int:
        return self.at[name_of(outcome)]


def enumerate_laws(one: Any, other: Any) -> Enumerated:
    """Both laws over all outcomes of either. Raises `TooMany`, or `NotEnumerable` where there is no list of them."""
    found = {name_of(outcome): outcome for law in (one, other) for outcome in _listed(law)}
    first, second = (np.exp([log_probability(law, outcome) for outcome in found.values()]) for law in (one, other))
    for law in (first, second):
        if abs(float(law.sum()) - 1) > OFF:
            raise NotEnumerable(f"the probabilities of all outcomes add up to {law.sum():.9g}, not to 1")
    return Enumerated(first, second, {name: at for at, name in enumerate(found)})


def independent_laws(one: Any, other: Any) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
    """The chances of all parts under both laws, one row for each part; None where they are few enough to list all
    outcomes, or not independent."""
    if not all(callable(getattr(law, "independent", None)) for law in (one, other)):
        return None
    first, second = one.independent(), other.independent()
    return None if max(len(first), len(second)) <= math.log2(MOST) else (first, second)


def stated_bound(one: Any, other: Any) -> float | None:
    """The most that the draw costs, where its law says so."""
    return float(one.bound(other)) if callable(getattr(one, "bound", None)) and type(one) is type(other) else None


def log_probability(law: Any, outcome: Any) -> float:
    try:
        return float(law.log_probability(outcome))
    except NotImplementedError as error:
        raise NotEnumerable(str(error) or "its probabilities are not known") from None


def recorded_ratio(one: Any, other: Any, outcome: Any) -> float:
    """|ln p/q| of one outcome alone: a lower bound of what the draw costs."""
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
    """An outcome as something that can be looked up: arrays by their numbers."""
    if isinstance(outcome, tuple | list):
        return tuple(name_of(part) for part in outcome)
    return tuple(outcome.ravel().tolist()) if isinstance(outcome, np.ndarray) else outcome
