"""Rectangles, of sparse: error with and without products of dyadic ranges, on a synthetic grid and on OnTheMap."""

import pandas as pd
from matplotlib.figure import Figure

from dpbench.figures import queries


def numbers(trials: pd.DataFrame) -> pd.DataFrame:
    return queries.by_mechanism(trials, ("dataset",))


def draw(numbers: pd.DataFrame) -> Figure:
    return queries.absolute_by_dataset(numbers, xlabel="rectangle size (cells)")
