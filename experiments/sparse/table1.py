"""Table 1 of sparse: datasets and their densities, beside what the text says where the table is lost."""

import pandas as pd
from matplotlib.figure import Figure

from dpbench.figures import shapes

STATED = {"census": "3 % to 5 %", "telecom": "0.5 % to 2 %"}
COLUMNS = {
    "dataset": "Dataset",
    "density": "Density n/m",
    "stated": "Stated",
    "cells": "Cells m",
    "nonzeros": "Non-zeros n",
    "mean": "Mean count",
    "blow_up": "Noisy table over data",
}


def numbers(trials: pd.DataFrame) -> pd.DataFrame:
    table = trials.assign(
        stated=trials["dataset"].map(STATED).fillna("lost"), blow_up=trials["cells"] / trials["nonzeros"]
    )
    return table[list(COLUMNS)].drop_duplicates()


def draw(numbers: pd.DataFrame) -> Figure:
    formats = {"Density n/m": ".2%", "Mean count": ",.2f", "Noisy table over data": ",.0f"}
    return shapes.table(numbers.rename(columns=COLUMNS), formats=formats)
