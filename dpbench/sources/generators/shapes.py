"""Shapes of row sizes and column counts: whole numbers from a few quantiles, with an exact total and an exact largest.

Imported by generators.
"""

from __future__ import annotations

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
    quartiles: tuple[float, float, float],
    q95: float | None = None,
) -> np.ndarray:
    """`number` integers, ascending, that sum to `total`, lie in least..most, reach `most`, and have these quantiles.

    On the scale of (normal score, logarithm), the quantile function is linear between the given quantiles and continues
    linearly below them: pieces of log-normals. Above the last quantile it is a power curve up to `most`, whose exponent is
    chosen to give the total.
    """
    from scipy.optimize import brentq
    from scipy.special import ndtri

    score = ndtri((np.arange(number) + 0.5) / number)
    knots = ndtri(QUARTILES if q95 is None else (*QUARTILES, 0.95))
    heights = np.log(np.clip(quartiles if q95 is None else (*quartiles, q95), least, most))
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
