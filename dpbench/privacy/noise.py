"""`Noise`: the only place that draws privacy-relevant randomness. Every such step of a mechanism is one call of it.

Each step has a generator of its own, keyed by 128 bits drawn once for the release, by the step's name and by how often
that name occurred before. So a step's noise does not depend on how many numbers the steps before it drew, and a release
can be replayed on neighbouring data step by step.
Imported by mechanisms and audits.
"""

from __future__ import annotations

from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpbench.errors import UserError, one_of
from dpbench.numerics import keyed
from dpbench.privacy import _samplers as samplers

FORMS = ("float", "exact")
NORMS = ("inf", "counts")

Outcome = TypeVar("Outcome")


class Law(Protocol[Outcome]):
    """A distribution that a mechanism draws from as a whole: which columns, which entries, which synthetic table."""

    def draw(self, rng: np.random.Generator) -> Outcome:
        """One outcome."""
        ...

    def log_probability(self, outcome: Outcome) -> float:
        """The logarithm of its probability (NotImplementedError with the reason where no closed form is known)."""
        ...


class Noise:
    """The random steps of one release.

    Every step takes `step`, a name of its own for audits; without it the kind of the step is its name. What goes in is
    never changed, what comes out is a fresh array.
    """

    def __init__(self, rng: np.random.Generator, form: str = "float") -> None:
        one_of("noise", form, FORMS)
        if form == "exact":
            raise UserError('noise="exact" is not there yet: expected noise="float"')
        self.form = form
        self._bits = [int(word) for word in rng.integers(0, 2**32, 4)]
        self._occurred: dict[str, int] = {}

    def laplace(self, values: ArrayLike, *, scale: ArrayLike, step: str = "") -> NDArray[np.float64]:
        """values + Lap(scale), independently; `scale` is one number, or one for each value."""
        exact, scales = np.asarray(values), np.asarray(scale, dtype=np.float64)
        if scales.ndim and scales.shape != exact.shape:
            raise ValueError(f"scale has the shape {scales.shape}: expected one number or {exact.shape}")
        if not np.all(scales >= 0):
            raise ValueError("scale must be 0 or more")
        noisy = np.asarray(self._generator(step or "laplace").laplace(0.0, scales, exact.shape))
        noisy += exact
        return noisy

    def geometric(self, values: ArrayLike, *, alpha: float, step: str = "") -> NDArray[Any]:
        """values + two-sided geometric noise, P[x] = (1-α)/(1+α) α^|x|. Whole numbers, as integers or as floats."""
        if not 0 < alpha < 1:
            raise ValueError(f"alpha={alpha!r} is not valid: expected a number between 0 and 1")
        exact = np.asarray(values)
        exact = exact if exact.dtype == np.float64 else exact.astype(np.int64, copy=False)
        return samplers.add_geometric(exact, alpha, self._generator(step or "geometric"))

    def gaussian(self, values: ArrayLike, *, sigma: float, shared: float = 0.0, step: str = "") -> NDArray[np.float64]:
        """values + N(0, sigma²) independently, and one more N(0, shared²) that all of them have in common."""
        if not (sigma >= 0 and shared >= 0):
            raise ValueError(f"sigma={sigma!r} and shared={shared!r}: expected 0 or more")
        exact, rng = np.asarray(values), self._generator(step or "gaussian")
        common = rng.normal(0.0, shared)
        noisy = np.asarray(rng.normal(common, sigma, exact.shape))
        noisy += exact
        return noisy

    def ball(self, values: ArrayLike, *, norm: str, epsilon: float, step: str = "") -> NDArray[np.float64]:
        """values + noise of density ∝ exp(-ε ‖x‖): "inf", the largest |x|; "counts", max x⁺ + max x⁻, by which no row
        of zeros and ones moves counts by more than 1. The radius is part of the noise: it must never be shown."""
        one_of("norm", norm, NORMS)
        _positive("epsilon", epsilon)
        exact, rng = np.asarray(values), self._generator(step or "ball")
        sample = samplers.cube if norm == "inf" else samplers.counts_ball
        noisy = sample(exact.size, epsilon, rng).reshape(exact.shape)
        noisy += exact
        return noisy

    def choose(self, scores: ArrayLike, *, epsilon: float, sensitivity: float, monotone: bool, step: str = "") -> int:
        """The exponential mechanism: place i of the (flattened) scores with probability ∝ exp(ε s_i / (2 Δ)), without
        the 2 where a row moves all scores in one direction (monotone). By Gumbel noise, so nothing overflows."""
        _positive("epsilon", epsilon)
        _positive("sensitivity", sensitivity)
        exact = np.asarray(scores, dtype=np.float64).reshape(-1)
        exponent = epsilon / (sensitivity if monotone else 2 * sensitivity)
        return int(np.argmax(exponent * exact + self._generator(step or "choose").gumbel(size=exact.size)))

    def draw(self, law: Law[Outcome], *, step: str = "") -> Outcome:
        """One outcome of a law."""
        return law.draw(self._generator(step or "draw"))

    def rows(self, n: int, *, rate: float, step: str = "") -> NDArray[np.int64]:
        """Each of n rows independently with probability `rate`, ascending: privacy is amplified by sampling. One more
        row at the end changes nothing for the others."""
        if not 0 <= rate <= 1:
            raise ValueError(f"rate={rate!r} is not valid: expected a number from 0 to 1")
        return samplers.poisson_rows(int(n), float(rate), self._generator(step or "rows"))

    def stream(self, name: str) -> np.random.Generator:
        """A generator for choices that cost no budget: which column of a row, ties, rounding, tuning.

        Whoever takes it must consume it row by row, so that one more row at the end leaves the choices for all others
        the same. Nothing that hides a row may come from it.
        """
        return self._generator(f"stream {name}")

    def _generator(self, name: str) -> np.random.Generator:
        occurrence = self._occurred.get(name, 0)
        self._occurred[name] = occurrence + 1
        key = [*self._bits, *keyed.key(name), occurrence]
        return np.random.Generator(np.random.PCG64(np.random.SeedSequence(key)))


def _positive(what: str, value: float) -> None:
    if not 0 < value < np.inf:
        raise ValueError(f"{what}={value!r} is not valid: expected a positive number")
