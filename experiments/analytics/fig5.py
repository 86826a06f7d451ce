"""Figure 5 of analytics: precision of the top K items by HPA's popularity estimate."""

import pandas as pd
from matplotlib.figure import Figure

from dpbench.figures import records
from dpbench.results.frame import summarise


def numbers(trials: pd.DataFrame) -> pd.DataFrame:
    return records.top_k(summarise(trials, ["dataset"]))


def draw(numbers: pd.DataFrame) -> Figure:
    return records.precision(numbers, series="dataset")
