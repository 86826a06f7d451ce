"""Numbers along logarithmic axes that one can read. Imported by the shapes and the plotting scripts."""

from __future__ import annotations

import math
from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullFormatter, NullLocator

LEAST = 3.0
"""A log axis spans at least this factor: differences of a few percent look small, and have room for numbers."""
STEPS = ((6, (1, 1.5, 2, 3, 4, 5, 7)), (20, (1, 2, 5)), (300, (1, 3)))
"""Up to which ratio of the ends of an axis which first digits are named; beyond, powers of ten alone."""
PLAIN = 1e5
"""Above it, and below its inverse, powers of ten are written as such."""


def plain_ticks(ax: Axes, values: Sequence[float], most: int = 6) -> None:
    """The values themselves on a logarithmic x axis, as 0.1 and not as a power of ten; every second one if many."""
    step = -(-len(values) // most)
    ax.set_xticks(values[::step], [f"{value:g}" for value in values[::step]])
    ax.minorticks_off()


def plain_numbers(ax: Axes) -> None:
    """A logarithmic y axis of at least a factor `LEAST`, with 60 instead of 6 x 10^1 where it spans few powers of ten."""
    low, high = ax.get_ylim()
    if not 0 < low < high:
        return
    if high < LEAST * low:
        middle = math.sqrt(low * high)
        low, high = middle / math.sqrt(LEAST), middle * math.sqrt(LEAST)
        ax.set_ylim(low, high)
    digits = next((digits for ratio, digits in STEPS if high <= ratio * low), None)
    if digits is None and not (low > 1 / PLAIN and high < PLAIN and high < 1e4 * low):
        ax.yaxis.set_minor_formatter(NullFormatter())
        return
    places = _places(low, high, digits or (1,))
    ax.yaxis.set_major_locator(FixedLocator(places))
    ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: short(value)))
    ax.yaxis.set_minor_locator(NullLocator() if digits else LogLocator(subs="all"))
    ax.yaxis.set_minor_formatter(NullFormatter())


def _places(low: float, high: float, digits: Sequence[float]) -> list[float]:
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    found = [digit * 10.0**power for power in powers for digit in digits]
    inside = [value for value in found if low <= value <= high]
    return inside if len(inside) > 1 else [low, high]


def short(value: float) -> str:
    """0.02, 300, 20,000, and 2e6 where that is shorter."""
    if 1e-4 <= abs(value) < 1e6 or value == 0:
        return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
    digits, _, power = f"{value:.2e}".partition("e")
    return f"{float(digits):g}e{int(power)}"
