"""Measured numbers as people write them, 57,010 ± 160, and the mark of what is not private. Imported by tables and figures."""

from __future__ import annotations

import math

MARK = "†"
"""Follows the name of a mechanism that is not private as it was run."""
LARGE, SMALL = 1e9, 1e-4  # beyond these, powers of ten are easier to read than zeros
ROUNDING = 1e-12
"""An error below this part of the mean is that of floating point: all trials have the same value."""


def with_error(value: float | None, error: float | None = None) -> str:
    """A mean and its standard error: the error with two digits, and the mean rounded to the same digit."""
    if value is None or math.isnan(value):
        return ""
    if error is None or math.isnan(error) or not math.isfinite(value):
        return plain(value)
    if error <= ROUNDING * abs(value):
        return f"{plain(value)} ± 0"
    if not math.isfinite(error):
        return f"{plain(value)} ± {error}"
    digits = 1 - math.floor(math.log10(error))  # decimals that two digits of the error need
    largest = max(abs(value), error)
    if largest >= LARGE or (largest < SMALL):
        power = math.floor(math.log10(largest))
        decimals = max(0, min(15, power + digits))
        return f"({value / 10.0**power:.{decimals}f} ± {error / 10.0**power:.{decimals}f})e{power}"
    rounded = [round(number, digits) for number in (value, error)]
    return " ± ".join(f"{number:,.{max(0, min(15, digits))}f}" for number in rounded)


def plain(value: float, digits: int = 6) -> str:
    """A number alone, with this many significant digits."""
    if not math.isfinite(value) or value == 0:
        return f"{value:g}"
    if abs(value) >= LARGE or abs(value) < SMALL:
        return f"{value:.{digits}g}"
    decimals = digits - 1 - math.floor(math.log10(abs(value)))
    text = f"{round(value, decimals):,.{max(0, decimals)}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
