"""Figure 4 of epicrec: the noise of each category in the running example, calibrated and by global sensitivity."""

import pandas as pd
from matplotlib.figure import Figure

from dpbench.figures import shapes

ROWS = {"s_dpdp": "Sensitivity (S-DPDP)", "laplace_categories": "Global sensitivity"}


def numbers(trials: pd.DataFrame) -> pd.DataFrame:
    categories = [c for c in trials.columns if c.startswith("metric.noise_")]
    table = trials.groupby("mechanism", sort=False)[[*categories, "metric.noise"]].mean().reset_index()
    heads = {c: f"category {c.removeprefix('metric.noise_')}" for c in categories}
    return table.rename(columns=heads | {"metric.noise": "MAE"})


def draw(numbers: pd.DataFrame) -> Figure:
    table = numbers.assign(mechanism=numbers["mechanism"].map(ROWS)).rename(columns={"mechanism": " "})
    return shapes.table(table, formats=dict.fromkeys(numbers.columns[1:], ".2f"))
