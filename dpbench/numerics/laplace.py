"""Closed forms of the Laplace distribution."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike


def mean_abs(offset: ArrayLike, scale: float) -> np.ndarray:
    """E|s + Lap(b)| = |s| + b exp(-|s|/b): the mean absolute error of a value with bias s and noise of scale b."""
    distance = np.abs(np.asarray(offset, dtype=np.float64))
    return distance + scale * np.exp(-distance / scale)
