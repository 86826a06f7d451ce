"""sensitivity, Section 4.4: MAE and MRE against epsilon on non-binary data, one column of panels per dataset."""

import pandas as pd
from matplotlib.figure import Figure

from dpbench.figures import sensitivity


def numbers(trials: pd.DataFrame) -> pd.DataFrame:
    return sensitivity.error_numbers(trials)


def draw(numbers: pd.DataFrame) -> Figure:
    return sensitivity.errors(numbers)
