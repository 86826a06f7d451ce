"""Private sizes, of sparse: error against the share of the budget for noisy n and the noisy sum of all counts."""

import pandas as pd
from matplotlib.figure import Figure

from dpbench.figures import queries, style


def numbers(trials: pd.DataFrame) -> pd.DataFrame:
    table = queries.by_setting(trials, ["mechanism", "mechanism.private_size"])
    return table.assign(series=table["mechanism"].map(style.name), percent=100 * table["mechanism.private_size"])


def draw(numbers: pd.DataFrame) -> Figure:
    return queries.curves(numbers, x="percent", xlabel="share of ε for n and ‖M‖₁ (%; † at 0 only)", logx=False)
