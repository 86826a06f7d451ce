"""Readable numbers along logarithmic axes. Imported by the shapes and the plotting scripts."""

from __future__ import annotations

import math
from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullFormatter, NullLocator

from dpbench.figures.layout import power_of_ten

LEAST = 3.0
"""A log axis spans at least this factor, so that differences of a few percent look small and the numbers have room."""
STEPS = ((6, (1, 1.5, 2, 3, 4, 5, 7)), (20, (1, 2, 5)), (300, (1, 3)))
"""(largest ratio of the ends of an axis, first digits of the numbers written on it); beyond, only powers of ten."""
PLAIN = 1e5
"""Numbers above this, and below its inverse, are written as powers of ten."""


def plain_ticks(ax: Axes, values: Sequence[float], most: int = 6) -> None:
    """Write the values on a logarithmic x axis as 0.1, not as a power of ten; if there are many, only every second or so."""
    step = -(-len(values) // most)
    ax.set_xticks(values[::step], [f"{value:g}" for value in values[::step]])
    ax.minorticks_off()


def plain_numbers(ax: Axes) -> None:
    """Make a logarithmic y axis span at least a factor `LEAST`; write 60 instead of 6 x 10^1 if it spans few powers of ten."""
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


def plain_places(ax: Axes) -> None:
    """Write further numbers along a logarithmic x axis that has fewer than two powers of ten; otherwise only these."""
    low, high = ax.get_xlim()
    ax.xaxis.set_minor_formatter(NullFormatter())
    if 0 < low < high and len(_powers(low, high)) < 2:
        plain = low > 1 / PLAIN and high < PLAIN
        ax.xaxis.set_major_locator(FixedLocator(_places(low, high, (1, 2, 5) if plain else (1, 3))))
        ax.xaxis.set_major_formatter(FuncFormatter(lambda value, _: short(value) if plain else _product(value)))


def _product(value: float) -> str:
    """3·10⁵, 10⁶."""
    digit, _, power = f"{value:.0e}".partition("e")
    return f"{digit}·{power_of_ten(10.0 ** int(power))}".removeprefix("1·")


def _powers(low: float, high: float) -> range:
    return range(math.ceil(math.log10(low)), math.floor(math.log10(high)) + 1)


def _places(low: float, high: float, digits: Sequence[float]) -> list[float]:
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    candidates = [digit * 10.0**power for power in powers for digit in digits]
    inside = [value for value in candidates if low <= value <= high]
    return inside if len(inside) > 1 else [low, high]


def short(value: float) -> str:
    """0.02, 300, 20,000, 2,000,000, and 2e7 where that is shorter."""
    if 1e-4 <= abs(value) < 1e7 or value == 0:
        return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
    digits, _, power = f"{value:.2e}".partition("e")
    return f"{float(digits):g}e{int(power)}"
