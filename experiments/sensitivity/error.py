"""sensitivity: MAE and MRE against epsilon, one column of panels per dataset, for sensitivity control and its competitors.

DPSense limits rows by scaling, as the paper does, and by sampling, which has much the same effect according to the paper.
"""

import pandas as pd
from matplotlib.figure import Figure

from dpbench.figures import sensitivity


def numbers(trials: pd.DataFrame) -> pd.DataFrame:
    return sensitivity.error_numbers(trials)


def draw(numbers: pd.DataFrame) -> Figure:
    return sensitivity.errors(numbers)
