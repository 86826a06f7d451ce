"""Shapes of row sizes and column counts: whole numbers from a few quantiles, with an exact total and an exact largest.

Imported by generators.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from dpbench.errors import UserError

QUARTILES = (0.25, 0.5, 0.75)


def whole_numbers(
    what: str,
    number: int,
    total: int,
    *,
    least: int,
    most: int,
    quantiles: Mapping[float, float],
    rng: np.random.Generator,
) -> np.ndarray:
    """`number` integers, ascending, that sum to `total`, lie in least..most, reach `most`, and have these quantiles.

    On the scale of (normal score, logarithm), the quantile function is linear between the given quantiles and continues
    linearly below them: pieces of log-normals. Above the last quantile it is a power curve up to `most`, whose exponent is
    chosen to give the total. The given quantiles hold for every seed; the numbers between them are drawn.
    """
    from scipy.optimize import brentq
    from scipy.special import ndtri

    shares = sorted(quantiles)
    score = ndtri(_drawn_shares(number, shares, rng))
    knots = ndtri(shares)
    heights = np.log(np.clip([quantiles[share] for share in shares], least, most))
    slope = (heights[1] - heights[0]) / (knots[1] - knots[0])
    body = np.interp(score, knots, heights) + slope * np.minimum(score - knots[0], 0.0)
    value = np.clip(np.exp(body), least, most)
    start = int(np.searchsorted(score[:-1], knots[-1], side="right"))
    above = np.maximum(score[start:] - knots[-1], 0.0) / max(score[-1] - knots[-1], 1e-9)
    below = float(value[:start].sum())

    def tail(bend: float) -> np.ndarray:
        curve = np.clip(np.exp(heights[-1] + (np.log(most) - heights[-1]) * above ** np.exp(bend)), least, most)
        curve[-1] = most
        return curve

    flat, steep = -9.0, 9.0
    lowest, highest = below + float(tail(steep).sum()), below + float(tail(flat).sum())
    if not lowest <= total <= highest:
        shown = ", ".join(f"{height:.4g}" for height in np.exp(heights))
        raise UserError(
            f"{what}: {number} numbers of {least} to {most} with quantiles {shown} cannot sum to {total}: "
            f"expected {lowest:.0f} to {highest:.0f}"
        )
    value[start:] = tail(brentq(lambda bend: below + tail(bend).sum() - total, flat, steep, xtol=1e-14))
    # Rounding the running sum keeps the total, and every part of the curve, exact to one. The largest is set separately.
    running = np.cumsum(value[:-1])
    running += (total - most - running[-1:]) * np.linspace(0, 1, number - 1)
    rounded = np.clip(np.diff(np.floor(running + 0.5).astype(np.int64), prepend=0), least, most)
    return np.append(np.sort(rounded), most)


def _drawn_shares(number: int, shares: list[float], rng: np.random.Generator) -> np.ndarray:
    """`number` shares from 0 to 1, ascending and uniform between the given ones, each of which keeps its rank."""
    borders = np.array([0.0, *shares, 1.0])
    ranks = np.round(borders * number).astype(np.int64)
    between = np.repeat(np.arange(borders.size - 1), np.diff(ranks))
    drawn = borders[between] + np.diff(borders)[between] * rng.random(number)
    return np.clip(np.sort(drawn), 0.5 / number / 10, 1 - 0.5 / number / 10)


def further_quantiles(name: str, text: str) -> dict[float, float]:
    """`0.034:0.045 0.9:2.1`: shares and quantiles, as multiples of the mean."""
    pairs = {}
    for word in str(text).split():
        try:
            share, value = map(float, word.split(":"))
        except ValueError:
            share, value = -1.0, -1.0
        if not (0 < share < 1 and 0 < value < np.inf):
            raise UserError(
                f"{name}={text!r} is not valid: expected pairs such as 0.034:0.045, share and multiple of the mean"
            )
        pairs[share] = value
    return pairs
