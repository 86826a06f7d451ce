"""Figure 9 of gs: MAE against datasets, one panel per epsilon, all mechanisms."""

import pandas as pd
from matplotlib.figure import Figure

from dpbench.figures import shapes
from dpbench.storage.frame import summarise


def numbers(trials: pd.DataFrame) -> pd.DataFrame:
    return summarise(trials, ["epsilon", "dataset", "mechanism"])


def draw(numbers: pd.DataFrame) -> Figure:
    return shapes.dataset_points(numbers, "mae", "MAE")
