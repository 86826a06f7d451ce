"""Subset queries on OnTheMap, of sparse: error by size of the subset, and the synthesizer at the budget of its authors."""

import pandas as pd
from matplotlib.figure import Figure

from dpbench.figures import queries, style

CAPTION = (
    "at the larger ε, only the two mechanisms that the text compares there are shown; the thresholds of the other summaries were "
    "chosen for the smaller ε"
)


def numbers(trials: pd.DataFrame) -> pd.DataFrame:
    return queries.by_size(trials, ["epsilon", "mechanism"])


def draw(numbers: pd.DataFrame) -> Figure:
    """At the larger budget, show only the mechanisms that the text compares there: the others have thresholds for the smaller."""
    strict = numbers["epsilon"] == numbers["epsilon"].min()
    compared = numbers["mechanism"].isin(["geometric", "synthesizer"])
    return queries.lines(
        numbers[strict | compared],
        panel="epsilon",
        series="mechanism",
        xlabel="subset size (cells)",
        title=lambda epsilon: f"ε = {style.epsilon_name(epsilon)}",
        label=style.name,
    )
