"""The step `choose`: the exponential mechanism. Used by noise.py."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpbench.errors import UserError
from dpbench.numerics.arrays import Floats
from dpbench.privacy._bounds import exp_minus, raised
from dpbench.privacy._uniform import of_choice
from dpbench.privacy._words import Words
from dpbench.privacy.exact import more_bits
from dpbench.privacy.step import Cost, RandomStep, positive

SCORES = 20
"""Scores are rounded to a power of two that is below 2^-20 of their sensitivity."""

LOST = 2.0**-50
"""Assumed rounding error of the scores, relative to the largest score."""


@dataclass(frozen=True, eq=False)
class ChooseStep(RandomStep, kind="choose"):
    """An index with probability ∝ exp(ε s / (2 Δ)), or without the 2 if the scores are monotone."""

    values: NDArray[Any]
    epsilon: float
    sensitivity: float
    monotone: bool

    @property
    def exponent(self) -> float:
        return self.epsilon / (self.sensitivity if self.monotone else 2 * self.sensitivity)

    def parameters(self) -> Mapping[str, Any]:
        return {"exponent": self.exponent}

    def check(self) -> None:
        positive("epsilon", self.epsilon)
        positive("sensitivity", self.sensitivity)

    @property
    def scores(self) -> Floats:
        return np.asarray(self.values, dtype=np.float64).reshape(-1)

    def draw(self, rng: np.random.Generator) -> int:
        """By Gumbel noise, so nothing overflows."""
        scores = self.scores
        return int(np.argmax(self.exponent * scores + rng.gumbel(size=scores.size)))

    def draw_exact(self, words: Words) -> int:
        """Scores are rounded and Δ enlarged accordingly."""
        scores, sensitivity = self.scores, self.sensitivity
        if not np.all(np.isfinite(scores)):
            raise ValueError("a score is not a finite number")
        unit = Fraction(2) ** (math.floor(math.log2(sensitivity)) - SCORES)
        if float(np.abs(scores).max()) * LOST > float(unit) / 8:
            limit = float(unit) / 8 / LOST
            raise UserError(
                f"a score is above {limit:.3g} for the sensitivity {sensitivity:.3g}: too large for an exact choice"
            )
        whole = np.rint(scores / float(unit)).astype(np.int64)
        enlarged = raised(sensitivity) + 4 * unit
        # 1/ε is raised, so ε is lowered: that is the safe side.
        exponent = 1 / (raised(1 / self.epsilon) * enlarged * (1 if self.monotone else 2))
        return draw_one(whole.max() - whole, exponent * unit, words)

    def uniforms(self, output: Any, exact: bool, rng: np.random.Generator) -> Floats:
        """The exact form enlarges the sensitivity by a millionth, which no test can see."""
        exponents = self.exponent * self.scores
        return of_choice(np.array([int(output)]), np.exp(exponents - np.logaddexp.reduce(exponents)), rng)

    @classmethod
    def cost(cls, values: Floats, others: Floats, parameters: Mapping[str, NDArray[Any]]) -> Cost:
        """max |g - L|: g the change of an exponent, L that of the logarithm of their sum."""
        one, other = (float(parameters["exponent"]) * scores.reshape(-1) for scores in (values, others))
        g = other - one
        shift = float(np.logaddexp.reduce(other) - np.logaddexp.reduce(one))
        return Cost(float(max(g.max() - shift, shift - g.min())) if g.size else 0.0)


def draw_one(exponents: NDArray[np.int64], unit: Fraction, words: Words) -> int:
    """Index i with probability ∝ exp(-unit e_i), for integers e_i ≥ 0 whose minimum is 0."""
    with np.errstate(under="ignore"):
        ends = np.cumsum(np.exp(-float(unit) * exponents))
    # Every weight is off by less than 2^-50; a sum by that much per weight and per rounding of a number up to n.
    error = float(exponents.size) * (exponents.size + 8) * 2.0**-49
    word, bits = more_bits(words), 64
    target = word * 2.0**-64 * ends[-1]
    at = int(np.searchsorted(ends, target, side="right"))
    if at < ends.size and target + error < ends[at] and (at == 0 or target - error > ends[at - 1]):
        return at
    while True:
        wide = bits + 64
        weights = [exp_minus(unit * int(e), wide) for e in exponents]
        low, high = sum(w[0] for w in weights), sum(w[1] for w in weights)
        # U lies in [word, word + 1) / 2^bits, and U times the sum of all weights lies between these.
        first, last = word * low >> bits, -(-(word + 1) * high >> bits)
        begin = [0, 0]
        for place, (less, more) in enumerate(weights):
            if first >= begin[1] and last <= begin[0] + less:
                return place
            begin = [begin[0] + less, begin[1] + more]
        word, bits = word << 64 | more_bits(words), bits + 64
