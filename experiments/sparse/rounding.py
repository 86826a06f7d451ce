"""Rounding, of sparse: error of M' and of M⁺, its negative values set to zero, from one cell to large ranges."""

import pandas as pd

from dpbench.figures import queries
from dpbench.figures.queries import absolute_by_range as draw

__all__ = ["draw", "numbers"]


def numbers(trials: pd.DataFrame) -> pd.DataFrame:
    return queries.by_option(trials, "mechanism.negatives", {"keep": "", "zero": ", rounded up"})
