"""Figure 9 of analytics: precision of the top K items against K, one panel per dataset."""

import pandas as pd
from matplotlib.figure import Figure

from dpbench.figures import records
from dpbench.figures.captions import Stated

BESIDE_FILES = True
LARGE = ("gowalla", "foursquare", "netflix")
STATED = [
    *(
        Stated("analytics/hpa-first", 1, "100 %", {"dataset": name, "mechanism": "hpa", "k": 1}, side="below-right")
        for name in LARGE
    ),
    *(
        Stated(
            "analytics/others-first", 0, "0 %", {"dataset": name, "mechanism": "lpa", "k": 1}, "others", "above-right"
        )
        for name in (*LARGE, "movielens")
    ),
]


def numbers(trials: pd.DataFrame) -> pd.DataFrame:
    table = records.by_dataset(trials)
    long = records.top_k(table)
    order = {key: i for i, key in enumerate(zip(table["dataset"], table["mechanism"], strict=True))}
    place = [order[key] for key in zip(long["dataset"], long["mechanism"], strict=True)]
    return long.assign(place=place).sort_values(["place", "k"]).drop(columns="place")


def draw(numbers: pd.DataFrame) -> Figure:
    return records.precision(numbers, series="mechanism", panel="dataset", stated=STATED)
