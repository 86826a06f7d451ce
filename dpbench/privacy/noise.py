"""`Noise`: the only place that draws privacy-relevant randomness. Every such step of a mechanism is one call.

Each step has a generator of its own, keyed by 128 bits drawn once for the release, by the step's name and by how often
that name occurred before. So the noise of a step does not depend on how many numbers earlier steps drew, and a release
can be replayed on neighbouring data step by step.

Noise of the form "float" is for research: floating-point noise has gaps that can reveal which of two neighbours was the
input (Mironov 2012). The form "exact" draws with integers only (exact.py) and, with rng="secure", from the operating
system's generator: for a real release.
Imported by mechanisms and audits.
"""

from __future__ import annotations

import secrets
from typing import Any, Literal, Protocol, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpbench.errors import UserError, one_of
from dpbench.numerics import keyed
from dpbench.privacy import _samplers as samplers
from dpbench.privacy import _steps as steps
from dpbench.privacy import exact
from dpbench.privacy._words import SEEDED, SYSTEM, Seeded, System, Words

FORMS = ("float", "exact")
SECURE = "secure"
NORMS = ("inf", "counts")

Outcome = TypeVar("Outcome")


class Law(Protocol[Outcome]):
    """A distribution that a mechanism draws one outcome from: a list of columns, of entries, or a synthetic table."""

    def draw(self, rng: np.random.Generator) -> Outcome:
        """One outcome."""
        ...

    def log_probability(self, outcome: Outcome) -> float:
        """The logarithm of the outcome's probability. Raises NotImplementedError with the reason if no closed form is known."""
        ...


