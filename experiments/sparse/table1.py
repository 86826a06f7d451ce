"""Table 1 of sparse: datasets and their densities, beside what the text says if the table is not available."""

import pandas as pd
from matplotlib.figure import Figure

from dpbench.figures.shapes import dataset_table

STATED = {"census": "3 % to 5 %", "telecom": "0.5 % to 2 %"}

chosen, drawn = dataset_table(
    {
        "dataset": "Dataset",
        "density": "Density n/m",
        "stated": "Density in the text",
        "cells": "Cells m",
        "nonzeros": "Non-zeros n",
        "mean": "Mean count",
        "blow_up": "m / n",
    },
    formats={"density": ".2%", "mean": ",.2f", "blow_up": ",.0f"},
)

LOST = "lost"
CAPTION = "–: not stated in the text; our copies of the paper lack the table itself"


def draw(numbers: pd.DataFrame) -> Figure:
    return drawn(numbers.assign(stated=numbers["stated"].replace(LOST, "–")))


def numbers(trials: pd.DataFrame) -> pd.DataFrame:
    stated = trials["dataset"].map(STATED).fillna(LOST)
    return chosen(trials.assign(stated=stated, blow_up=trials["metric.cells"] / trials["metric.nonzeros"]))
