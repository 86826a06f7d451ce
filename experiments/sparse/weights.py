"""Weights, of sparse: error of samples with adjusted weights and with plain noisy values, from one cell to large ranges."""

import pandas as pd

from dpbench.figures import queries
from dpbench.figures.queries import absolute_by_range as draw

__all__ = ["draw", "numbers"]


def numbers(trials: pd.DataFrame) -> pd.DataFrame:
    return queries.by_option(trials, "task.weights", {"adjusted": "", "plain": ", plain"})
