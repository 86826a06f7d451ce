"""OnTheMap with dyadic ranges, of sparse: summaries of n/2 nodes, and the whole noisy table with and without them."""

import pandas as pd
from matplotlib.figure import Figure

from dpbench.figures import queries, style


def numbers(trials: pd.DataFrame) -> pd.DataFrame:
    tree = trials["mechanism.transform"].map({"none": "", "dyadic": ", dyadic"})
    return queries.by_size(trials.assign(series=trials["mechanism"].map(style.name) + tree), ["series"])


def draw(numbers: pd.DataFrame) -> Figure:
    return queries.curves(numbers, x="cells", xlabel="range size (cells)", relative=False)
