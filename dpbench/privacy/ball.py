"""The step `ball`: noise whose density falls with a norm of the whole vector. Used by noise.py."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dpbench.errors import one_of
from dpbench.numerics.arrays import Floats
from dpbench.privacy.step import Cost, RandomStep, positive

NORMS = ("inf", "counts")


@dataclass(frozen=True, eq=False)
class BallStep(RandomStep, kind="ball"):
    """values + noise of density ∝ exp(-ε ‖x‖)."""

    values: NDArray[Any]
    norm: str
    epsilon: float

    inexact = "noise on a ball is drawn from real numbers"
    per_value = True

    def parameters(self) -> Mapping[str, Any]:
        return {"norm": self.norm, "epsilon": self.epsilon}

    def check(self) -> None:
        one_of("norm", self.norm, NORMS)
        positive("epsilon", self.epsilon)

    def draw(self, rng: np.random.Generator) -> Floats:
        sample = cube if self.norm == "inf" else counts_ball
        noisy = sample(self.values.size, self.epsilon, rng).reshape(self.values.shape)
        noisy += self.values
        return noisy

    def uniforms(self, output: Any, exact: bool, rng: np.random.Generator) -> Floats:
        """In any norm, the norm of the noise has a Gamma distribution of shape d."""
        from scipy.special import gammainc

        noise = (np.asarray(output) - self.values).reshape(-1)
        return np.array([gammainc(noise.size, self.epsilon * _norm(noise, self.norm))])[: noise.size]

    @classmethod
    def cost(cls, values: Floats, others: Floats, parameters: Mapping[str, NDArray[Any]]) -> Cost:
        """ε times the norm of the move."""
        return Cost(float(parameters["epsilon"]) * _norm(others - values, str(parameters["norm"])))


def _norm(apart: NDArray[np.float64], norm: str) -> float:
    if norm == "inf":
        return float(np.abs(apart).max(initial=0.0))
    return float(np.maximum(apart, 0).max(initial=0.0) + np.maximum(-apart, 0).max(initial=0.0))


def cube(d: int, epsilon: float, rng: np.random.Generator) -> NDArray[np.float64]:
    """Density ∝ exp(-ε |x|_∞): a radius Gamma(d+1)/ε times a point of the cube [-1, 1]^d."""
    radius = rng.gamma(d + 1, 1 / epsilon)
    return rng.uniform(-radius, radius, d)


def counts_ball(d: int, epsilon: float, rng: np.random.Generator) -> NDArray[np.float64]:
    """Density ∝ exp(-ε (max x⁺ + max x⁻)), the norm whose unit ball is the smallest that contains x and -x for all x in {0, 1}^d.

    The number of positive entries is uniform on 0 to d; given that number, both sides are independent
    (Joseph and Yu, 2023).
    """
    positive = int(rng.integers(0, d, endpoint=True))
    up, down = rng.gamma(positive + 1) / epsilon, rng.gamma(d - positive + 1) / epsilon
    reach = np.full(d, -down)
    reach[rng.permutation(d)[:positive]] = up
    return reach * rng.random(d)
