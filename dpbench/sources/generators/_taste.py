"""Taste that depends on size: which columns rows with few ones prefer, compared with rows with many. Used by generators.

Without it, a one of row i in column j has the odds x_i y_j (`_odds`). With it they are also multiplied by

    exp(strength · (1 - c_j/n) · z_j · ln(size of row i)),

where z_j is standard normal, one of a few levels, and c_j/n the share of rows that hold the column: what nearly everybody
holds says little about taste. In MovieLens 1M, the preferences of five classes of users by size have this form: one direction
holds three quarters of the differences, and it goes with the logarithm of the size.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

LEVELS = 9
"""Different values of z. So few, because the margins are fitted by classes of columns with the same count and level."""
STEP = 0.25
"""Row sizes count as equal for taste within this step of their logarithm."""


@dataclass(frozen=True)
class Taste:
    """How strong it is, and what each column is liked for."""

    strength: float
    levels: np.ndarray
    """The level of z of each column, 0 to LEVELS - 1; higher ones are liked by rows with many ones."""

    @classmethod
    def drawn(cls, strength: float, columns: int, rng: np.random.Generator) -> Taste | None:
        """A random taste; None if it has no strength."""
        return cls(strength, rng.integers(LEVELS, size=columns, dtype=np.int8)) if strength else None

    def factors(
        self, sizes: np.ndarray, sums: np.ndarray, levels: np.ndarray, rows: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """The band of each row size, and the factor of the odds by band and class of columns (its sum and level)."""
        from scipy.special import ndtri

        normal = ndtri((np.arange(LEVELS) + 0.5) / LEVELS)
        normal /= normal.std()
        steps = np.round(np.log(sizes) / STEP).astype(np.int64)
        bands = np.arange(steps.min(), steps.max() + 1) * STEP
        liking = self.strength * (1 - sums / rows) * normal[levels]
        return steps - steps.min(), np.exp(np.outer(bands - bands.mean(), liking))
