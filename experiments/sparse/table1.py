"""Table 1 of sparse: datasets and their densities, beside what the text says if the table is not available."""

import pandas as pd

from dpbench.figures.shapes import dataset_table

STATED = {"census": "3 % to 5 %", "telecom": "0.5 % to 2 %"}

chosen, draw = dataset_table(
    {
        "dataset": "Dataset",
        "density": "Density n/m",
        "stated": "Stated",
        "cells": "Cells m",
        "nonzeros": "Non-zeros n",
        "mean": "Mean count",
        "blow_up": "Noisy table over data",
    },
    formats={"density": ".2%", "mean": ",.2f", "blow_up": ",.0f"},
)


def numbers(trials: pd.DataFrame) -> pd.DataFrame:
    stated = trials["dataset"].map(STATED).fillna("lost")
    return chosen(trials.assign(stated=stated, blow_up=trials["metric.cells"] / trials["metric.nonzeros"]))
