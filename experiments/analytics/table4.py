"""Table 4 of analytics: users, items, records, and the largest, average and smallest user of each dataset."""

import pandas as pd
from matplotlib.figure import Figure

from dpbench.figures import shapes

COLUMNS = {
    "dataset": "Dataset",
    "users": "Users",
    "items": "Items",
    "records": "|D|",
    "largest": "max |T_k|",
    "average": "avg |T_k|",
    "smallest": "min |T_k|",
}


def numbers(trials: pd.DataFrame) -> pd.DataFrame:
    return trials[list(COLUMNS)].drop_duplicates()


def draw(numbers: pd.DataFrame) -> Figure:
    return shapes.table(numbers.rename(columns=COLUMNS), formats={"avg |T_k|": ",.1f"})
