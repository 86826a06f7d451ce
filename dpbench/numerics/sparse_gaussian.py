"""The exact δ of Gaussian noise on the non-zero counts only, shown above a threshold (Wilkins, Kifer, Zhang, Karrer 2024).

F is the probability that a count of one stays hidden. Of the k counts of one individual, a are new: nobody else is in them.
The other k - a move by one each, under noise. Used by sparse histograms and by the discovery of a domain.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray


def shown(delta: float, k: int) -> float:
    """1 - F where all of k new counts stay hidden with probability 1 - δ: F = (1-δ)^(1/k), to full precision."""
    return -math.expm1(math.log1p(-delta) / k)


def gaussian_delta(epsilon: float, sigma: float, tau: float, k: int) -> float:
    """The exact δ of Gaussian noise σ on non-zero counts, shown above 1 + τ.

    The largest of: all counts are new; a are new and the individual is in the data; a are new and the individual is not.
    """
    from scipy.special import log_ndtr, ndtr

    log_f = float(log_ndtr(tau / sigma))
    a = np.arange(k)
    mu = np.sqrt(k - a) / sigma
    some_shown = -np.expm1(a * log_f)
    entered = some_shown + np.exp(a * log_f) * _excess(epsilon - a * log_f, mu, log_ndtr, ndtr)
    left = _excess(epsilon + a * log_f, mu, log_ndtr, ndtr)
    return float(max(-math.expm1(k * log_f), entered.max(), left.max()))


def _excess(e: NDArray[Any], mu: NDArray[Any], log_ndtr: Any, ndtr: Any) -> NDArray[Any]:
    """B(e, μ) = Φ(μ/2 - e/μ) - exp(e) Φ(-μ/2 - e/μ): δ at e of a Gaussian whose mean moves by μ standard deviations."""
    return np.asarray(ndtr(mu / 2 - e / mu) - np.exp(e + log_ndtr(-mu / 2 - e / mu)))
