"""Figure 5 of analytics: precision of the top K items by HPA's popularity estimate."""

import pandas as pd
from matplotlib.figure import Figure

from dpbench.figures import records
from dpbench.figures.captions import Stated
from dpbench.storage.frame import summarise

STATED = (
    Stated("analytics/popularity-netflix-20", 0.7, "70 %", {"dataset": "netflix", "k": 20}, "Netflix", "left"),
    Stated(
        "analytics/popularity-foursquare-20", 0.6, "> 60 %", {"dataset": "foursquare", "k": 20}, "Foursquare", "left"
    ),
    Stated(
        "analytics/popularity-foursquare-100", 0.4, "40 %", {"dataset": "foursquare", "k": 100}, "Foursquare", "left"
    ),
    Stated("analytics/popularity-netflix-100", 0.8, "almost 80 %", {"dataset": "netflix", "k": 100}, "Netflix"),
)
"""Section 6.1."""


def numbers(trials: pd.DataFrame) -> pd.DataFrame:
    return records.top_k(summarise(trials, ["dataset"]))


def draw(numbers: pd.DataFrame) -> Figure:
    return records.precision(numbers, series="dataset", stated=STATED)
