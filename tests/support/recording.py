"""A `Noise` that writes down what goes into each step, and may leave the values as they are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from dpbench.privacy import Noise


@dataclass(frozen=True)
class Step:
    kind: str
    name: str
    values: Any
    """The exact values; of `draw`, the law."""
    scale: float


class Recording(Noise):
    """`silent`: no noise is added; laws are drawn from all the same."""

    def __init__(self, seed: int = 0, silent: bool = False) -> None:
        super().__init__(np.random.default_rng(seed))
        self.steps: list[Step] = []
        self.silent = silent

    def laplace(self, values, *, scale, sensitivity=None, step=""):  # type: ignore[no-untyped-def]
        self.steps.append(Step("laplace", step, np.array(values, dtype=float), scale))
        return super().laplace(values, scale=0.0 if self.silent else scale, sensitivity=sensitivity, step=step)

    def gaussian(self, values, *, sigma, shared=0.0, step=""):  # type: ignore[no-untyped-def]
        self.steps.append(Step("gaussian", step, np.array(values, dtype=float), sigma))
        return super().gaussian(values, sigma=0.0 if self.silent else sigma, shared=shared, step=step)

    def draw(self, law, *, step=""):  # type: ignore[no-untyped-def]
        self.steps.append(Step("draw", step, law, 0.0))
        return super().draw(law, step=step)
