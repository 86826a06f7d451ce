"""The exponential mechanism over scores in log space: no score is too small or too large for it."""

from __future__ import annotations

import numpy as np


def probabilities(scores: np.ndarray) -> np.ndarray:
    """exp(score) / Σ exp(score), shifted by the largest score so that it neither overflows nor divides by zero."""
    weights = np.exp(scores - scores.max())
    return weights / weights.sum()