class Noise:
    """The random steps of one release.

    Every step takes `step`, its name for audits; by default the kind of the step is its name. Inputs are never changed,
    outputs are new arrays.
    """

    def __init__(self, rng: np.random.Generator | Literal["secure"], form: str = "float") -> None:
        one_of("noise", form, FORMS)
        self.form = form
        if isinstance(rng, str):
            one_of("rng", rng, (SECURE,))
            if form != "exact":
                why = "float noise is for research, its gaps can reveal the input (Mironov 2012)"
                raise UserError(f'rng="secure" is for a real release, which needs noise="exact": {why}')
        elif not isinstance(rng, np.random.Generator):
            raise UserError(f'rng={rng!r} is not valid: expected a numpy Generator, or "secure"')
        self.secure = isinstance(rng, str)
        bits = secrets.token_bytes(16) if isinstance(rng, str) else rng.bytes(16)
        self._bits = np.frombuffer(bits, dtype="<u4").tolist()
        self._occurred: dict[str, int] = {}

    @property
    def randomness(self) -> str:
        """Where the random numbers come from, as text."""
        return SYSTEM if self.secure else SEEDED

    def laplace(
        self,
        values: ArrayLike,
        *,
        scale: ArrayLike,
        parts: ArrayLike | None = None,
        sensitivity: float | None = None,
        step: str = "",
    ) -> NDArray[np.float64]:
        """values + Lap(scale), independently; `scale` is one number, or one per value.

        For values that are not integers, exact noise needs one of two facts, which float noise ignores: `parts`, if the values
        are integers divided by `parts` (such as averages of `parts` columns); or `sensitivity`, the L1 distance by which one
        row can move them. With `sensitivity` they are rounded to a power of two, and the scale grows accordingly.
        """
        given, scales = np.asarray(values), np.asarray(scale, dtype=np.float64)
        if scales.ndim and scales.shape != given.shape:
            raise ValueError(f"scale has the shape {scales.shape}: expected one number or {given.shape}")
        if not (scales >= 0).all():
            raise ValueError("scale must be 0 or more")
        if self.form == "exact":
            return steps.laplace(given, scales, parts, sensitivity, self._words(step or "laplace"))
        noisy = np.asarray(self._generator(step or "laplace").laplace(0.0, scales, given.shape))
        noisy += given
        return noisy

    def geometric(self, values: ArrayLike, *, alpha: float, step: str = "") -> NDArray[Any]:
        """values + two-sided geometric noise, P[x] = (1-α)/(1+α) α^|x|. Values are whole numbers, as integers or floats."""
        if not 0 < alpha < 1:
            raise ValueError(f"alpha={alpha!r} is not valid: expected a number between 0 and 1")
        given = np.asarray(values)
        given = given if given.dtype == np.float64 else given.astype(np.int64, copy=False)
        if self.form == "exact":
            return steps.geometric(given, alpha, self._words(step or "geometric"))
        return samplers.add_geometric(given, alpha, self._generator(step or "geometric"))

    def gaussian(self, values: ArrayLike, *, sigma: float, shared: float = 0.0, step: str = "") -> NDArray[np.float64]:
        """values + N(0, sigma²) independently, plus one draw of N(0, shared²) that is added to all of them.

        Exact: the discrete Gaussian on integers, without `shared`. It has the same zCDP parameter ρ = Δ₂²/2σ² but not the same
        δ: take sigma from `dpbench.numerics.gaussian.discrete_sigma`.
        """
        if not (sigma >= 0 and shared >= 0):
            raise ValueError(f"sigma={sigma!r} and shared={shared!r}: expected 0 or more")
        given = np.asarray(values)
        if self.form == "exact":
            if shared:
                raise _inexact("gaussian", "noise that all values have in common has no discrete form with a known δ")
            return steps.gaussian(given, sigma, self._words(step or "gaussian"))
        rng = self._generator(step or "gaussian")
        common = rng.normal(0.0, shared)
        noisy = np.asarray(rng.normal(common, sigma, given.shape))
        noisy += given
        return noisy

    def ball(self, values: ArrayLike, *, norm: str, epsilon: float, step: str = "") -> NDArray[np.float64]:
        """values + noise of density ∝ exp(-ε ‖x‖). norm "inf": the largest |x|; "counts": max x⁺ + max x⁻. In either norm a row
        of zeros and ones moves counts by at most 1. The radius is part of the noise and must never be shown."""
        one_of("norm", norm, NORMS)
        _positive("epsilon", epsilon)
        if self.form == "exact":
            raise _inexact("ball", INEXACT["ball"])
        given, rng = np.asarray(values), self._generator(step or "ball")
        sample = samplers.cube if norm == "inf" else samplers.counts_ball
        noisy = sample(given.size, epsilon, rng).reshape(given.shape)
        noisy += given
        return noisy

    def choose(self, scores: ArrayLike, *, epsilon: float, sensitivity: float, monotone: bool, step: str = "") -> int:
        """The exponential mechanism: index i of the (flattened) scores with probability ∝ exp(ε s_i / (2 Δ)), without
        the 2 if a row moves all scores in one direction (monotone). Uses Gumbel noise, so nothing overflows.

        Exact: the scores are rounded to about a millionth of the sensitivity, which is enlarged by 4 such units to cover this
        rounding and that of the doubles in which the scores were computed."""
        _positive("epsilon", epsilon)
        _positive("sensitivity", sensitivity)
        given = np.asarray(scores, dtype=np.float64).reshape(-1)
        if self.form == "exact":
            return steps.choose(given, epsilon, sensitivity, monotone, self._words(step or "choose"))
        exponent = epsilon / (sensitivity if monotone else 2 * sensitivity)
        return int(np.argmax(exponent * given + self._generator(step or "choose").gumbel(size=given.size)))

    def draw(self, law: Law[Outcome], *, step: str = "") -> Outcome:
        """Draw one outcome of a distribution."""
        if self.form == "exact":
            raise _inexact("draw", INEXACT["draw"])
        return law.draw(self._generator(step or "draw"))

    def rows(self, n: int, *, rate: float, step: str = "") -> NDArray[np.int64]:
        """A sample that contains each of n rows independently with probability `rate`, ascending: it amplifies privacy. One more
        row at the end changes nothing for the others."""
        if not 0 <= rate <= 1:
            raise ValueError(f"rate={rate!r} is not valid: expected a number from 0 to 1")
        if self.form == "exact":
            return exact.below(int(n), float(rate), self._words(step or "rows"))
        return samplers.poisson_rows(int(n), float(rate), self._generator(step or "rows"))

    def stream(self, name: str) -> np.random.Generator:
        """A generator for choices that cost no budget: which column of a row, ties, rounding, tuning.

        Consume it row by row, so that one more row at the end leaves the choices for all other rows the same. Nothing that
        protects a row may come from it.
        """
        return self._generator(f"stream {name}")

    def _words(self, name: str) -> Words:
        """The random bits of a step of exact noise."""
        return System() if self.secure else Seeded(self._generator(name))

    def _generator(self, name: str) -> np.random.Generator:
        occurrence = self._occurred.get(name, 0)
        self._occurred[name] = occurrence + 1
        # As an array of 32-bit words: numpy takes five times as long for a list of the same numbers.
        key = np.array([*self._bits, *keyed.key(name), occurrence], dtype=np.uint32)
        return np.random.Generator(np.random.PCG64(np.random.SeedSequence(key)))


INEXACT = {
    "ball": "noise on a ball is drawn from real numbers",
    "draw": "the distribution is drawn with floating-point numbers",
}
"""The steps that have no exact form, and why."""


def _inexact(step: str, reason: str) -> UserError:
    return UserError(f'the step `{step}` has no exact noise: {reason}; expected noise="float"')


def _positive(what: str, value: float) -> None:
    if not 0 < value < np.inf:
        raise ValueError(f"{what}={value!r} is not valid: expected a positive number")
