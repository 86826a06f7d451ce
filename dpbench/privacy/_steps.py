"""The steps of `Noise` in their exact form: how values, scales and scores are rounded before integers are drawn.

Used by noise.py only. The input are doubles, as mechanisms compute them; every rounding here is in favour of privacy.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dpbench.errors import UserError
from dpbench.privacy import exact
from dpbench.privacy._words import Words

LARGEST_WHOLE = 2.0**53
"""From this size on, doubles do not represent every integer."""

FINE = 10
"""The rounding of real values adds at most 2^-10 to their sensitivity."""

SCORES = 20
"""Scores are rounded to a power of two that is below 2^-20 of their sensitivity."""

LOST = 2.0**-50
"""Assumed rounding error of the scores, relative to the largest score."""

SHORTEST = 2.0**-50
"""Added to α: more than the rounding error of its double."""


def laplace(
    values: NDArray[Any], scales: NDArray[np.float64], parts: ArrayLike | None, sensitivity: float | None, words: Words
) -> NDArray[np.float64]:
    """values + discrete Laplace noise, in steps of 1 for integers, and of 1/parts or a power of two for other values."""
    if parts is not None and sensitivity is not None:
        raise ValueError("parts and sensitivity are both given: expected one of them")
    if sensitivity is not None:
        unit, scales = _rounding(values, scales, sensitivity)
        whole = np.rint(values / unit)
        if np.any(np.abs(whole) >= LARGEST_WHOLE):
            raise UserError(f"the values are too large to be rounded to {unit:.3g}, as their sensitivity asks for")
        return np.asarray(_add(_whole(whole), scales / unit, words) * unit)
    if parts is None:
        if not np.issubdtype(values.dtype, np.integer):
            raise UserError(
                "exact noise needs to know what numbers these are: give integers, `parts` where they are whole numbers "
                "divided by it, or `sensitivity` where they are real"
            )
        return _add(values.astype(np.int64, copy=False), scales, words).astype(np.float64)
    divisors = np.asarray(parts)
    if np.any(divisors < 1) or np.any(divisors != np.rint(divisors)):
        raise ValueError("parts must be whole numbers from 1 on")
    times = values * divisors
    whole = np.rint(times)
    if np.any(np.abs(times - whole) > 2.0**-20):
        raise ValueError("the values are not whole numbers divided by parts")
    noisy = _add(_whole(whole), np.broadcast_to(scales * divisors, values.shape), words)
    return np.asarray(noisy / divisors)


def _rounding(
    values: NDArray[Any], scales: NDArray[np.float64], sensitivity: float
) -> tuple[float, NDArray[np.float64]]:
    """The power of two that real values are rounded to, and the scales enlarged by what the rounding adds to the sensitivity."""
    if not 0 < sensitivity < math.inf:
        raise ValueError(f"sensitivity={sensitivity!r} is not valid: expected a positive number")
    if scales.ndim:
        raise ValueError("scale is one for each value: then a rounding has no single sensitivity; give one number")
    most = sensitivity / max(1, values.size)
    unit = 2.0 ** (math.floor(math.log2(most)) - FINE)
    # On either of two neighbouring inputs a value moves by up to half a unit: together one unit per value.
    return unit, scales * ((sensitivity + values.size * unit) / sensitivity)


def geometric(values: NDArray[Any], alpha: float, words: Words) -> NDArray[Any]:
    """values + two-sided geometric noise; α is raised slightly, never lowered. The type of the values is kept."""
    rate = -math.log1p(-(1 - alpha - SHORTEST)) if alpha < 1 - 16 * SHORTEST else 0.0
    if not rate:
        raise UserError(f"alpha={alpha!r} is too near to 1 for exact noise: expected at most 1 - {16 * SHORTEST:.2g}")
    noisy = _add(_whole(values), np.asarray(1 / rate), words)
    return noisy.astype(values.dtype)


def gaussian(values: NDArray[Any], sigma: float, words: Words) -> NDArray[np.float64]:
    """values + discrete Gaussian noise."""
    if not np.issubdtype(values.dtype, np.integer):
        raise UserError("exact Gaussian noise is for whole numbers: give integers")
    drawn = exact.discrete_gaussian(values.size, exact.raised(sigma) if sigma else Fraction(0), words)
    return (values.astype(np.int64, copy=False) + drawn.reshape(values.shape)).astype(np.float64)


def choose(scores: NDArray[np.float64], epsilon: float, sensitivity: float, monotone: bool, words: Words) -> int:
    """An index with probability ∝ exp(ε s / (2 Δ)), or without the 2. Scores are rounded and Δ enlarged accordingly."""
    if not np.all(np.isfinite(scores)):
        raise ValueError("a score is not a finite number")
    unit = Fraction(2) ** (math.floor(math.log2(sensitivity)) - SCORES)
    if float(np.abs(scores).max()) * LOST > float(unit) / 8:
        limit = float(unit) / 8 / LOST
        raise UserError(
            f"a score is above {limit:.3g} for the sensitivity {sensitivity:.3g}: too large for an exact choice"
        )
    whole = np.rint(scores / float(unit)).astype(np.int64)
    enlarged = exact.raised(sensitivity) + 4 * unit
    # 1/ε is raised, so ε is lowered: that is the safe side.
    exponent = 1 / (exact.raised(1 / epsilon) * enlarged * (1 if monotone else 2))
    return exact.draw_one(whole.max() - whole, exponent * unit, words)


def _whole(values: NDArray[Any]) -> NDArray[np.int64]:
    """Integers, which may be given as doubles."""
    if np.issubdtype(values.dtype, np.integer):
        return values.astype(np.int64, copy=False)
    if np.any(values != np.rint(values)) or np.any(np.abs(values) >= LARGEST_WHOLE):
        raise ValueError("the values are not whole numbers, or too large to be sure of it")
    return values.astype(np.int64)


def _add(values: NDArray[np.int64], scales: NDArray[np.float64], words: Words) -> NDArray[np.int64]:
    """values + discrete Laplace noise with one scale, or one per value."""
    if not np.ndim(scales):
        return values + _draw(values.size, float(scales), words).reshape(values.shape)
    flat, noisy = np.ravel(scales), values.reshape(-1).copy()
    for scale in np.unique(flat):
        places = np.flatnonzero(flat == scale)
        noisy[places] += _draw(places.size, float(scale), words)
    return noisy.reshape(values.shape)


def _draw(size: int, scale: float, words: Words) -> NDArray[np.int64]:
    return exact.discrete_laplace(size, exact.noise_scale(scale) if scale else Fraction(0), words)
