"""Figure 10 of gs: MRE against datasets, one panel per epsilon, all mechanisms."""

import math

import pandas as pd
from matplotlib.figure import Figure

from dpbench.figures import shapes
from dpbench.figures.captions import Stated
from dpbench.storage.frame import summarise

STATED = tuple(
    Stated(
        f"gs/{claim}",
        value,
        f"{100 * value:g} %",
        {"epsilon": math.log(2), "dataset": dataset, "mechanism": mechanism},
        side="above" if mechanism == "lpa" else "",  # below it is the cross of FPA
    )
    for claim, value, dataset, mechanism in (
        ("mre-checkin", 0.007, "checkin", "gs"),
        ("mre-document", 0.024, "document", "gs"),
        ("mre-netflix", 0.73, "netflix", "gs"),
        ("mre-trajectory", 0.27, "trajectory", "gs"),
        ("mre-netflix-lpa", 31.87, "netflix", "lpa"),
        ("mre-netflix-fpa", 6.82, "netflix", "fpa"),
    )
)
"""The numbers that Section 5 states at ε = ln 2."""


def numbers(trials: pd.DataFrame) -> pd.DataFrame:
    return summarise(trials, ["epsilon", "dataset", "mechanism"])


def draw(numbers: pd.DataFrame) -> Figure:
    return shapes.dataset_points(numbers, "mre", "MRE (%)", percent=True, stated=STATED)
