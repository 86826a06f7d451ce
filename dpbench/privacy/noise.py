"""`Noise`: the only place that draws privacy-relevant randomness. Every such step of a mechanism is one call.

Each step has a generator of its own, keyed by 128 bits drawn once for the release, by the step's name and by how often
that name occurred before. So the noise of a step does not depend on how many numbers earlier steps drew, and a release
can be replayed on neighbouring data step by step.

Noise of the form "float" is for research: floating-point noise has gaps that can reveal which of two neighbours was the
input (Mironov 2012). The form "exact" draws with integers only and, with rng="secure", from the operating
system's generator: for a real release.
Imported by mechanisms and audits.
"""

from __future__ import annotations

import secrets
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpbench.errors import UserError, one_of
from dpbench.numerics import keyed
from dpbench.privacy._words import SEEDED, SYSTEM, Seeded, System, Words
from dpbench.privacy.ball import BallStep
from dpbench.privacy.choose import ChooseStep
from dpbench.privacy.discrete_gaussian import DiscreteGaussianStep
from dpbench.privacy.draw import DrawnOutcome, DrawStep, Law
from dpbench.privacy.gaussian import GaussianStep
from dpbench.privacy.generators import generator_of
from dpbench.privacy.geometric import GeometricStep
from dpbench.privacy.laplace import LaplaceStep
from dpbench.privacy.rows import RowsStep
from dpbench.privacy.step import STEPS, RandomStep

FORMS = ("float", "exact")
SECURE = "secure"


class Noise:
    """The random steps of one release.

    Every step takes `step`, its name for audits; by default the kind of the step is its name. Inputs are never changed,
    outputs are new arrays.
    """

    def __init__(self, rng: np.random.Generator | Literal["secure"], form: str = "float") -> None:
        one_of("noise", form, FORMS)
        self.form = form
        rng = generator_of(rng)
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
        noisy: NDArray[np.float64] = self.take(LaplaceStep(np.asarray(values), scale, parts, sensitivity), step)
        return noisy

    def geometric(self, values: ArrayLike, *, alpha: float, step: str = "") -> NDArray[Any]:
        """values + two-sided geometric noise, P[x] = (1-α)/(1+α) α^|x|. Values are whole numbers, as integers or floats."""
        noisy: NDArray[Any] = self.take(GeometricStep(np.asarray(values), alpha), step)
        return noisy

    def gaussian(self, values: ArrayLike, *, sigma: float, shared: float = 0.0, step: str = "") -> NDArray[np.float64]:
        """values + N(0, sigma²) independently, plus one draw of N(0, shared²) that is added to all of them.

        Exact: the discrete Gaussian on integers, without `shared`. It has the same zCDP parameter ρ = Δ₂²/2σ² but not the same
        δ: take sigma from `dpbench.numerics.gaussian.discrete_sigma`.
        """
        noisy: NDArray[np.float64] = self.take(GaussianStep(np.asarray(values), sigma, shared), step)
        return noisy

    def discrete_gaussian(self, values: ArrayLike, *, sigma: float, step: str = "") -> NDArray[np.float64]:
        """values + whole noise P[x] ∝ exp(-x²/2σ²), independently, with ρ = Δ₂²/2σ² of zCDP. Values are whole numbers."""
        noisy: NDArray[np.float64] = self.take(DiscreteGaussianStep(np.asarray(values), sigma), step)
        return noisy

    def ball(self, values: ArrayLike, *, norm: str, epsilon: float, step: str = "") -> NDArray[np.float64]:
        """values + noise of density ∝ exp(-ε ‖x‖). norm "inf": the largest |x|; "counts": max x⁺ + max x⁻. In either norm a row
        of zeros and ones moves counts by at most 1. The radius is part of the noise and must never be shown."""
        noisy: NDArray[np.float64] = self.take(BallStep(np.asarray(values), norm, epsilon), step)
        return noisy

    def choose(self, scores: ArrayLike, *, epsilon: float, sensitivity: float, monotone: bool, step: str = "") -> int:
        """The exponential mechanism: index i of the (flattened) scores with probability ∝ exp(ε s_i / (2 Δ)), without
        the 2 if a row moves all scores in one direction (monotone). Uses Gumbel noise, so nothing overflows.

        Exact: the scores are rounded to about a millionth of the sensitivity, which is enlarged by 4 such units to cover this
        rounding and that of the doubles in which the scores were computed."""
        return int(self.take(ChooseStep(np.asarray(scores), epsilon, sensitivity, monotone), step))

    def draw(self, law: Law[DrawnOutcome], *, step: str = "") -> DrawnOutcome:
        """Draw one outcome of a distribution."""
        outcome: DrawnOutcome = self.take(DrawStep(law), step)
        return outcome

    def rows(self, n: int, *, rate: float, step: str = "") -> NDArray[np.int64]:
        """A sample that contains each of n rows independently with probability `rate`, ascending: it amplifies privacy. One more
        row at the end changes nothing for the others."""
        sample: NDArray[np.int64] = self.take(RowsStep(n, rate), step)
        return sample

    def take(self, step: RandomStep, name: str = "") -> Any:
        """Draw a step of any kind: all methods above do, and a kind of your own is drawn by this one. `name` is for audits."""
        step.check()
        if self.form != "exact":
            return step.draw(self._generator(name or step.kind))
        if step.inexact:
            raise UserError(f'the step `{step.kind}` has no exact noise: {step.inexact}; expected noise="float"')
        return step.draw_exact(self._words(name or step.kind))

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


INEXACT = {kind: step.inexact for kind, step in STEPS.items() if step.inexact}
"""The steps that have no exact form, and why."""
