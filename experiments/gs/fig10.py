"""Figure 10 of gs: MRE against datasets, one panel per epsilon, all mechanisms."""

import math

import pandas as pd
from matplotlib.figure import Figure

from dpbench.config.readings import readings
from dpbench.figures import shapes
from dpbench.figures.captions import Stated
from dpbench.storage.frame import summarise

STATED = tuple(
    Stated(
        number.claim,
        number.value,
        f"{100 * number.value:g} %",
        {"epsilon": math.log(2), "dataset": dataset, "mechanism": mechanism},
        side="above" if mechanism == "lpa" else "",  # below it is the cross of FPA
    )
    for number in readings("gs").printed
    if number.name.startswith("mre-")
    for dataset, mechanism in [(*number.name.split("-")[1:], "gs")[:2]]
)
"""The numbers that Section 5 states at ε = ln 2."""


def numbers(trials: pd.DataFrame) -> pd.DataFrame:
    return summarise(trials, ["epsilon", "dataset", "mechanism"])


def draw(numbers: pd.DataFrame) -> Figure:
    return shapes.dataset_points(numbers, "mre", "MRE (%)", percent=True, stated=STATED)
