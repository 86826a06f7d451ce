"""The mean of a non-zero cell of Adult, by which people and which attributes are counted; the text says 9."""

import pandas as pd

from dpbench.figures.shapes import dataset_table

chosen, draw = dataset_table(
    {
        "dataset": "Dataset",
        "dataset.complete": "People with ?",
        "dataset.without": "Left out",
        "total": "People",
        "nonzeros": "Non-zeros n",
        "mean": "Mean count",
    },
    formats={"mean": ",.2f"},
)


def numbers(trials: pd.DataFrame) -> pd.DataFrame:
    counted = trials["dataset.complete"].map(lambda complete: "left out" if complete else "counted")
    return chosen(trials.assign(**{"dataset.complete": counted}))
